#include "backends/rounding.hpp"
#include "support/backends.hpp"
#include "support/csr_arrays.hpp"

#include <algorithm>

namespace blockjacobi::test {
namespace {

template <class Case>
class SparseMatrixOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(SparseMatrixOnBackend, BackendCases, BackendCaseName);

template <Scalar T>
void expect_equal(const CsrMatrix<T>& found, const CsrMatrix<T>& expected) {
  EXPECT_EQ(found.rows(), expected.rows());
  EXPECT_EQ(found.cols(), expected.cols());
  EXPECT_TRUE(std::ranges::equal(found.row_offsets(), expected.row_offsets()));
  EXPECT_TRUE(std::ranges::equal(found.columns(), expected.columns()));
  EXPECT_TRUE(std::ranges::equal(found.values(), expected.values()));
}

/// The arrays of `loose`, canonical or not, from everywhere they may lie, in every form.
template <Scalar T, Offset O>
void expect_all_forms(const Backend& backend, const LooseEntries<T>& loose, bool canonical) {
  const CsrMatrix<T> expected = CsrMatrix<T>::from_view(loose.view());
  for (const IndexBase base : {IndexBase::zero, IndexBase::one})
    for (const Backend& where : {Backend::host(), backend}) {
      const CsrArrays<T, O> arrays(where, loose.rows, loose.cols, loose.offsets, loose.columns, loose.values, base);
      const SparseMatrix<T> copied(backend, arrays.view());
      const auto adopted = SparseMatrix<T>::adopt(backend, arrays.view());
      const bool in_place = canonical && where.memory_space() == backend.memory_space();
      EXPECT_EQ(adopted.is_adopted(), in_place);
      if (arrays.values.size() > 0) {
        EXPECT_EQ(adopted.values() == arrays.values.data(), in_place);
      }
      EXPECT_FALSE(copied.is_adopted());
      for (const SparseMatrix<T>& a : {copied, adopted}) {
        expect_equal(a.to_host(), expected);
        EXPECT_EQ(a.rows(), loose.rows);
        EXPECT_EQ(a.cols(), loose.cols);
        EXPECT_EQ(a.nnz(), expected.nnz());
        EXPECT_EQ(a.given_nnz(), static_cast<offset_t>(loose.values.size()));
        EXPECT_TRUE(a.backend() == backend);
      }
    }
}

TYPED_TEST(SparseMatrixOnBackend, MatricesInEveryForm) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto canonical = [](const CsrMatrix<T>& a) {
    return LooseEntries<T>{a.rows(),
                           a.cols(),
                           {a.row_offsets().begin(), a.row_offsets().end()},
                           {a.columns().begin(), a.columns().end()},
                           {a.values().begin(), a.values().end()}};
  };
  const auto wide = CsrMatrix<T>::from_triplets(2, 5, std::vector<Triplet<T>>{{0, 4, T(1)}, {1, 0, T(2)}});
  for (const CsrMatrix<T>& a : {grid_matrix<T>(12), wide, CsrMatrix<T>(), CsrMatrix<T>(3, 3, {0, 0, 0, 0}, {}, {})}) {
    expect_all_forms<T, std::int32_t>(backend, canonical(a), true);
    expect_all_forms<T, std::int64_t>(backend, canonical(a), true);
  }
  for (const CsrMatrix<T>& a : {grid_matrix<T>(12), wide}) {
    LooseEntries<T> loose = loosened(a, 5);
    std::swap(loose.columns.front(), loose.columns[1]);
    loose.columns[1] = loose.columns.front();  // one duplicate for sure
    loose.offsets[1] = std::max(loose.offsets[1], offset_t{2});
    expect_all_forms<T, std::int32_t>(backend, loose, false);
    expect_all_forms<T, std::int64_t>(backend, loose, false);
  }
}

TYPED_TEST(SparseMatrixOnBackend, UpdatesFollowTheEntriesGiven) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> regular = grid_matrix<T>(9);
  const LooseEntries<T> loose = loosened(regular, 3);
  LooseEntries<T> other = loose;
  std::ranges::reverse(other.values);
  const CsrMatrix<T> expected = CsrMatrix<T>::from_view(other.view());
  const std::vector<T> x = random_vector<T>(81, 1);

  SparseMatrix<T> a(backend, loose.view());
  const LinearOperator<T> A(a);
  a.update_values(other.values);
  expect_equal(a.to_host(), expected);
  expect_product(expected, x, this->applied(A, backend, x));
  a.update_values(loose.values);
  const Array<T> in_place(backend, other.values);
  a.update_values(in_place.data(), a.given_nnz(), backend.memory_space());
  expect_equal(a.to_host(), expected);

  SparseMatrix<T> sorted(backend, regular);
  std::vector<T> values(regular.values().begin(), regular.values().end());
  for (T& value : values) value *= T(2);
  sorted.update_values(values);
  EXPECT_TRUE(std::ranges::equal(sorted.to_host().values(), values));
  const Array<T> old_values(backend, std::vector<T>(regular.values().begin(), regular.values().end()));
  sorted.update_values(old_values.data(), sorted.nnz(), backend.memory_space());
  expect_equal(sorted.to_host(), regular);
}

TYPED_TEST(SparseMatrixOnBackend, OperatorsSeeWhatTheOwnerWrites) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  CsrArrays<T, std::int32_t> arrays(backend, grid_matrix<T>(7), IndexBase::one);
  const auto a = SparseMatrix<T>::adopt(backend, arrays.view());
  const LinearOperator<T> A(a), B(a);
  EXPECT_EQ(&A.impl(), &B.impl());
  arrays.values.zero();
  EXPECT_EQ(this->applied(A, backend, random_vector<T>(49, 2)), std::vector<T>(49));
}

TYPED_TEST(SparseMatrixOnBackend, OperatorsKeepTheArrays) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  std::optional<LinearOperator<T>> A;
  {
    const SparseMatrix<T> a(backend, grid_matrix<T>(7));
    A.emplace(a);
  }
  const std::vector<T> x = random_vector<T>(49, 2);
  expect_product(grid_matrix<T>(7), x, this->applied(*A, backend, x));
}

TYPED_TEST(SparseMatrixOnBackend, PartitionsAreThoseOfTheHost) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  std::vector<Triplet<T>> entries = grid_entries<T>(14, 0.0);
  for (index_t i = 0; i < 196; i += 3) entries.push_back({i, (i * 7) % 196, T(1)});
  const auto host = CsrMatrix<T>::from_triplets(196, 196, entries);
  const SparseMatrix<T> a(backend, host, {.block_size = 7});
  for (const Merge merge : {Merge::none, Merge::greedy, Merge::coupled})
    EXPECT_EQ(BlockPartition::detect(a, {.max_size = 12, .merge = merge}),
              BlockPartition::detect(host, {.max_size = 12, .merge = merge}));
  EXPECT_EQ(BlockPartition::detect(a, 12), BlockPartition::detect(host, 12));
  EXPECT_EQ(BlockPartition::uniform(a), BlockPartition::uniform(196, 7));
  EXPECT_EQ(a.block_size(), 7);
  if (BlockPartition::metis_available()) {
    EXPECT_EQ(BlockPartition::metis(a, 12).blocks, BlockPartition::metis(host, 12).blocks);
  }
}

TYPED_TEST(SparseMatrixOnBackend, BlockJacobiTakesIt) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> host = grid_matrix<T>(14, 0.2);
  for (const index_t size : {5, 40}) {  // on CUDA analysed by a lane a row, and by a thread block a block
    const BlockPartition blocks = BlockPartition::uniform(host.rows(), size);
    for (const bool l1 : {false, true}) {
      BlockJacobiOptions options;
      options.l1 = l1;
      SparseMatrix<T> a(backend, loosened(host, 8).view());
      std::vector<T> ones(static_cast<std::size_t>(a.given_nnz()), T(1));
      a = SparseMatrix<T>(backend, host);
      BlockJacobi<T> M(a, blocks, options);
      const BlockJacobi<T> reference(backend, host.view(), blocks, options);
      const std::vector<T> r = random_vector<T>(host.rows(), 4);
      EXPECT_EQ(this->applied(M, backend, r), this->applied(reference, backend, r));
      EXPECT_EQ(M.bytes(), BlockJacobi<T>::required_bytes(a, blocks, options));

      std::vector<T> values(host.values().begin(), host.values().end());
      for (T& value : values) value *= T(2);
      a.update_values(values);
      M.refresh(a);
      const BlockJacobi<T> doubled(a, blocks, options);
      EXPECT_EQ(this->applied(M, backend, r), this->applied(doubled, backend, r));
      BlockJacobi<T> later = BlockJacobi<T>::analyze(a, blocks, options);
      later.refresh(a);
      EXPECT_EQ(this->applied(later, backend, r), this->applied(doubled, backend, r));

      const BlockJacobiReport found = M.report(a), expected = M.report(a.to_host());
      EXPECT_EQ(found.captured, expected.captured);
      EXPECT_GT(*found.captured, 0.0);
      EXPECT_EQ(found.max_growth, expected.max_growth);
    }
  }
}

TYPED_TEST(SparseMatrixOnBackend, AMatrixThatWasNotCanonicalIsSetUpAsIfItWere) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  LooseEntries<T> loose = loosened(grid_matrix<T>(9), 6);
  for (index_t i = 0; i < 81; ++i)  // dominant, and the sums are exact
    for (offset_t k = loose.offsets[static_cast<std::size_t>(i)]; k < loose.offsets[static_cast<std::size_t>(i) + 1];
         ++k)
      if (loose.columns[static_cast<std::size_t>(k)] == i) loose.values[static_cast<std::size_t>(k)] = T(1024);
  const SparseMatrix<T> a(backend, loose.view()), canonical(backend, CsrMatrix<T>::from_view(loose.view()));
  const BlockPartition blocks = BlockPartition::detect(a, 9);
  const BlockJacobi<T> M(a, blocks), reference(canonical, blocks);
  const std::vector<T> r = random_vector<T>(81, 4);
  EXPECT_EQ(this->applied(M, backend, r), this->applied(reference, backend, r));
  EXPECT_EQ(M.nnz(), canonical.nnz());
}

TYPED_TEST(SparseMatrixOnBackend, SolversTakeIt) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const SparseMatrix<T> A(backend, grid_matrix<T>(12));
  const BlockJacobi<T> M(A, BlockPartition::detect(A));
  const Array<T> b(backend, random_vector<T>(A.rows(), 7));
  SolveOptions options;
  options.rtol = 1e-4;
  options.relaxation = 0.8;
  const auto solves = [&](auto solver) {
    Array<T> x(backend, b.size());
    x.zero();
    const SolveReport report = solver(b.view(), x.view());
    EXPECT_TRUE(report.converged()) << to_text(report);
  };
  solves([&](auto rhs, auto x) { return cg(A, M, rhs, x, options); });
  solves([&](auto rhs, auto x) { return fcg(A, M, rhs, x, options); });
  solves([&](auto rhs, auto x) { return minres(A, M, rhs, x, options); });
  solves([&](auto rhs, auto x) { return bicgstab(A, M, rhs, x, options); });
  solves([&](auto rhs, auto x) { return richardson(A, M, rhs, x, options); });
  solves([&](auto rhs, auto x) { return gmres(A, M, rhs, x, options); });
  solves([&](auto rhs, auto x) { return fgmres(A, M, rhs, x, options); });
  EXPECT_TRUE(A.is_hermitian());
  EXPECT_EQ(suggest(A).candidates.front().name, "scalar");
}

TYPED_TEST(SparseMatrixOnBackend, EmptySystems) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const SparseMatrix<T> none(backend, CsrMatrix<T>());
  EXPECT_EQ(BlockPartition::detect(none).blocks(), 0);
  EXPECT_EQ(BlockJacobi<T>(none, BlockPartition()).rows(), 0);
  EXPECT_EQ(LinearOperator<T>(none).rows(), 0);
  EXPECT_TRUE(none.is_hermitian());
  SparseMatrix<T> zeros(backend, CsrMatrix<T>(2, 2, {0, 0, 0}, {}, {}));
  zeros.update_values(std::vector<T>());
  EXPECT_EQ(this->applied(LinearOperator<T>(zeros), backend, {T(1), T(2)}), (std::vector<T>{T(0), T(0)}));
}

}  // namespace
}  // namespace blockjacobi::test
