#include <blockjacobi/blockjacobi.hpp>

#include "support/csr_arrays.hpp"
#include "support/messages.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <vector>

// What only the host shows: which memory is used, what is looked at, and the words of errors.

namespace blockjacobi::test {
namespace {

CsrMatrix<double> tridiagonal(index_t n) {
  std::vector<Triplet<double>> entries;
  for (index_t i = 0; i < n; ++i) {
    entries.push_back({i, i, 4.0});
    if (i > 0) entries.push_back({i, i - 1, -1.0});
    if (i + 1 < n) entries.push_back({i, i + 1, -1.0});
  }
  return CsrMatrix<double>::from_triplets(n, n, entries);
}

template <Scalar T>
const index_t* columns_of(const SparseMatrix<T>& a) {
  return std::visit([](const auto& view) { return view.columns; }, a.view());
}

template <Scalar T>
bool is_narrow(const SparseMatrix<T>& a) {
  return std::holds_alternative<CsrView<T, std::int32_t>>(a.view());
}

Symmetry symmetry_of(const CsrMatrix<double>& a, SparseMatrixOptions options = {}) {
  return SparseMatrix<double>(Backend::host(1), a, options).symmetry();
}

TEST(SparseMatrix, TakesOverColumnsAndValuesOfATemporary) {
  CsrMatrix<double> host = tridiagonal(100);
  const index_t* const columns = host.columns().data();
  const double* const values = host.values().data();
  const SparseMatrix<double> a(Backend::host(1), std::move(host));
  EXPECT_EQ(columns_of(a), columns);
  EXPECT_EQ(a.values(), values);
  EXPECT_TRUE(is_narrow(a));
  EXPECT_FALSE(a.is_adopted());
  EXPECT_EQ(a.bytes(), 101 * sizeof(std::int32_t) + 298 * (sizeof(index_t) + sizeof(double)));
  EXPECT_EQ(host.rows(), 0);  // NOLINT(bugprone-use-after-move): an empty matrix
  EXPECT_EQ(host.row_offsets().size(), 1u);
}

TEST(SparseMatrix, CopiesAMatrixThatIsKept) {
  const CsrMatrix<double> host = tridiagonal(100);
  const SparseMatrix<double> a(Backend::host(1), host);
  EXPECT_NE(a.values(), host.values().data());
  EXPECT_TRUE(is_narrow(a));
  EXPECT_FALSE(a.is_adopted());
}

TEST(SparseMatrix, AdoptsAMatrixWithoutACopy) {
  const CsrMatrix<double> host = tridiagonal(100);
  const auto a = SparseMatrix<double>::adopt(Backend::host(1), host);
  EXPECT_EQ(a.values(), host.values().data());
  EXPECT_EQ(columns_of(a), host.columns().data());
  EXPECT_FALSE(is_narrow(a));
  EXPECT_TRUE(a.is_adopted());
  EXPECT_EQ(a.bytes(), 0u);
}

/// A column that validate() refuses, written after the one check, disturbs nobody: nothing looks again.
TEST(SparseMatrix, IsCheckedOnce) {
  const Backend backend = Backend::host(1);
  std::vector<std::int32_t> offsets{0, 2, 4, 5};
  std::vector<index_t> columns{0, 2, 1, 2, 2};
  const std::vector<double> values{2, 1, 2, 1, 2};
  const CsrView<double, std::int32_t> view{3, 3, 5, offsets.data(), columns.data(), values.data()};
  const auto a = SparseMatrix<double>::adopt(backend, view);
  columns[1] = columns[3] = 7;  // no block of a row or two has that column
  EXPECT_NE(message_of([&] { validate(view); }).find("row 0 holds column 7"), std::string::npos);
  const BlockPartition blocks = BlockPartition::detect(a, 1);
  const BlockJacobi<double> M(a, blocks);
  const LinearOperator<double> A(a);
  EXPECT_EQ(M.inverse_block(2), std::vector<double>{0.5});
  EXPECT_EQ(A.rows(), 3);
}

TEST(SparseMatrix, ACsrMatrixIsNotCheckedAgain) {
  CsrMatrix<double> host = tridiagonal(3);
  auto* const columns = const_cast<index_t*>(host.columns().data());
  columns[1] = 9;
  const BlockPartition blocks = BlockPartition::detect(host, 1);
  EXPECT_EQ(blocks.blocks(), 3);
  const BlockJacobi<double> M(Backend::host(1), host, blocks);
  EXPECT_EQ(M.inverse_block(1), std::vector<double>{0.25});
  EXPECT_EQ(LinearOperator<double>(Backend::host(1), host).rows(), 3);
}

TEST(SparseMatrix, KeepsTheOwnerOfAdoptedArrays) {
  auto owner = std::make_shared<CsrMatrix<double>>(tridiagonal(10));
  const std::weak_ptr<const CsrMatrix<double>> watch = owner;
  std::unique_ptr<LinearOperator<double>> A;
  {
    const auto a = SparseMatrix<double>::adopt(Backend::host(1), owner->view(), {}, owner);
    owner.reset();
    A = std::make_unique<LinearOperator<double>>(a);
    EXPECT_FALSE(watch.expired());
  }
  const std::vector<double> x(10, 1.0);
  std::vector<double> y(10);
  A->apply(x, y);
  EXPECT_EQ(y.front(), 3.0);
  EXPECT_FALSE(watch.expired());
  A.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(SparseMatrix, CopiesAreTheSameMatrixAndMovesAreCopies) {
  SparseMatrix<double> a(Backend::host(1), tridiagonal(4));
  SparseMatrix<double> b = std::move(a);
  EXPECT_EQ(a.values(), b.values());  // NOLINT(bugprone-use-after-move): a move is a copy
  EXPECT_EQ(a.rows(), 4);
  const SparseMatrix<double> c(Backend::host(1), tridiagonal(2));
  b = c;
  EXPECT_EQ(b.values(), c.values());
  EXPECT_EQ(a.rows(), 4);
}

TEST(SparseMatrix, OffsetsAreWideOnlyWhereTheyMustBe) {
  const Backend backend = Backend::host(1);
  const CsrMatrix<double> host = tridiagonal(5);
  EXPECT_TRUE(is_narrow(SparseMatrix<double>(backend, host.view())));
  EXPECT_TRUE(is_narrow(SparseMatrix<double>(backend, host)));
  const CsrArrays<double, std::int64_t> wide(backend, host, IndexBase::one);
  EXPECT_FALSE(is_narrow(SparseMatrix<double>::adopt(backend, wide.view())));
}

TEST(Symmetry, IsThatOfTheValues) {
  const auto of = [](std::vector<Triplet<double>> entries) {
    return symmetry_of(CsrMatrix<double>::from_triplets(3, 3, entries));
  };
  EXPECT_EQ(of({}), Symmetry::symmetric);
  EXPECT_EQ(of({{0, 0, 1}, {0, 2, 2}, {2, 0, 2}}), Symmetry::symmetric);
  EXPECT_EQ(of({{0, 0, 1}, {0, 2, 2}, {2, 0, 3}}), Symmetry::none);
  EXPECT_EQ(of({{0, 2, 2}}), Symmetry::none) << "nothing opposite, met late";
  EXPECT_EQ(of({{2, 0, 2}}), Symmetry::none) << "nothing opposite, met early";
  EXPECT_EQ(of({{0, 1, 2}, {1, 0, 2}, {2, 0, 1}, {2, 1, 1}}), Symmetry::none);
  EXPECT_EQ(of({{0, 2, 0}, {1, 0, 0}, {1, 2, 5}, {2, 1, 5}}), Symmetry::symmetric) << "zeros that are stored";
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(of({{1, 1, nan}}), Symmetry::none);
  EXPECT_EQ(of({{0, 1, inf}, {1, 0, inf}}), Symmetry::symmetric);
}

TEST(Symmetry, ToleranceIsRelativeToTheLarger) {
  const auto a = CsrMatrix<double>::from_triplets(2, 2, std::vector<Triplet<double>>{{0, 1, 100.0}, {1, 0, 101.0}});
  EXPECT_EQ(symmetry_of(a), Symmetry::none);
  EXPECT_EQ(symmetry_of(a, {.symmetry_tolerance = 0.0098}), Symmetry::none);
  EXPECT_EQ(symmetry_of(a, {.symmetry_tolerance = 0.01}), Symmetry::symmetric);
}

/// Entries that are rounding errors of sums: their own size means nothing.
TEST(Symmetry, ToleranceIsRelativeToTheDiagonalToo) {
  const auto of = [](double low, double high, double first, double tolerance) {
    const std::vector<Triplet<double>> entries{{0, 0, first}, {0, 1, high}, {1, 0, low}, {1, 1, 100.0}};
    return symmetry_of(CsrMatrix<double>::from_triplets(2, 2, entries), {.symmetry_tolerance = tolerance});
  };
  EXPECT_EQ(of(1e-16, -1e-16, 4.0, 0.0), Symmetry::none);
  EXPECT_EQ(of(1e-16, -1e-16, 4.0, 0.9e-17), Symmetry::none);
  EXPECT_EQ(of(1e-16, -1e-16, 4.0, 1.1e-17), Symmetry::symmetric);
  EXPECT_EQ(of(-1e-16, 1e-16, -4.0, 1.1e-17), Symmetry::symmetric);
  EXPECT_EQ(of(1e-16, -1e-16, 0.0, 1.1e-17), Symmetry::none);
  EXPECT_EQ(of(3.0, 2.0, 1e308, 1e-154), Symmetry::symmetric) << "no overflow";
  EXPECT_EQ(of(0.0, 1e-312, 1e-320, 1e-150), Symmetry::symmetric) << "no underflow";
}

TEST(Symmetry, OfComplexNumbers) {
  using C = std::complex<float>;
  const Backend backend = Backend::host(1);
  const auto of = [&](std::vector<Triplet<C>> entries, SparseMatrixOptions options = {}) {
    return SparseMatrix<C>(backend, CsrMatrix<C>::from_triplets(2, 2, entries), options);
  };
  EXPECT_EQ(of({{0, 1, C(1, 2)}, {1, 0, C(1, -2)}, {0, 0, C(3, 0)}}).symmetry(), Symmetry::hermitian);
  EXPECT_EQ(of({{0, 1, C(1, 2)}, {1, 0, C(1, -2)}, {0, 0, C(3, 1)}}).symmetry(), Symmetry::none);
  EXPECT_EQ(of({{0, 1, C(1, 2)}, {1, 0, C(1, 2)}, {0, 0, C(3, 1)}}).symmetry(), Symmetry::symmetric);
  EXPECT_EQ(of({{0, 1, C(1, 0)}, {1, 0, C(1, 0)}}).symmetry(), Symmetry::hermitian) << "both";
  EXPECT_TRUE(of({{0, 1, C(1, 2)}, {1, 0, C(1, -2)}}).is_hermitian());
  EXPECT_FALSE(of({{0, 1, C(1, 2)}, {1, 0, C(1, 2)}}).is_hermitian());
  EXPECT_FALSE(of({}, {.symmetry = Symmetry::symmetric}).is_hermitian());
}

TEST(Symmetry, StatedIsTakenOnTrustAndFoundIsFoundAnew) {
  const Backend backend = Backend::host(1);
  const auto lower = CsrMatrix<double>::from_triplets(2, 2, std::vector<Triplet<double>>{{0, 1, 1.0}, {1, 0, 2.0}});
  SparseMatrix<double> stated(backend, lower, {.symmetry = Symmetry::hermitian});
  EXPECT_EQ(stated.symmetry(), Symmetry::symmetric) << "what a real Hermitian matrix is called";
  EXPECT_TRUE(stated.is_hermitian());
  stated.update_values(std::vector<double>{5, 6});
  EXPECT_TRUE(stated.is_hermitian());
  SparseMatrix<double> found(backend, lower);
  EXPECT_FALSE(found.is_hermitian());
  found.update_values(std::vector<double>{5, 5});
  EXPECT_TRUE(found.is_hermitian());
  const auto wide = CsrMatrix<double>::from_triplets(2, 3, std::vector<Triplet<double>>{{0, 0, 1.0}});
  EXPECT_EQ(symmetry_of(wide), Symmetry::none);
}

TEST(SparseMatrixMisuse, NamesOptions) {
  const Backend backend = Backend::host(1);
  const CsrMatrix<double> six = tridiagonal(6);
  const auto wide = CsrMatrix<double>::from_triplets(2, 4, std::vector<Triplet<double>>{{0, 0, 1.0}});
  const auto message = [&](const CsrMatrix<double>& a, const SparseMatrixOptions& options) {
    return message_of([&] { SparseMatrix<double>(backend, a, options); });
  };
  EXPECT_EQ(message(six, {.symmetry = static_cast<Symmetry>(7)}), "SparseMatrix: symmetry is 7, no enumerator");
  EXPECT_EQ(message(wide, {.symmetry = Symmetry::symmetric}),
            "SparseMatrix: the matrix is 2 x 4, cannot be symmetric as stated");
  EXPECT_EQ(message(wide, {.symmetry = Symmetry::hermitian}),
            "SparseMatrix: the matrix is 2 x 4, cannot be Hermitian as stated");
  EXPECT_EQ(message(wide, {.symmetry = Symmetry::none, .block_size = 2}), "no InvalidArgument");
  EXPECT_EQ(message(six, {.block_size = 0}), "SparseMatrix: block size is 0, must be in 1..512");
  EXPECT_EQ(message(six, {.block_size = 513}), "SparseMatrix: block size is 513, must be in 1..512");
  EXPECT_EQ(message(six, {.block_size = 4}), "SparseMatrix: blocks of 4 do not divide a matrix of 6 x 6");
  EXPECT_EQ(message(wide, {.block_size = 4}), "SparseMatrix: blocks of 4 do not divide a matrix of 2 x 4");
  EXPECT_EQ(message(six, {.symmetry_tolerance = -1.0}), "SparseMatrix: symmetry_tolerance is -1, must be >= 0");
  EXPECT_EQ(message(six, {.symmetry_tolerance = std::numeric_limits<double>::quiet_NaN()}),
            "SparseMatrix: symmetry_tolerance is nan, must be >= 0");
}

TEST(SparseMatrixMisuse, NamesWhatIsWrongWithArrays) {
  const Backend backend = Backend::host(1);
  const std::vector<std::int64_t> offsets{0, 1, 2};
  const std::vector<index_t> columns{0, 5};
  const std::vector<double> values{1, 1};
  const CsrView<double> good{2, 6, 2, offsets.data(), columns.data(), values.data()};
  const auto message = [&](auto change) {
    CsrView<double> view = good;
    change(view);
    const std::string text = message_of([&] { SparseMatrix<double>(backend, view); });
    EXPECT_EQ(message_of([&] { (void)SparseMatrix<double>::adopt(backend, view); }), text);
    return text;
  };
  EXPECT_EQ(message([](auto&) {}), "no InvalidArgument");
  EXPECT_EQ(message([](auto& v) { v.rows = -1; }),
            "SparseMatrix: the matrix is -1 x 6 with 2 entries, none may be negative");
  EXPECT_EQ(message([](auto& v) { v.row_offsets = nullptr; }),
            "SparseMatrix: the matrix has a null pointer for its row offsets");
  EXPECT_EQ(message([](auto& v) { v.columns = nullptr; }),
            "SparseMatrix: the matrix has a null pointer for its columns");
  EXPECT_EQ(message([](auto& v) { v.values = nullptr; }), "SparseMatrix: the matrix has 2 entries but no values");
  EXPECT_EQ(message([](auto& v) { v.space = MemorySpace::device; }),
            "SparseMatrix: the matrix lies on the device, the backend is host, 1 thread");
  EXPECT_EQ(message([](auto& v) { v.cols = 5; }),
            "SparseMatrix: row 1 holds column 5 (position 1), must be >= 0 and < 5");
  EXPECT_EQ(message([](auto& v) { v.nnz = 3; }), "SparseMatrix: row_offsets[2] is 2, must be nnz + base = 3 + 0");
  EXPECT_EQ(message([](auto& v) { v.base = IndexBase::one; }),
            "SparseMatrix: row_offsets[0] is 0, must be 1, the base");
  const std::vector<std::int64_t> falling{0, 2, 1};
  EXPECT_EQ(message([&](auto& v) { v.row_offsets = falling.data(); }),
            "SparseMatrix: row 1 starts at offset 2 and ends at 1; offsets must not decrease");
}

TEST(SparseMatrixMisuse, NamesWhatIsWrongWithNewValues) {
  const Backend backend = Backend::host(1);
  const CsrMatrix<double> host = tridiagonal(2);
  SparseMatrix<double> a(backend, host);
  auto adopted = SparseMatrix<double>::adopt(backend, host);
  const std::vector<double> values(4, 1.0);
  EXPECT_EQ(message_of([&] { a.update_values(values.data(), 3, MemorySpace::host); }),
            "SparseMatrix::update_values: 3 values, must be 4");
  EXPECT_EQ(message_of([&] { a.update_values(nullptr, 4, MemorySpace::host); }),
            "SparseMatrix::update_values: null pointer, 4 values");
  EXPECT_EQ(message_of([&] { a.update_values(values.data(), 4, MemorySpace::device); }),
            "SparseMatrix::update_values: the values lie on the device, the backend is host, 1 thread");
  EXPECT_EQ(message_of([&] { adopted.update_values(values); }),
            "SparseMatrix::update_values: the arrays are adopted; write the values there, and pass that array");
  EXPECT_EQ(message_of([&] { adopted.update_values(host.values()); }), "no InvalidArgument");
}

TEST(SparseMatrixMisuse, NamesWhatDoesNotFit) {
  const Backend backend = Backend::host(1);
  const auto wide = CsrMatrix<double>::from_triplets(2, 4, std::vector<Triplet<double>>{{0, 0, 1.0}});
  const SparseMatrix<double> a(backend, wide), square(backend, tridiagonal(4));
  EXPECT_EQ(message_of([&] { LinearOperator<double>{a}; }), "LinearOperator: the matrix is 2 x 4, must be square");
  EXPECT_EQ(message_of([&] { (void)BlockPartition::detect(a); }),
            "BlockPartition::detect: the matrix is 2 x 4, must be square");
  EXPECT_EQ(message_of([&] { (void)BlockPartition::uniform(a); }),
            "BlockPartition::uniform: the matrix is 2 x 4, must be square");
  EXPECT_EQ(message_of([&] { (void)BlockPartition::uniform(square); }),
            "BlockPartition::uniform: no block size was stated with the matrix; pass rows and block size");
  EXPECT_EQ(message_of([&] { (void)suggest(a); }), "suggest: the matrix is 2 x 4, must be square");
  EXPECT_EQ(message_of([&] { BlockJacobi<double>(a, BlockPartition::uniform(2, 1)); }),
            "BlockJacobi: the matrix is 2 x 4, must be square");
  EXPECT_EQ(message_of([&] { BlockJacobi<double>(square, BlockPartition::uniform(5, 1)); }),
            "BlockJacobi: the partition has 5 rows, the matrix 4");
  BlockJacobi<double> M(square, BlockPartition::uniform(4, 2));
  EXPECT_EQ(message_of([&] { M.refresh(a); }), "BlockJacobi::refresh: the matrix is 2 x 4, the pattern 4 x 4");
  EXPECT_EQ(message_of([&] { (void)M.report(a); }), "BlockJacobi::report: the matrix is 2 x 4, the pattern 4 x 4");
  const SparseMatrix<double> other(Backend::host(2), tridiagonal(4));
  EXPECT_EQ(message_of([&] { M.refresh(other); }),
            "BlockJacobi::refresh: the matrix has another backend (host, 2 threads, not host, 1 thread)");
  const SparseMatrix<double> sparser(backend,
                                     CsrMatrix<double>::from_triplets(4, 4, std::vector<Triplet<double>>{{0, 0, 1.0}}));
  EXPECT_EQ(message_of([&] { M.refresh(sparser); }), "BlockJacobi::refresh: 1 values, the pattern has 10");
  EXPECT_EQ(message_of([&] { (void)M.report(sparser); }), "BlockJacobi::report: 1 values, the pattern has 10");
}

}  // namespace
}  // namespace blockjacobi::test
