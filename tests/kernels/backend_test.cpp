#include "backend/cuda_memory_pool.hpp"
#include "tests/kernels/blocks.hpp"
#include "tests/kernels/counting_resource.hpp"
#include "tests/kernels/systems.hpp"
#include "tests/support/messages.hpp"

#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/error.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <numeric>

namespace blockjacobi::test {
namespace {

class CudaBackendTest : public DeviceTest {};

TEST(CudaBackend, UnavailableDeviceIsExplained) {
  EXPECT_THROW(static_cast<void>(Backend::cuda(-1)), BackendUnavailable);
  try {
    static_cast<void>(Backend::cuda(99));
    FAIL() << "device 99 was accepted";
  } catch (const BackendUnavailable& e) {
    EXPECT_NE(std::string(e.what()).find("device"), std::string::npos) << e.what();
  }
}

TEST_F(CudaBackendTest, DescribesItself) {
  const Backend backend = Backend::cuda(0);
  EXPECT_EQ(backend.kind(), BackendKind::cuda);
  EXPECT_EQ(backend.memory_space(), MemorySpace::device);
  EXPECT_EQ(backend.threads(), 1);
  EXPECT_NE(backend.stream(), nullptr);
  EXPECT_EQ(backend.description().rfind("cuda 0, ", 0), 0u) << backend.description();
}

TEST_F(CudaBackendTest, Copies) {
  const Backend backend = Backend::cuda();
  const auto values = random_vector<double>(1000, 1);
  const Array<double> first(backend, values);
  Array<double> second(backend, values.size());
  backend.impl().copy(second.data(), first.data(), first.bytes());
  EXPECT_EQ(second.to_host(), values);
  second.zero();
  EXPECT_EQ(second.to_host(), std::vector<double>(values.size(), 0.0));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.data()) % 256, 0u);
}

TEST_F(CudaBackendTest, UsersStreamAndAllocator) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  const auto resource = std::make_shared<CountingResource>();
  {
    const Backend backend = Backend::cuda(0, stream, resource);
    EXPECT_EQ(backend.stream(), stream);
    const auto system = on<std::int64_t>(backend, laplacian<float>(20));
    const auto product = detail::krylov_ops<float>(backend).make_csr(system.view());
    const Array<float> x(backend, random_vector<float>(400, 3));
    Array<float> y(backend, 400);
    const int calls = resource->calls;
    EXPECT_GT(calls, 0);
    product->apply(x.data(), y.data());
    backend.synchronize();
    EXPECT_EQ(resource->calls, calls) << "apply allocates nothing";
    EXPECT_GT(resource->live, 0u);
  }
  EXPECT_EQ(resource->live, 0u);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

std::uint64_t bytes_of(const detail::CudaMemoryPool& pool, cudaMemPoolAttr attribute) {
  std::uint64_t bytes = 0;
  EXPECT_EQ(cudaMemPoolGetAttribute(pool.get(), attribute, &bytes), cudaSuccess);
  return bytes;
}

TEST_F(CudaBackendTest, BackendsOfADeviceShareAPool) {
  std::weak_ptr<detail::CudaMemoryPool> known;
  {
    const auto pool = detail::CudaMemoryPool::of(0);
    if (pool == nullptr) GTEST_SKIP() << "no memory pools";
    known = pool;
    EXPECT_EQ(detail::CudaMemoryPool::of(0), pool);
    const Backend first = Backend::cuda(0), second = Backend::cuda(0);
    constexpr std::size_t count = 32 << 20;
    const std::uint64_t before = bytes_of(*pool, cudaMemPoolAttrUsedMemCurrent);
    {
      const Array<char> a(first, count), b(second, count);
      EXPECT_EQ(bytes_of(*pool, cudaMemPoolAttrUsedMemCurrent), before + 2 * count);
    }
    first.synchronize();
    second.synchronize();
    const std::uint64_t kept = bytes_of(*pool, cudaMemPoolAttrReservedMemCurrent);
    EXPECT_GE(kept, 2 * count) << "given back to the device";
    const Array<char> both(second, count), of_the_other(second, count);
    EXPECT_EQ(bytes_of(*pool, cudaMemPoolAttrReservedMemCurrent), kept) << "what one gave back the other does not take";
  }
  EXPECT_TRUE(known.expired()) << "kept, though no backend is left";
}

/// Leaves an error of CUDA behind whenever it takes memory back.
class CarelessResource final : public MemoryResource {
 public:
  void* allocate(std::size_t bytes, CUstream_st* stream) override {
    void* pointer = nullptr;
    if (cudaMallocAsync(&pointer, bytes, stream) != cudaSuccess) throw std::bad_alloc();
    return pointer;
  }
  void deallocate(void* pointer, std::size_t, CUstream_st* stream) noexcept override {
    static_cast<void>(cudaFreeAsync(pointer, stream));
    left_an_error = cudaSetDevice(-1) != cudaSuccess || left_an_error;
  }
  bool left_an_error = false;
};

TEST_F(CudaBackendTest, AnErrorOfADestructorIsNotTheNextLaunchs) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  const auto resource = std::make_shared<CarelessResource>();
  { const Array<double> x(Backend::cuda(0, stream, resource), 100); }
  EXPECT_TRUE(resource->left_an_error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  // An error from before is not its own, and stays for who asks.
  auto x = std::make_unique<Array<double>>(Backend::cuda(0, stream, resource), 100);
  EXPECT_NE(cudaSetDevice(-1), cudaSuccess);
  x.reset();
  EXPECT_NE(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(CudaBackendTest, FailedRebuildLeavesNothingToApply) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  const auto resource = std::make_shared<CountingResource>();
  {
    const Backend backend = Backend::cuda(0, stream, resource);
    const auto system = on<std::int64_t>(backend, laplacian<double>(10));
    const auto& A = system.view();
    BlockJacobiOptions options;
    options.storage = Storage::adaptive;
    BlockJacobi<double> m(backend, A, BlockPartition::uniform(100, 10), options);
    const Array<double> r(backend, random_vector<double>(100, 4));
    Array<double> before(backend, 100), after(backend, 100);
    m.apply(r.view(), before.view());
    resource->is_full = true;
    EXPECT_THROW(m.rebuild(A.values, A.nnz, MemorySpace::device), std::bad_alloc);
    resource->is_full = false;
    EXPECT_EQ(message_of([&] { m.apply(r.view(), after.view()); }),
              "BlockJacobi::apply: there are no inverses yet, refresh() comes first after BlockJacobi::analyze()");
    m.refresh(A.values, A.nnz, MemorySpace::device);
    m.apply(r.view(), after.view());
    EXPECT_EQ(after.to_host(), before.to_host());
  }
  EXPECT_EQ(resource->live, 0u);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(CudaBackendTest, LegacyDefaultStreamRunsRecordingsDirectly) {
  const Backend backend = Backend::cuda(0, nullptr);
  const Array<float> u(backend, std::vector<float>(10, 1.0f));
  Array<float> x(backend, std::vector<float>(10, 0.0f));
  int calls = 0;
  const auto recording = backend.impl().record(
      [&] {
        ++calls;
        detail::krylov_ops<float>(backend).add(10, u.data(), x.data(), nullptr);
      },
      true);
  EXPECT_EQ(calls, 0);
  recording->replay();
  recording->replay();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(x.to_host(), std::vector<float>(10, 2.0f));
}

TEST_F(CudaBackendTest, NotCapturableWorkRunsAtEveryReplay) {
  const Backend backend = Backend::cuda();
  int calls = 0;
  const auto recording = backend.impl().record([&] { ++calls; }, false);
  EXPECT_EQ(calls, 0);
  recording->replay();
  EXPECT_EQ(calls, 1);
}

TEST_F(CudaBackendTest, ExceptionEndsTheCapture) {
  const Backend backend = Backend::cuda();
  Array<float> x(backend, std::vector<float>(10, 1.0f));
  EXPECT_THROW(static_cast<void>(backend.impl().record(
                   [&] {
                     detail::krylov_ops<float>(backend).add(10, x.data(), x.data(), nullptr);
                     throw InvalidArgument("from the body");
                   },
                   true)),
               InvalidArgument);
  // The stream works as before, and nothing ran.
  EXPECT_EQ(x.to_host(), std::vector<float>(10, 1.0f));
  x.zero();
  EXPECT_EQ(x.to_host(), std::vector<float>(10, 0.0f));
}

TEST_F(CudaBackendTest, FailedAllocationNamesTheCall) {
  const Backend backend = Backend::cuda();
  try {
    static_cast<void>(backend.impl().allocate(std::size_t{1} << 50));
    FAIL() << "a petabyte was allocated";
  } catch (const CudaError& e) {
    EXPECT_NE(e.code(), 0);
    EXPECT_NE(std::string(e.what()).find("1125899906842624 bytes"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("cuda_context.cpp:"), std::string::npos) << e.what();
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "no later launch takes it for its own";
}

TEST_F(CudaBackendTest, RefreshAndApplyCanBeRecorded) {
  const Backend backend = Backend::cuda();
  const index_t n = 120;
  std::vector<std::int32_t> offsets(n + 1);
  std::iota(offsets.begin(), offsets.end(), 0);
  std::vector<index_t> columns(n);
  std::iota(columns.begin(), columns.end(), 0);
  const std::vector<double> twos(n, 2.0), fours(n, 4.0);
  const CsrView<double, std::int32_t> diagonal{n, n, n, offsets.data(), columns.data(), twos.data()};
  std::vector<BlockJacobiOptions> variants{{}, {.l1 = true}};
  for (const Storage storage : {Storage::packed, Storage::fp32, Storage::bf16, Storage::fp16, Storage::adaptive})
    for (const SingularPolicy policy : {SingularPolicy::shift, SingularPolicy::pseudo_inverse})
      variants.push_back({policy, storage});
  // With and without a block that is too large for a narrow position map.
  for (const auto& bounds : {std::vector<index_t>{0, 3, 40, 41, n}, std::vector<index_t>{0, 3, 35, 50, 70, 90, 110, n}})
    for (const BlockJacobiOptions& options : variants) {
      BlockJacobi<double> preconditioner(backend, diagonal, BlockPartition::from_offsets(bounds), options);
      Array<double> values(backend, twos), z(backend, n);
      const Array<double> r(backend, std::vector<double>(n, 1.0));
      const auto recording = backend.impl().record(
          [&] {
            preconditioner.refresh(values.data(), n, MemorySpace::device);
            preconditioner.apply(r.view(), z.view());
          },
          true);
      recording->replay();
      EXPECT_EQ(z.to_host(), std::vector<double>(n, 0.5));
      values.copy_from_host(fours.data());
      recording->replay();
      EXPECT_EQ(z.to_host(), std::vector<double>(n, 0.25));
      EXPECT_EQ(preconditioner.info(), std::vector<int>(bounds.size() - 1, 0));
    }
}

}  // namespace
}  // namespace blockjacobi::test
