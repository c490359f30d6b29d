#include "tests/kernels/systems.hpp"

#include <blockjacobi/solver.hpp>

#include <cuda_runtime.h>

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

template <class T>
class UserGraphTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(UserGraphTest, Scalars);

/// As users do it: a stream of their own in global capture mode, which refuses every call that could wait or allocate;
/// then a thousand replays, which take no memory.
TYPED_TEST(UserGraphTest, RefreshAndSolveInTheUsersGraph) {
  using T = TypeParam;
  cudaStream_t stream = nullptr;
  ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  {
    const Backend backend = Backend::cuda(0, stream);
    const auto a = laplacian<T>(12);
    const DeviceSystem<T, std::int32_t> system(backend, a);
    const LinearOperator<T> A(backend, system.view());
    BlockJacobi<T> M(backend, system.view(), BlockPartition::uniform(a.rows, 12));
    const auto n = static_cast<std::size_t>(a.rows);
    const Array<T> b(backend, random_vector<T>(n, 71));
    Array<T> x(backend, std::vector<T>(n)), y(backend, std::vector<T>(n));
    Array<SolveStatus> status(backend, 2);
    SolveOptions options;
    options.rtol = 1e3 * epsilon<T>;
    options.max_iterations = 60;
    options.restart = 15;
    CgWorkspace<T> by_cg(A, M, options);
    GmresWorkspace<T> by_gmres(A, M, options);

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    x.zero();
    y.zero();
    M.refresh(system.view().values, system.view().nnz, MemorySpace::device);
    cg_enqueue(by_cg, b.view(), x.view(), status.data());
    gmres_enqueue(by_gmres, b.view(), y.view(), status.data() + 1);
    ok(cudaStreamEndCapture(stream, &graph));
    ok(cudaGraphInstantiate(&executable, graph, 0));

    ok(cudaGraphLaunch(executable, stream));
    const auto first = x.to_host(), first_gmres = y.to_host();
    for (const SolveStatus& s : status.to_host()) EXPECT_EQ(s.reason, StopReason::converged) << to_string(s.reason);
    const std::uint64_t before = reserved_memory();
    for (int i = 0; i < 1000; ++i) ok(cudaGraphLaunch(executable, stream));
    ok(cudaStreamSynchronize(stream));
    EXPECT_EQ(reserved_memory(), before);
    EXPECT_TRUE(same_bits(x.to_host(), first));
    EXPECT_TRUE(same_bits(y.to_host(), first_gmres));
    ok(cudaGraphExecDestroy(executable));
    ok(cudaGraphDestroy(graph));
  }
  ok(cudaStreamDestroy(stream));
}

}  // namespace
}  // namespace blockjacobi::test
