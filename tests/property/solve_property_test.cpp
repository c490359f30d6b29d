// What holds for every solve.
#include "property.hpp"
#include "random_system.hpp"
#include "support/bits.hpp"

namespace blockjacobi::test {
namespace {

template <class Case>
class SolvePropertyOnBackend : public PropertyOnBackend<Case> {};
TYPED_TEST_SUITE(SolvePropertyOnBackend, BackendCases, BackendCaseName);

template <Scalar T>
using SolveFunction = SolveReport (*)(const LinearOperator<T>&, const Preconditioner<T>&, VectorView<const T>,
                                      VectorView<T>, const SolveOptions&);

template <Scalar T>
SolveFunction<T> any_solver(Random& random) {
  static constexpr SolveFunction<T> functions[] = {&cg<T>,     &fcg<T>,      &minres<T>,    &gmres<T>,
                                                   &fgmres<T>, &bicgstab<T>, &richardson<T>};
  return functions[random.index(7)];
}

/// ||b - A x|| in long double, and what rounding in the working precision may change of it.
struct Residual {
  long double norm = 0;
  long double rounding = 0;
};

template <Scalar T>
Residual residual_of(const CsrMatrix<T>& a, const std::vector<T>& b, const std::vector<T>& x) {
  using W = typename Wide<T>::type;
  long double sum = 0, rounding = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    W r(b[i]);
    long double magnitude = std::abs(r);
    const auto end = static_cast<std::size_t>(a.row_offsets()[i + 1]);
    const auto begin = static_cast<std::size_t>(a.row_offsets()[i]);
    for (auto k = begin; k < end; ++k) {
      const W term = W(a.values()[k]) * W(x[static_cast<std::size_t>(a.columns()[k])]);
      r -= term;
      magnitude += std::abs(term);
    }
    sum += std::norm(r);
    // Duplicates are summed in the product.
    const long double error = 2 * static_cast<long double>(end - begin + 4) *
                              static_cast<long double>(std::numeric_limits<real_t<T>>::epsilon()) * magnitude;
    rounding += error * error;
  }
  return {std::sqrt(sum), std::sqrt(rounding)};
}

template <Scalar T>
std::vector<T> random_numbers(std::size_t size, Random& random) {
  std::vector<T> values(size);
  for (T& value : values) value = random.scalar<T>();
  return values;
}

template <Scalar T>
SolveOptions any_options(Random& random) {
  SolveOptions options;
  options.rtol = std::pow(10.0, -1 - random.index(std::is_same_v<real_t<T>, double> ? 12 : 5));
  options.max_iterations = 1 + random.index(120);
  options.restart = 1 + random.index(40);
  options.relative_to = random.index(2) == 0 ? RelativeTo::rhs : RelativeTo::initial_residual;
  options.relaxation = random.index(2) == 0 ? 1.0 : 0.5;
  return options;
}

TYPED_TEST(SolvePropertyOnBackend, ConvergedMeansASmallResidual) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  index_t converged = 0, all = 0;
  this->for_seeds([&](std::uint64_t seed) {
    const bool definite = seed % 3 != 0;
    RandomSystem<T> system(seed, {.definite = definite, .regular = true});
    Random& random = system.random();
    const CsrMatrix<T> a = system.matrix();
    BlockJacobiOptions block_options;
    block_options.singular = SingularPolicy::scalar_jacobi;
    if (random.index(2) == 0) block_options.storage = Storage::adaptive;
    const auto m = system.with_view(
        [&](const auto& view) { return BlockJacobi<T>(backend, view, system.partition(), block_options); });
    const LinearOperator<T> A(backend, a);
    const auto size = static_cast<std::size_t>(a.rows());
    const std::vector<T> b = random_numbers<T>(size, random);
    std::vector<T> x = random.index(2) == 0 ? std::vector<T>(size) : random_numbers<T>(size, random);
    const Residual before = residual_of(a, b, x);
    const SolveOptions options = any_options<T>(random);
    const auto solve = any_solver<T>(random);
    const SolveReport report =
        random.index(3) == 0 ? solve(A, Preconditioner<T>(), b, x, options) : solve(A, m, b, x, options);
    ++all;
    EXPECT_LE(report.iterations, options.max_iterations);
    if (!report.converged()) return;
    ++converged;
    const Residual after = residual_of(a, b, x);
    const long double reference = options.relative_to == RelativeTo::rhs ? report.rhs_norm : before.norm;
    EXPECT_LE(after.norm, options.rtol * reference * 1.0001L + after.rounding + options.rtol * before.rounding)
        << to_text(report);
    EXPECT_NEAR(static_cast<double>(after.norm), report.true_residual,
                static_cast<double>(after.rounding) + 1e-5 * report.true_residual)
        << to_text(report);
  });
  EXPECT_GT(converged, all / 4);
}

TYPED_TEST(SolvePropertyOnBackend, EqualBitsWithAnyNumberOfThreads) {
  using T = typename TypeParam::Scalar;
  const bool host = backend_kind() == BackendKind::host;
  this->for_seeds([&](std::uint64_t seed) {
    RandomSystem<T> system(seed, {.definite = true});
    Random& random = system.random();
    const CsrMatrix<T> a = system.matrix();
    const std::vector<T> b = random_numbers<T>(static_cast<std::size_t>(a.rows()), random);
    const SolveOptions options = any_options<T>(random);
    const auto solve = any_solver<T>(random);
    const auto run = [&](const Backend& backend, std::vector<T>& x) {
      const BlockJacobi<T> m(backend, a, system.partition());
      const LinearOperator<T> A(backend, a);
      return solve(A, m, b, x, options);
    };
    std::vector<T> x(b.size()), y(b.size());
    const auto first = run(host ? Backend::host(1) : this->make_backend(), x);
    const auto second = run(host ? Backend::host(2 + random.index(5)) : this->make_backend(), y);
    EXPECT_TRUE(same_bits(x, y)) << to_text(first) << to_text(second);
    EXPECT_TRUE(same_bits(first.history, second.history));
  });
}

}  // namespace
}  // namespace blockjacobi::test
