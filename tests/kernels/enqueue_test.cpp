#include "tests/kernels/counting_resource.hpp"
#include "tests/kernels/systems.hpp"

#include <blockjacobi/solver.hpp>

#include <cuda_runtime.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <utility>

namespace {
thread_local long host_allocations = 0;
}

// Of the whole program, so that what the library allocates on the host is counted, and nothing of the driver's. Not
// inlined: the compiler would see free() where it expects the counterpart of new.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++host_allocations;
  if (void* pointer = std::malloc(bytes > 0 ? bytes : 1)) return pointer;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* pointer) noexcept { std::free(pointer); }
[[gnu::noinline]] void operator delete(void* pointer, std::size_t) noexcept { std::free(pointer); }

namespace blockjacobi::test {
namespace {

void ok(cudaError_t status) { ASSERT_EQ(status, cudaSuccess) << cudaGetErrorString(status); }

/// Bytes of the device that this process holds for its allocations in streams and in graphs, whatever others take.
std::uint64_t reserved_memory() {
  std::uint64_t in_pool = 0, in_graphs = 0;
  cudaMemPool_t pool = nullptr;
  ok(cudaDeviceGetDefaultMemPool(&pool, 0));
  ok(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &in_pool));
  ok(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &in_graphs));
  return in_pool + in_graphs;
}

/// Captured allocations would be nodes of their own: global mode refuses cudaMalloc(), not cudaMallocAsync().
void expect_only_work(cudaGraph_t graph) {
  std::size_t count = 0;
  ok(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT_GT(count, 0u);
  std::vector<cudaGraphNode_t> nodes(count);
  ok(cudaGraphGetNodes(graph, nodes.data(), &count));
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    ok(cudaGraphNodeGetType(node, &type));
    EXPECT_TRUE(type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemset || type == cudaGraphNodeTypeMemcpy)
        << "node of type " << static_cast<int>(type);
  }
}

/// The user's stream and allocator, which outlive the backend.
class UsersStream {
 public:
  UsersStream() { ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~UsersStream() { static_cast<void>(cudaStreamDestroy(stream_)); }
  UsersStream(const UsersStream&) = delete;
  UsersStream& operator=(const UsersStream&) = delete;

  cudaStream_t get() const { return stream_; }
  Backend backend() const { return Backend::cuda(0, stream_, resource_); }
  int allocations() const { return resource_->calls; }

 private:
  cudaStream_t stream_ = nullptr;
  std::shared_ptr<CountingResource> resource_ = std::make_shared<CountingResource>();
};

/// A system with all that refresh and solve in a stream need.
template <Scalar T>
class Enqueued {
 public:
  Enqueued(const Backend& backend, index_t block, BasisPrecision basis)
      : matrix_(laplacian<T>(12)),
        system_(backend, matrix_),
        A_(backend, system_.view()),
        M_(backend, system_.view(), BlockPartition::uniform(matrix_.rows, block)),
        b_(backend, random_vector<T>(size(), 71)),
        x_(backend, std::vector<T>(size())),
        y_(backend, std::vector<T>(size())),
        status_(backend, 2),
        by_cg_(A_, M_, options(basis)),
        by_gmres_(A_, M_, options(basis)) {}

  void clear() {
    x_.zero();
    y_.zero();
  }
  void refresh() { M_.refresh(system_.view().values, system_.view().nnz, MemorySpace::device); }
  void solve_by_cg() { cg_enqueue(by_cg_, std::as_const(b_).view(), x_.view(), status_.data()); }
  void solve_by_gmres() { gmres_enqueue(by_gmres_, std::as_const(b_).view(), y_.view(), status_.data() + 1); }

  std::vector<T> of_cg() const { return x_.to_host(); }
  std::vector<T> of_gmres() const { return y_.to_host(); }
  void expect_converged() const {
    for (const SolveStatus& s : status_.to_host()) EXPECT_EQ(s.reason, StopReason::converged) << to_string(s.reason);
  }

 private:
  static SolveOptions options(BasisPrecision basis) {
    SolveOptions options;
    options.rtol = 1e3 * epsilon<T>;
    options.max_iterations = 60;
    options.restart = 15;
    options.basis = basis;
    return options;
  }
  std::size_t size() const { return static_cast<std::size_t>(matrix_.rows); }

  System<T> matrix_;
  DeviceSystem<T, std::int32_t> system_;
  LinearOperator<T> A_;
  BlockJacobi<T> M_;
  Array<T> b_, x_, y_;
  Array<SolveStatus> status_;
  CgWorkspace<T> by_cg_;
  GmresWorkspace<T> by_gmres_;
};

template <class T>
class UserGraphTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(UserGraphTest, Scalars);

/// As users do it: a stream of their own in global capture mode, which refuses every call that could wait; then a
/// thousand replays, which take no memory.
TYPED_TEST(UserGraphTest, RefreshAndSolveInTheUsersGraph) {
  using T = TypeParam;
  const UsersStream stream;
  Enqueued<T> system(stream.backend(), 12, BasisPrecision::working);
  const int allocations = stream.allocations();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ok(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
  system.clear();
  system.refresh();
  system.solve_by_cg();
  system.solve_by_gmres();
  ok(cudaStreamEndCapture(stream.get(), &graph));
  EXPECT_EQ(stream.allocations(), allocations);
  expect_only_work(graph);
  ok(cudaGraphInstantiate(&executable, graph, 0));

  ok(cudaGraphLaunch(executable, stream.get()));
  const auto first = system.of_cg(), first_gmres = system.of_gmres();
  system.expect_converged();
  const std::uint64_t before = reserved_memory();
  for (int i = 0; i < 1000; ++i) ok(cudaGraphLaunch(executable, stream.get()));
  ok(cudaStreamSynchronize(stream.get()));
  EXPECT_EQ(reserved_memory(), before);
  EXPECT_TRUE(same_bits(system.of_cg(), first));
  EXPECT_TRUE(same_bits(system.of_gmres(), first_gmres));
  ok(cudaGraphExecDestroy(executable));
  ok(cudaGraphDestroy(graph));
}

/// Without a graph, so that the library's own code runs every time: nothing comes from the user's allocator, nothing
/// from another of the device, nothing from the host's.
TYPED_TEST(UserGraphTest, DirectStepsAllocateNothing) {
  using T = TypeParam;
  const std::pair<index_t, BasisPrecision> variants[] = {{12, BasisPrecision::working},  // CG in one launch
                                                         {48, BasisPrecision::single}};  // and by its phases
  for (const auto& [block, basis] : variants) {
    SCOPED_TRACE(block);
    const UsersStream stream;
    const long before_construction = host_allocations;
    Enqueued<T> system(stream.backend(), block, basis);
    EXPECT_GT(host_allocations, before_construction) << "operator new is not counted";
    const auto expect_nothing = [&](int steps, const std::function<void()>& solve) {
      const auto step = [&] {
        system.clear();
        system.refresh();
        solve();
      };
      step();  // loads the kernels
      ok(cudaStreamSynchronize(stream.get()));
      const int allocations = stream.allocations();
      const std::uint64_t before = reserved_memory();
      const long on_host = host_allocations;
      for (int i = 0; i < steps; ++i) step();
      EXPECT_EQ(host_allocations, on_host);
      ok(cudaStreamSynchronize(stream.get()));
      EXPECT_EQ(reserved_memory(), before);
      EXPECT_EQ(stream.allocations(), allocations);
    };
    expect_nothing(1000, [&] { system.solve_by_cg(); });
    expect_nothing(100, [&] { system.solve_by_gmres(); });
    system.expect_converged();
  }
}

}  // namespace
}  // namespace blockjacobi::test
