#include "backends/krylov.hpp"
#include "support/bits.hpp"
#include "support/messages.hpp"

// What every solver keeps to.

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(KrylovOnBackend, BackendCases, BackendCaseName);

TYPED_TEST(KrylovOnBackend, EveryMethodSolves) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const Method<T>& method : methods<T>()) {
    SCOPED_TRACE(method.name);
    const index_t grid = is_under_tool() ? 20 : 40;  // 400 rows have two thread blocks
    const CsrMatrix<T> a = grid_matrix<T>(grid, method.hermitian ? 0.0 : 0.4);
    const LinearOperator<T> A(backend, a);
    const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 40));
    const std::vector<T> b = random_vector<T>(a.rows(), 21);
    auto options = options_for<T>(is_under_tool() ? 0.02 : 0.0);
    index_t plain = 0;
    for (const bool preconditioned : {false, true}) {
      SCOPED_TRACE(preconditioned);
      options.relaxation = preconditioned ? 1.0 : 0.2;
      std::vector<T> x = random_vector<T>(a.rows(), 22);  // nonzero x0
      const SolveReport report =
          method.solve(A, preconditioned ? Preconditioner<T>(m) : Preconditioner<T>(), b, x, options);
      expect_solved(report, a, b, x, options.rtol);
      if (preconditioned) {
        EXPECT_LT(report.iterations, plain);
      }
      plain = report.iterations;
      EXPECT_NEAR(report.residual_gap(), std::abs(report.true_residual - report.recurrence_residual) / report.rhs_norm,
                  1e-18);
      EXPECT_LE(report.residual_gap(), options.rtol);
    }
  }
}

/// grid_matrix() of one node, of four, up to 49, beside each other: blocks of several orders are all that it has.
template <Scalar T>
std::pair<CsrMatrix<T>, BlockPartition> grids_apart(double wind) {
  std::vector<Triplet<T>> entries;
  std::vector<index_t> offsets{0};
  for (index_t m = 1; m <= 7; ++m) {
    const index_t first = offsets.back();
    for (const Triplet<T>& entry : grid_entries<T>(m, wind))
      entries.push_back({first + entry.row, first + entry.col, entry.value});
    offsets.push_back(first + m * m);
  }
  return {CsrMatrix<T>::from_triplets(offsets.back(), offsets.back(), entries), BlockPartition::from_offsets(offsets)};
}

/// M^-1 = A^-1 leaves nothing to the second iteration, which another definite preconditioner would need.
TYPED_TEST(KrylovOnBackend, ExactBlocksNeedOneIterationOfEveryMethod) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const Method<T>& method : methods<T>()) {
    SCOPED_TRACE(method.name);
    const auto [a, blocks] = grids_apart<T>(method.hermitian ? 0.0 : 0.4);
    const LinearOperator<T> A(backend, a);
    const std::vector<T> b = random_vector<T>(a.rows(), 24);
    const auto options = options_for<T>();
    for (const Storage storage : {Storage::full, Storage::packed}) {
      if (storage == Storage::packed && !method.hermitian) continue;
      std::vector<T> x = random_vector<T>(a.rows(), 25);
      const SolveReport report =
          method.solve(A, BlockJacobi<T>(backend, a, blocks, {.storage = storage}), b, x, options);
      expect_solved(report, a, b, x, options.rtol);
      EXPECT_EQ(report.iterations, 1);
    }
    std::vector<T> x = random_vector<T>(a.rows(), 25);
    EXPECT_GT(
        method.solve(A, BlockJacobi<T>(backend, a, BlockPartition::uniform(a.rows(), 5)), b, x, options).iterations, 1);
  }
}

/// Each of m^2 unknowns.
template <Scalar T>
void expect_all_methods_solve(const Backend& backend, const std::vector<index_t>& sizes) {
  for (const Method<T>& method : methods<T>())
    for (const index_t m : sizes) {
      SCOPED_TRACE(::testing::Message() << method.name << ", " << m * m << " unknowns");
      const CsrMatrix<T> a = grid_matrix<T>(m);
      const BlockJacobi<T> jacobi(backend, a, BlockPartition::uniform(m * m, 2));
      const std::vector<T> b = random_vector<T>(m * m, 23);
      std::vector<T> x(b.size());
      const auto options = options_for<T>();
      expect_solved(method.solve(LinearOperator<T>(backend, a), jacobi, b, x, options), a, b, x, options.rtol);
    }
}

TYPED_TEST(KrylovOnBackend, EveryMethodOnOneAndAFewUnknowns) {
  expect_all_methods_solve<typename TypeParam::Scalar>(this->make_backend(), {1, 2});
}

TYPED_TEST(KrylovOnBackend, EveryMethodOnAFewUnknowns) {
  expect_all_methods_solve<typename TypeParam::Scalar>(this->make_backend(), {3, 6});
}

/// Two solves with the same history, residual and solution, and the report of one.
template <Scalar T>
SolveReport expect_repeatable(const Method<T>& method, const LinearOperator<T>& A, const Preconditioner<T>& M,
                              const std::vector<T>& b, const SolveOptions& options) {
  std::vector<T> x(b.size()), y(b.size());
  const SolveReport first = method.solve(A, M, b, x, options), second = method.solve(A, M, b, y, options);
  EXPECT_EQ(first.history, second.history);
  EXPECT_EQ(first.true_residual, second.true_residual);
  EXPECT_TRUE(same_bits(x, y));
  return first;
}

TYPED_TEST(KrylovOnBackend, TwoRunsGiveTheSameBits) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(24);
  const LinearOperator<T> A(backend, a);
  const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 8));
  const std::vector<T> b = random_vector<T>(a.rows(), 24);
  for (const BasisPrecision basis : {BasisPrecision::working, BasisPrecision::single})
    for (const Method<T>& method : methods<T>()) {
      if (basis == BasisPrecision::single && method.name != std::string("gmres")) continue;
      SCOPED_TRACE(method.name);
      auto options = options_for<T>();
      options.basis = basis;
      static_cast<void>(expect_repeatable<T>(method, A, m, b, options));
    }
}

/// Sums that the host shares out among its threads; on CUDA the phases of CG, and products with rows of any length.
TYPED_TEST(KrylovOnBackend, TwoRunsOnManyRowsGiveTheSameBits) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const bool long_row : {false, true}) {
    const CsrMatrix<T> a = long_row ? long_row_matrix<T>(142) : grid_matrix<T>(142);
    const LinearOperator<T> A(backend, a);
    const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 8));
    const std::vector<T> b = random_vector<T>(a.rows(), 27);
    for (const bool preconditioned : {false, true})
      for (const Method<T>& method : methods<T>())
        for (const BasisPrecision basis : {BasisPrecision::working, BasisPrecision::single}) {
          if (basis == BasisPrecision::single && method.name != std::string("gmres")) continue;
          SCOPED_TRACE(::testing::Message() << method.name << (preconditioned ? ", preconditioned" : "")
                                            << (long_row ? ", with a long row" : ""));
          const Preconditioner<T> M = preconditioned ? Preconditioner<T>(m) : Preconditioner<T>();
          auto options = options_for<T>();
          options.basis = basis;
          options.relaxation = 0.2;
          options.max_iterations = 12;
          EXPECT_GT(expect_repeatable(method, A, M, b, options).iterations, 6);
        }
  }
}

/// Of a function or the callback; the backend can be used afterwards.
TYPED_TEST(KrylovOnBackend, ExceptionsOfTheUserComeThrough) {
  using T = typename TypeParam::Scalar;
  struct Mine {};
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(8);
  const index_t n = a.rows();
  const LinearOperator<T> A(backend, a);
  const BlockJacobi<T> m(backend, a, BlockPartition::uniform(n, 4));
  const std::vector<T> b = random_vector<T>(n, 34);
  for (const Method<T>& method : methods<T>()) {
    SCOPED_TRACE(method.name);
    auto options = options_for<T>();
    std::vector<T> x(b.size());
    int calls = 0;
    const auto third_throws = [&calls](const auto& inner) {
      return [&](VectorView<const T> in, VectorView<T> out) {
        if (++calls == 3) throw Mine();
        inner.apply(in, out);
      };
    };
    const LinearOperator<T> product(backend, n, third_throws(A));
    EXPECT_THROW((void)method.solve(product, m, b, x, options), Mine);
    calls = 0;
    const Preconditioner<T> solve(backend, n, third_throws(m));
    EXPECT_THROW((void)method.solve(A, solve, b, x, options), Mine);
    options.progress = [](const SolveProgress& p) { return p.iteration < 2 ? true : throw Mine(); };
    EXPECT_THROW((void)method.solve(A, m, b, x, options), Mine);
    options.progress = nullptr;
    x.assign(b.size(), T(0));
    expect_solved(method.solve(A, m, b, x, options), a, b, x, options.rtol);
  }
}

TYPED_TEST(KrylovOnBackend, MisuseThrowsWithTheNumbers) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(3);
  const LinearOperator<T> A(backend, a);
  std::vector<T> b(9), x(9), shorter(8);
  for (const Method<T>& method : methods<T>()) {
    EXPECT_EQ(message_of([&] { (void)method.solve(A, {}, shorter, x, {}); }),
              std::string(method.name) + ": b: length is 8, must be 9");
    SolveOptions options;
    options.rtol = -1.0;
    EXPECT_EQ(message_of([&] { (void)method.solve(A, {}, b, x, options); }),
              std::string(method.name) + ": rtol is -1, atol is 0, must be >= 0");
  }
  SolveOptions options;
  options.relaxation = 0.0;
  EXPECT_EQ(message_of([&] { (void)richardson(A, {}, b, x, options); }),
            "richardson: relaxation is 0, must be > 0 and finite");
  options.relaxation = std::numeric_limits<double>::infinity();
  EXPECT_EQ(message_of([&] { (void)richardson(A, {}, b, x, options); }),
            "richardson: relaxation is inf, must be > 0 and finite");
  options = {};
  options.restart = 0;
  EXPECT_EQ(message_of([&] { (void)fgmres(A, {}, b, x, options); }), "fgmres: restart is 0, must be >= 1");
  options = {};
  options.basis = BasisPrecision::single;
  EXPECT_EQ(message_of([&] { (void)fgmres(A, {}, b, x, options); }), "fgmres: basis is single, which only gmres has");
}

}  // namespace
}  // namespace blockjacobi::test
