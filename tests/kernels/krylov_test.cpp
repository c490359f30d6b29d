#include "tests/kernels/systems.hpp"

#include <blockjacobi/solver.hpp>

namespace blockjacobi::test {
namespace {

template <class T>
class KrylovMatchesHostTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(KrylovMatchesHostTest, Scalars);

template <Scalar T>
using Solve = SolveReport (*)(const LinearOperator<T>&, const Preconditioner<T>&, VectorView<const T>, VectorView<T>,
                              const SolveOptions&);

/// A few iterations on both backends: the same x and the same residuals.
template <Scalar T>
void expect_same_iterations(Solve<T> solve, const System<T>& a, bool preconditioned, const SolveOptions& options) {
  SCOPED_TRACE(::testing::Message() << "n = " << a.rows << (preconditioned ? ", preconditioned" : ""));
  const auto n = static_cast<std::size_t>(a.rows);
  const auto run = [&](const Backend& backend) {
    const auto system = on<std::int32_t>(backend, a);
    const LinearOperator<T> A(backend, system.view());
    const BlockJacobi<T> M(backend, system.view(), BlockPartition::uniform(a.rows, 3));
    std::vector<T> x = random_vector<T>(n, 81);
    const SolveReport report =
        solve(A, preconditioned ? Preconditioner<T>(M) : Preconditioner<T>(), random_vector<T>(n, 82), x, options);
    return std::pair(x, report);
  };
  const auto [x, found] = run(Backend::cuda());
  const auto [y, expected] = run(Backend::host());
  EXPECT_EQ(found.reason, expected.reason);
  EXPECT_EQ(found.iterations, expected.iterations);
  // BiCGSTAB takes two products an iteration. The columns of a basis in single precision are off by its eps each, in as
  // many products, and cond(A) <= 28: 2 * 11 * 28 * 1.2e-7 = 7e-5.
  const int products = 2 * options.max_iterations + 1;
  const double tolerance = std::max(options.basis == BasisPrecision::single ? 1e-4 : 0,
                                    rounding_of_iterations(a, products, preconditioned ? 3 : 0));
  EXPECT_LE(relative_difference(x, y), tolerance);
  ASSERT_EQ(found.history.size(), expected.history.size());
  for (std::size_t i = 0; i < found.history.size(); ++i)
    EXPECT_NEAR(found.history[i], expected.history[i], tolerance * expected.history[0]) << "iteration " << i;
}

template <Scalar T>
void expect_same_iterations(index_t m, Resident resident = Resident::automatic) {
  SolveOptions options;
  options.resident = resident;
  options.rtol = 0.0;
  options.max_iterations = 5;
  options.restart = 3;
  options.relaxation = 0.2;
  for (const bool preconditioned : {false, true}) {
    for (const auto solve : {&fcg<T>, &minres<T>})
      expect_same_iterations<T>(solve, laplacian<T>(m), preconditioned, options);
    for (const auto solve : {&bicgstab<T>, &gmres<T>, &fgmres<T>, &richardson<T>})
      expect_same_iterations<T>(solve, convection_diffusion<T>(m), preconditioned, options);
    SolveOptions single = options;
    single.basis = BasisPrecision::single;
    expect_same_iterations<T>(&gmres<T>, convection_diffusion<T>(m), preconditioned, single);
  }
}

TYPED_TEST(KrylovMatchesHostTest, Systems) {
  for (const index_t m : {6, 17, 40})
    for (const Resident resident : {Resident::automatic, Resident::never})
      expect_same_iterations<TypeParam>(m, resident);
}

TYPED_TEST(KrylovMatchesHostTest, ManyThreadBlocks) { expect_same_iterations<TypeParam>(600); }

TYPED_TEST(KrylovMatchesHostTest, BlockRows) {
  using T = TypeParam;
  const auto a = convection_diffusion<T>(24);
  const auto x_on_host = random_vector<T>(static_cast<std::size_t>(a.rows), 83);
  for (const index_t block : {1, 2, 3, 4, 6, 8, 9, 16, 18, 24, 32}) {
    SCOPED_TRACE(block);
    const auto run = [&](const Backend& backend) {
      const auto system = on<std::int32_t>(backend, a, IndexBase::one);
      const LinearOperator<T> A(BsrMatrix<T>(backend, system.view(), block));
      const Array<T> x(backend, x_on_host);
      Array<T> y(backend, x.size());
      A.apply(x.view(), y.view());
      return y.to_host();
    };
    const auto expected = run(Backend::host());
    EXPECT_LE(relative_difference(run(Backend::cuda()), expected) * largest_of(expected),
              rounding_of_product(a, largest_of(x_on_host)));
  }
}

}  // namespace
}  // namespace blockjacobi::test
