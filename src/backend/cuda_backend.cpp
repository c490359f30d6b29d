#include "backend/backend_impl.hpp"
#include "backend/cuda_batched_ops.hpp"
#include "backend/cuda_block_ops.hpp"
#include "backend/cuda_check.hpp"
#include "backend/cuda_coarse_ops.hpp"
#include "backend/cuda_krylov_ops.hpp"
#include "backend/cuda_partition_ops.hpp"
#include "backend/cuda_recording.hpp"
#include "backend/cuda_snapshots.hpp"
#include "backend/cuda_storage_ops.hpp"
#include "backend/device_message.hpp"
#include "core/message.hpp"
#include "kernels/launch.hpp"

#include <blockjacobi/error.hpp>

namespace blockjacobi::detail {

namespace {

/// The typed sets of operations for one scalar.
template <Scalar T>
struct CudaOps {
  explicit CudaOps(CudaContext& context)
      : block(context), storage(context), batched(context), krylov(context), coarse(context) {}
  CudaBlockOps<T> block;
  CudaStorageOps<T> storage;
  CudaBatchedOps<T> batched;
  CudaKrylovOps<T> krylov;
  CudaCoarseOps<T> coarse;
};

/// Of one workspace.
class OwnReductions final : public Reductions {
 public:
  explicit OwnReductions(CudaContext& context) : memory_(context) {}
  const CudaReductions& memory() const { return memory_; }

 private:
  CudaReductions memory_;
};

class CudaBackend final : public BackendImpl {
 public:
  template <class... Arguments>
  explicit CudaBackend(Arguments&&... arguments)
      : context_(std::forward<Arguments>(arguments)...),
        partition_(context_),
        s_(context_),
        d_(context_),
        c_(context_),
        z_(context_) {}

  BackendKind kind() const override { return BackendKind::cuda; }
  MemorySpace space() const override { return MemorySpace::device; }
  std::string description() const override;
  CUstream_st* stream() const override { return context_.stream(); }
  void set_stream(CUstream_st* stream) override { context_.set_stream(stream); }
  int threads() const override { return 1; }
  void synchronize() override { context_.synchronize(); }

  void* allocate(std::size_t bytes) override { return context_.allocate(bytes); }
  void deallocate(void* pointer, std::size_t bytes) noexcept override { context_.deallocate(pointer, bytes); }
  void copy_from_host(void* destination, const void* source, std::size_t bytes) override {
    transfer(destination, source, bytes, cudaMemcpyHostToDevice);
    // why: a pinned source is still being read when the call returns, and a pageable one may be as well.
    context_.synchronize();
  }
  void copy_to_host(void* destination, const void* source, std::size_t bytes) override {
    context_.read(destination, source, bytes);
  }
  void copy(void* destination, const void* source, std::size_t bytes) override {
    transfer(destination, source, bytes, cudaMemcpyDeviceToDevice);
  }
  void zero(void* destination, std::size_t bytes) override { context_.zero(destination, bytes); }
  void set(void* destination, const void* source, std::size_t bytes) override {
    const DeviceGuard guard(context_.device());
    kernels::set_words(destination, source, bytes, context_.stream());
  }

  std::unique_ptr<Recording> record(std::function<void()> body, bool capturable) override {
    return make_cuda_recording(context_, std::move(body), capturable);
  }

  std::unique_ptr<Reductions> make_reductions() override { return std::make_unique<OwnReductions>(context_); }
  void use_reductions(const Reductions* reductions) override {
    context_.use(reductions != nullptr ? &static_cast<const OwnReductions*>(reductions)->memory() : nullptr);
  }

  void require_no_error(const char* function) override {
    const cudaError_t earlier = cudaPeekAtLastError();
    if (earlier == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());
    if (earlier == cudaErrorNotReady) return;  // the answer to a query, no failure
    check(earlier, (std::string("a CUDA call before ") + function).c_str());
  }

  std::unique_ptr<Snapshots> snapshots(const void* source, std::size_t bytes) override {
    return make_cuda_snapshots(context_, source, bytes);
  }

  PartitionOps& partition_ops() override { return partition_; }
  BlockOps<float>& block_ops(float) override { return s_.block; }
  BlockOps<double>& block_ops(double) override { return d_.block; }
  BlockOps<std::complex<float>>& block_ops(std::complex<float>) override { return c_.block; }
  BlockOps<std::complex<double>>& block_ops(std::complex<double>) override { return z_.block; }
  StorageOps<float>& storage_ops(float) override { return s_.storage; }
  StorageOps<double>& storage_ops(double) override { return d_.storage; }
  StorageOps<std::complex<float>>& storage_ops(std::complex<float>) override { return c_.storage; }
  StorageOps<std::complex<double>>& storage_ops(std::complex<double>) override { return z_.storage; }
  BatchedOps<float>& batched_ops(float) override { return s_.batched; }
  BatchedOps<double>& batched_ops(double) override { return d_.batched; }
  BatchedOps<std::complex<float>>& batched_ops(std::complex<float>) override { return c_.batched; }
  BatchedOps<std::complex<double>>& batched_ops(std::complex<double>) override { return z_.batched; }
  KrylovOps<float>& krylov_ops(float) override { return s_.krylov; }
  KrylovOps<double>& krylov_ops(double) override { return d_.krylov; }
  KrylovOps<std::complex<float>>& krylov_ops(std::complex<float>) override { return c_.krylov; }
  KrylovOps<std::complex<double>>& krylov_ops(std::complex<double>) override { return z_.krylov; }
  CoarseOps<float>& coarse_ops(float) override { return s_.coarse; }
  CoarseOps<double>& coarse_ops(double) override { return d_.coarse; }
  CoarseOps<std::complex<float>>& coarse_ops(std::complex<float>) override { return c_.coarse; }
  CoarseOps<std::complex<double>>& coarse_ops(std::complex<double>) override { return z_.coarse; }

 private:
  void transfer(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    const DeviceGuard guard(context_.device());
    check(cudaMemcpyAsync(destination, source, bytes, kind, context_.stream()), "cudaMemcpyAsync");
  }

  CudaContext context_;
  CudaPartitionOps partition_;
  CudaOps<float> s_;
  CudaOps<double> d_;
  CudaOps<std::complex<float>> c_;
  CudaOps<std::complex<double>> z_;
};

std::string CudaBackend::description() const {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, context_.device()), "cudaGetDeviceProperties");
  return detail::message("cuda {}, {}", context_.device(), properties.name);
}

std::string reason(cudaError_t status) {
  return detail::message("{} ({})", cudaGetErrorName(status), cudaGetErrorString(status));
}

cudaError_t count_devices(int& count) {
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
  return status;
}

/// Whether the device runs the kernels of this build; makes its context.
cudaError_t try_device(int device) {
  const DeviceGuard guard(device);
  return static_cast<cudaError_t>(kernels::device_status());
}

DeviceName device_name(int device) {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) return {device, "", 0, 0};
  return {device, properties.name, properties.major, properties.minor};
}

void require_device(int device) {
  int count = 0;
  const cudaError_t status = count_devices(count);
  if (status != cudaSuccess)
    throw BackendUnavailable(detail::message("Backend::cuda: no CUDA device can be used: {}", reason(status)));
  if (device < 0 || device >= count)
    throw BackendUnavailable(detail::message("Backend::cuda: device {} does not exist, there {} {}", device,
                                             count == 1 ? "is" : "are", count));
  const cudaError_t usable = try_device(device);
  if (usable != cudaSuccess)
    throw BackendUnavailable(unusable_device(device_name(device), BLOCKJACOBI_CUDA_ARCHITECTURES,
                                             usable == cudaErrorNoKernelImageForDevice, reason(usable)));
}

}  // namespace

std::shared_ptr<BackendImpl> make_cuda_backend(int device) {
  require_device(device);
  return std::make_shared<CudaBackend>(device);
}

std::shared_ptr<BackendImpl> make_cuda_backend(int device, CUstream_st* stream,
                                               std::shared_ptr<MemoryResource> resource) {
  require_device(device);
  return std::make_shared<CudaBackend>(device, stream, std::move(resource));
}

std::optional<int> usable_cuda_device() noexcept {
  int count = 0;
  if (count_devices(count) != cudaSuccess) return std::nullopt;
  for (int device = 0; device < count; ++device) {
    try {
      if (try_device(device) == cudaSuccess) return device;
    } catch (const CudaError&) {
      continue;  // cannot be made current, so it cannot be used
    }
  }
  return std::nullopt;
}

}  // namespace blockjacobi::detail
