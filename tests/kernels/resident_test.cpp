#include "tests/kernels/counting_resource.hpp"
#include "tests/kernels/driver_function.hpp"
#include "tests/kernels/systems.hpp"

#include <blockjacobi/solver.hpp>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <chrono>
#include <thread>

namespace blockjacobi::test {
namespace {

/// Solves that take the whole device in one launch, beside other work and on a part of it.
class ResidentTest : public DeviceTest {};

struct Outcome {
  SolveReport report;
  std::vector<double> x;
  bool resides;
};

/// Solutions of A x = b with these residuals, for a Hermitian A: ||A^-1|| is at most 1 over the dominance of its
/// diagonal.
void expect_near(const System<double>& a, const Outcome& found, const Outcome& expected) {
  const auto b = random_vector<double>(static_cast<std::size_t>(a.rows), 7);
  const double rounding = std::sqrt(a.rows) * rounding_of_product(a, largest_of(expected.x), largest_of(b));
  EXPECT_LE(relative_difference(found.x, expected.x) * largest_of(expected.x),
            (found.report.true_residual + expected.report.true_residual + rounding) / row_sums(a).dominance);
}

Outcome solve(const Backend& backend, const System<double>& a, int repetitions = 1, Storage storage = Storage::full) {
  const auto system = on<std::int32_t>(backend, a);
  const LinearOperator<double> A(backend, system.view());
  BlockJacobiOptions blocks;
  blocks.storage = storage;
  const BlockJacobi<double> M(backend, system.view(), BlockPartition::uniform(a.rows, 8), blocks);
  const Array<double> b(backend, random_vector<double>(static_cast<std::size_t>(a.rows), 7));
  Array<double> x(backend, b.size());
  SolveOptions options;
  options.rtol = 1e-10;
  Outcome outcome{};
  for (int i = 0; i < repetitions; ++i) {
    x.zero();
    outcome.report = cg(A, M, b.view(), x.view(), options);
  }
  outcome.x = x.to_host();
  outcome.resides = detail::krylov_ops<double>(backend).can_reside(A.impl(), &M.preconditioner());
  return outcome;
}

TEST_F(ResidentTest, SolvesAtTheSameTimeOnTwoStreams) {
  const auto a = laplacian<double>(120);
  const Outcome alone = solve(Backend::cuda(), a);
  ASSERT_TRUE(alone.resides || !is_sm_90());
  EXPECT_EQ(alone.report.reason, StopReason::converged);
  Outcome first{}, second{};
  std::thread other([&] { second = solve(Backend::cuda(), a, 20); });
  first = solve(Backend::cuda(), a, 20);
  other.join();
  for (const Outcome* outcome : {&first, &second}) {
    EXPECT_EQ(outcome->report.iterations, alone.report.iterations);
    EXPECT_TRUE(same_bits(outcome->x, alone.x));
  }
}

TEST_F(ResidentTest, SolvesInEveryStorage) {
  const auto a = laplacian<double>(120);
  const Outcome full = solve(Backend::cuda(), a);
  for (const Storage storage : {Storage::packed, Storage::fp32, Storage::bf16, Storage::fp16, Storage::adaptive}) {
    SCOPED_TRACE(to_string(storage));
    const Outcome found = solve(Backend::cuda(), a, 2, storage), again = solve(Backend::cuda(), a, 1, storage);
    EXPECT_TRUE(found.resides || !is_sm_90());
    EXPECT_EQ(found.report.reason, StopReason::converged);
    EXPECT_NEAR(found.report.iterations, full.report.iterations, 2);
    expect_near(a, found, full);
    EXPECT_TRUE(same_bits(found.x, again.x));
  }
}

/// Which way a solve goes shows in its memory: messages, of which the phases have none. Returns how often they were
/// allocated.
template <class Solver>
int messages_of(Resident resident, Solver solver) {
  const auto a = laplacian<double>(60);
  const auto size = static_cast<std::size_t>(a.rows);
  const auto memory = std::make_shared<CountingResource>();
  const Backend backend = Backend::cuda(0, nullptr, memory);
  const auto system = on<std::int32_t>(backend, a);
  const LinearOperator<double> A(backend, system.view());
  const BlockJacobi<double> M(backend, system.view(), BlockPartition::uniform(a.rows, 8));
  const Array<double> b(backend, random_vector<double>(size, 7));
  Array<double> x(backend, std::vector<double>(size));
  auto& ops = detail::krylov_ops<double>(backend);
  const std::size_t of_gmres = ops.gmres_message_bytes(A.impl(), &M.preconditioner(), SolveOptions{}.restart);
  const auto count = [&] {
    return memory->blocks_of(4 * size * sizeof(double)) + (of_gmres > 0 ? memory->blocks_of(of_gmres) : 0);
  };
  const int before = count();
  SolveOptions options;
  options.resident = resident;
  EXPECT_EQ(solver(A, M, b, x, options).reason, StopReason::converged);
  return count() - before;
}

TEST_F(ResidentTest, NeverMeansThePhases) {
  const auto by_cg = [](const auto& A, const auto& M, const auto& b, auto& x, const SolveOptions& options) {
    return cg(A, M, b.view(), x.view(), options);
  };
  const auto by_bicgstab = [](const auto& A, const auto& M, const auto& b, auto& x, const SolveOptions& options) {
    return bicgstab(A, M, b.view(), x.view(), options);
  };
  const auto by_gmres = [](const auto& A, const auto& M, const auto& b, auto& x, const SolveOptions& options) {
    return gmres(A, M, b.view(), x.view(), options);
  };
  const int taken = is_sm_90() ? 1 : messages_of(Resident::automatic, by_cg);
  EXPECT_EQ(messages_of(Resident::automatic, by_cg), taken);
  EXPECT_EQ(messages_of(Resident::automatic, by_bicgstab), taken);
  EXPECT_EQ(messages_of(Resident::automatic, by_gmres), taken);
  EXPECT_EQ(messages_of(Resident::never, by_cg), 0);
  EXPECT_EQ(messages_of(Resident::never, by_bicgstab), 0);
  EXPECT_EQ(messages_of(Resident::never, by_gmres), 0);
}

/// Of a call of the user's: it is found before anything of the solve runs, under another name, and forgotten.
TEST_F(ResidentTest, AnEarlierErrorIsReportedFirst) {
  const auto a = laplacian<double>(10);
  const Backend backend = Backend::cuda();
  const auto system = on<std::int32_t>(backend, a);
  const LinearOperator<double> A(backend, system.view());
  const Preconditioner<double> none;
  const Array<double> b(backend, random_vector<double>(static_cast<std::size_t>(a.rows), 7));
  Array<double> x(backend, std::vector<double>(b.size()));
  Array<SolveStatus> status(backend, 1);
  CgWorkspace<double> workspace(A, none);
  const auto error_of = [&](auto solve) -> std::string {
    EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
    try {
      solve();
    } catch (const CudaError& error) {
      EXPECT_EQ(error.code(), cudaErrorInvalidDevice);
      return error.what();
    }
    return "";
  };
  const auto solve = [&] { static_cast<void>(cg(A, none, b.view(), x.view())); };
  EXPECT_TRUE(error_of(solve).starts_with("a CUDA call before cg failed: cudaErrorInvalidDevice"));
  EXPECT_EQ(x.to_host(), std::vector<double>(b.size())) << "nothing ran";
  solve();
  EXPECT_NE(x.to_host(), std::vector<double>(b.size()));
  const auto enqueue = [&] { cg_enqueue(workspace, b.view(), x.view(), status.data()); };
  EXPECT_TRUE(error_of(enqueue).starts_with("a CUDA call before cg_enqueue failed: cudaErrorInvalidDevice"));
  enqueue();
  EXPECT_EQ(status.to_host()[0].reason, StopReason::converged);
}

TEST_F(ResidentTest, AQueryThatFindsWorkUnderWayIsNoError) {
  const auto a = laplacian<double>(10);
  const Backend backend = Backend::cuda();
  const auto system = on<std::int32_t>(backend, a);
  const LinearOperator<double> A(backend, system.view());
  const Array<double> b(backend, random_vector<double>(static_cast<std::size_t>(a.rows), 7));
  Array<double> x(backend, std::vector<double>(b.size()));
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const auto wait = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  ASSERT_EQ(cudaLaunchHostFunc(stream, wait, nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_EQ(cg(A, Preconditioner<double>(), b.view(), x.view()).reason, StopReason::converged);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

/// A stream with some of the multiprocessors; its functions are not in every driver.
class PartOfDevice {
 public:
  PartOfDevice() {
    cudaFree(nullptr);  // makes the context
    CUdevice device = 0;
    CUdevResource all{}, part{};
    CUdevResourceDesc description = nullptr;
    unsigned int parts = 1;
    if (!find(device_get_, "cuDeviceGetDevResource") || !find(split_, "cuDevSmResourceSplitByCount") ||
        !find(describe_, "cuDevResourceGenerateDesc") || !find(create_, "cuGreenCtxCreate") ||
        !find(destroy_, "cuGreenCtxDestroy") || !find(stream_create_, "cuGreenCtxStreamCreate"))
      return;
    if (device_get_(device, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS ||
        split_(&part, &parts, &all, nullptr, 0, 16) != CUDA_SUCCESS || parts != 1 ||
        describe_(&description, &part, 1) != CUDA_SUCCESS ||
        create_(&context_, description, device, CU_GREEN_CTX_DEFAULT_STREAM) != CUDA_SUCCESS)
      return;
    if (stream_create_(&stream_, context_, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) stream_ = nullptr;
  }
  ~PartOfDevice() {
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
    if (context_ != nullptr) static_cast<void>(destroy_(context_));
  }
  PartOfDevice(const PartOfDevice&) = delete;
  PartOfDevice& operator=(const PartOfDevice&) = delete;

  /// Null where there is none.
  CUstream_st* stream() const { return stream_; }

 private:
  template <class Function>
  static bool find(Function& function, const char* name) {
    function = driver_function<Function>(name, 12050);
    return function != nullptr;
  }

  decltype(&cuDeviceGetDevResource) device_get_ = nullptr;
  decltype(&cuDevSmResourceSplitByCount) split_ = nullptr;
  decltype(&cuDevResourceGenerateDesc) describe_ = nullptr;
  decltype(&cuGreenCtxCreate) create_ = nullptr;
  decltype(&cuGreenCtxDestroy) destroy_ = nullptr;
  decltype(&cuGreenCtxStreamCreate) stream_create_ = nullptr;
  CUgreenCtx context_ = nullptr;
  CUstream_st* stream_ = nullptr;
};

TEST_F(ResidentTest, AStreamWithAPartOfTheDeviceHasThePhases) {
  const PartOfDevice part;
  if (part.stream() == nullptr) GTEST_SKIP() << "no parts of devices";
  const auto a = laplacian<double>(60);
  const Outcome whole = solve(Backend::cuda(), a), found = solve(Backend::cuda(0, part.stream()), a);
  EXPECT_FALSE(found.resides);
  EXPECT_EQ(found.report.reason, StopReason::converged);
  expect_near(a, found, whole);
}

}  // namespace
}  // namespace blockjacobi::test
