#include "backend/backend_impl.hpp"
#include "backends/systems.hpp"
#include "core/shared/scalar_steps.hpp"
#include "support/backends.hpp"

// The pass over vectors of which solvers are made, against plain loops in double.

namespace blockjacobi::test {
namespace {

using namespace blockjacobi::detail;

template <class Case>
class VectorPassOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(VectorPassOnBackend, BackendCases, BackendCaseName);

template <Scalar T>
using Wide = std::conditional_t<is_complex<T>, std::complex<double>, double>;

/// |value - (sum of coefficient times x)| within the rounding of three products.
template <Scalar T>
void expect_sum(T value, std::initializer_list<std::pair<T, T>> terms) {
  Wide<T> sum{};
  double size = 0.0;
  for (const auto& [coefficient, x] : terms) {
    sum += Wide<T>(coefficient) * Wide<T>(x);
    size += std::abs(Wide<T>(coefficient)) * std::abs(Wide<T>(x));
  }
  EXPECT_LE(std::abs(Wide<T>(value) - sum), 8 * static_cast<double>(std::numeric_limits<real_t<T>>::epsilon()) * size);
}

/// u and v are exchanged, w becomes a sum of both and itself, x keeps what it is; with state.stop set all do.
TYPED_TEST(VectorPassOnBackend, SumsAreTakenBeforeAnyIsAssigned) {
  using T = typename TypeParam::Scalar;
  using C = compute_t<T>;
  const Backend backend = this->make_backend();
  const std::vector<T> coefficients = random_vector<T>(3, 1);
  const Array<T> on_backend(backend, coefficients);
  const C* factor = compute_cast(on_backend.data());
  for (const bool stopped : {false, true})
    for (const index_t n : {0, 1, 255, 256, 257, 700, 5000, 300'001}) {
      SCOPED_TRACE(::testing::Message() << n << (stopped ? " rows, stopped" : " rows"));
      const std::vector<T> u0 = random_vector<T>(n, 2), v0 = random_vector<T>(n, 3), w0 = random_vector<T>(n, 4);
      const Array<T> u(backend, u0), v(backend, v0), w(backend, w0), x(backend, u0);
      C *const pu = compute_cast(u.data()), *const pv = compute_cast(v.data()), *const pw = compute_cast(w.data());
      SolveControl control{};
      control.stop = stopped ? static_cast<int>(StopReason::converged) : 0;
      const Array<SolveControl> state(backend, std::vector<SolveControl>{control});
      const VectorPass<C> pass{
          n,
          {{pu, {{pv}}}, {nullptr, {{pu}}}, {pw, {{pu, factor}, {pw, factor + 1}, {pv, factor + 2}}}, {pv, {{pu}}}},
          {}};
      krylov_ops<T>(backend).pass(pass, ScalarStep::none, state.data());
      const std::vector<T> w1 = w.to_host();
      EXPECT_EQ(u.to_host(), stopped ? u0 : v0);
      EXPECT_EQ(v.to_host(), stopped ? v0 : u0);
      EXPECT_EQ(x.to_host(), u0);
      for (std::size_t i = 0; i < w1.size() && !this->HasFailure(); ++i)
        if (stopped)
          EXPECT_EQ(w1[i], w0[i]);
        else
          expect_sum<T>(w1[i], {{coefficients[0], u0[i]}, {coefficients[1], w0[i]}, {coefficients[2], v0[i]}});
    }
}

}  // namespace
}  // namespace blockjacobi::test
