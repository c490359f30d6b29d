#include "backends/enqueue.hpp"
#include "support/messages.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(EnqueuedSolveOnBackend, BackendCases, BackendCaseName);

/// What a workspace refers to must outlive it.
TYPED_TEST(EnqueuedSolveOnBackend, TakesNoTemporaryPreconditioner) {
  using T = typename TypeParam::Scalar;
  using A = const LinearOperator<T>&;
  static_assert(std::is_constructible_v<CgWorkspace<T>, A, const BlockJacobi<T>&>);
  static_assert(!std::is_constructible_v<CgWorkspace<T>, A, BlockJacobi<T>>);
  static_assert(std::is_constructible_v<GmresWorkspace<T>, A, const BlockJacobi<T>&>);
  static_assert(!std::is_constructible_v<GmresWorkspace<T>, A, BlockJacobi<T>>);
}

TYPED_TEST(EnqueuedSolveOnBackend, MisuseThrowsWithTheNumbers) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  System<T> s(backend, grid_matrix<T>(3), 3);
  Array<T> shorter(backend, 8);
  const Preconditioner<T> slow(backend, 9, [](auto, auto) {});
  const LinearOperator<T> slow_matrix(backend, 9, [](auto, auto) {});
  const auto expect = [&](const char* workspace, const char* function, auto make, auto enqueue) {
    const std::string made = workspace, called = function;
    auto ready = make(s.A, s.M, SolveOptions{});
    EXPECT_EQ(message_of([&] { enqueue(ready, std::as_const(shorter).view(), s.x.view(), s.status.data()); }),
              called + ": b: length is 8, must be 9");
    EXPECT_EQ(message_of([&] { enqueue(ready, std::as_const(s.b).view(), shorter.view(), s.status.data()); }),
              called + ": x: length is 8, must be 9");
    const bool on_host = backend.memory_space() == MemorySpace::host;
    const MemorySpace elsewhere = on_host ? MemorySpace::device : MemorySpace::host;
    const std::string lies = std::string(": lies on the ") + to_string(elsewhere) + ", ";
    const VectorView<const T> foreign_b(s.b.data(), 9, elsewhere);
    const VectorView<T> foreign_x(s.x.data(), 9, elsewhere);
    EXPECT_EQ(message_of([&] { enqueue(ready, foreign_b, s.x.view(), s.status.data()); }).find(called + ": b" + lies),
              0u);
    EXPECT_EQ(message_of([&] {
                enqueue(ready, std::as_const(s.b).view(), foreign_x, s.status.data());
              }).find(called + ": x" + lies),
              0u);
    EXPECT_EQ(message_of([&] { enqueue(ready, std::as_const(s.x).view(), s.x.view(), s.status.data()); }),
              called + ": input and output overlap");
    EXPECT_EQ(message_of([&] { enqueue(ready, std::as_const(s.b).view(), s.x.view(), nullptr); }),
              called + ": status is a null pointer");
    EXPECT_EQ(message_of([&] { make(s.A, slow, SolveOptions{}); }),
              made + ": the preconditioner is a function with Capture::no");
    EXPECT_EQ(message_of([&] { make(slow_matrix, s.M, SolveOptions{}); }),
              made + ": the matrix is a function with Capture::no");
    SolveOptions options;
    options.max_seconds = 1.0;
    const std::string asks = made + ": an enqueued solve asks neither clock (max_seconds) nor callback (progress)";
    EXPECT_EQ(message_of([&] { make(s.A, s.M, options); }), asks);
    options.max_seconds = 0.0;
    options.progress = [](const SolveProgress&) { return true; };
    EXPECT_EQ(message_of([&] { make(s.A, s.M, options); }), asks);
    options = {};
    options.max_iterations = -1;
    EXPECT_EQ(message_of([&] { make(s.A, s.M, options); }), made + ": max_iterations is -1, must be >= 0");
    const BlockJacobi<T> small(backend, grid_matrix<T>(2), BlockPartition::uniform(4, 2));
    EXPECT_EQ(message_of([&] { make(s.A, small, SolveOptions{}); }),
              made + ": the preconditioner has 4 rows, the matrix 9");
  };
  expect("CgWorkspace", "cg_enqueue", make_cg<T>(), &cg_enqueue<T>);
  expect("GmresWorkspace", "gmres_enqueue", make_gmres<T>(), &gmres_enqueue<T>);
  SolveOptions options;
  options.restart = 0;
  EXPECT_EQ(message_of([&] { GmresWorkspace<T>(s.A, s.M, options); }), "GmresWorkspace: restart is 0, must be >= 1");
}

}  // namespace
}  // namespace blockjacobi::test
