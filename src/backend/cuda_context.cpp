#include "backend/cuda_context.hpp"

#include "backend/cuda_check.hpp"

#include <cstring>
#include <utility>

namespace blockjacobi::detail {

namespace {

CUstream_st* make_stream(int device) {
  const DeviceGuard guard(device);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return stream;
}

int attribute(cudaDeviceAttr name, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, name, device), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace

DeviceGuard::DeviceGuard(int device) {
  check(cudaGetDevice(&previous_), "cudaGetDevice");
  changed_ = previous_ != device;
  if (changed_) check(cudaSetDevice(device), "cudaSetDevice");
}

DeviceGuard::~DeviceGuard() {
  if (changed_) forget(cudaSetDevice(previous_));
}

CudaContext::CudaContext(int device) : CudaContext(device, make_stream(device), true, nullptr) {}

CudaContext::CudaContext(int device, CUstream_st* stream, std::shared_ptr<MemoryResource> resource)
    : CudaContext(device, stream, false, std::move(resource)) {}

CudaContext::CudaContext(int device, CUstream_st* stream, bool owns_stream, std::shared_ptr<MemoryResource> resource)
    : device_(device), stream_(stream), own_stream_(owns_stream ? stream : nullptr), resource_(std::move(resource)) {
  try {
    const DeviceGuard guard(device_);
    if (resource_ == nullptr) pool_ = CudaMemoryPool::of(device_);
    multiprocessors_ = attribute(cudaDevAttrMultiProcessorCount, device_);
    second_level_bytes_ = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize, device_));
    reductions_ = std::make_unique<CudaReductions>(*this);
  } catch (...) {
    release();
    throw;
  }
}

CudaContext::~CudaContext() { release(); }

void CudaContext::release() noexcept {
  // Failures are of no consequence here: at the end of the process the driver may be gone already.
  const ForgetErrors those_of_libraries;
  try {
    const DeviceGuard guard(device_);
    free_slots_.reset();
    few_bytes_.reset();
    reductions_.reset();
    if (cusparse_ != nullptr) static_cast<void>(cusparseDestroy(cusparse_));
    if (cusolver_ != nullptr) static_cast<void>(cusolverDnDestroy(cusolver_));
    pool_.reset();
    if (own_stream_ != nullptr) forget(cudaStreamDestroy(own_stream_));
  } catch (const CudaError&) {
  }
}

const kernels::ReductionWorkspace& CudaContext::reductions() const noexcept {
  return (in_use_ != nullptr ? in_use_ : reductions_.get())->view();
}

cusparseHandle_t CudaContext::cusparse() {
  if (cusparse_ != nullptr) return cusparse_;
  const DeviceGuard guard(device_);
  cusparseHandle_t handle = nullptr;
  check(cusparseCreate(&handle), "cusparseCreate");
  cusparse_ = handle;
  check(cusparseSetStream(cusparse_, stream_), "cusparseSetStream");
  return cusparse_;
}

cusolverDnHandle_t CudaContext::cusolver() {
  if (cusolver_ != nullptr) return cusolver_;
  const DeviceGuard guard(device_);
  cusolverDnHandle_t handle = nullptr;
  check(cusolverDnCreate(&handle), "cusolverDnCreate");
  cusolver_ = handle;
  check(cusolverDnSetStream(cusolver_, stream_), "cusolverDnSetStream");
  return cusolver_;
}

void CudaContext::set_stream(CUstream_st* stream) {
  if (cusparse_ != nullptr) check(cusparseSetStream(cusparse_, stream), "cusparseSetStream");
  if (cusolver_ != nullptr) check(cusolverDnSetStream(cusolver_, stream), "cusolverDnSetStream");
  stream_ = stream;
}

std::unique_ptr<PinnedSlots> CudaContext::borrow_slots(std::size_t bytes) {
  if (free_slots_ != nullptr && free_slots_->bytes() >= bytes) return std::move(free_slots_);
  const DeviceGuard guard(device_);
  return std::make_unique<PinnedSlots>(bytes);
}

void CudaContext::return_slots(std::unique_ptr<PinnedSlots> slots) noexcept { free_slots_ = std::move(slots); }

void* CudaContext::allocate(std::size_t bytes) {
  const DeviceGuard guard(device_);
  if (resource_ != nullptr) return resource_->allocate(bytes, stream_);
  void* pointer = nullptr;
  const std::string call = "allocation of " + std::to_string(bytes) + " bytes by ";
  if (pool_ != nullptr)
    check(cudaMallocFromPoolAsync(&pointer, bytes, pool_->get(), stream_), (call + "cudaMallocFromPoolAsync").c_str());
  else
    check(cudaMalloc(&pointer, bytes), (call + "cudaMalloc").c_str());
  return pointer;
}

void CudaContext::deallocate(void* pointer, std::size_t bytes) noexcept {
  if (resource_ != nullptr) {
    const ForgetErrors those_of_the_user;
    resource_->deallocate(pointer, bytes, stream_);
    return;
  }
  try {
    const DeviceGuard guard(device_);
    forget(pool_ != nullptr ? cudaFreeAsync(pointer, stream_) : cudaFree(pointer));
  } catch (const CudaError&) {
  }
}

void CudaContext::zero(void* destination, std::size_t bytes) {
  if (bytes == 0) return;
  const DeviceGuard guard(device_);
  check(cudaMemsetAsync(destination, 0, bytes, stream_), "cudaMemsetAsync");
}

void CudaContext::read(void* destination, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  constexpr std::size_t few = 8 << 10;
  const DeviceGuard guard(device_);
  if (bytes > few) {
    check(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync");
    return synchronize();
  }
  if (few_bytes_ == nullptr) few_bytes_ = std::make_unique<PinnedSlots>(few);
  check(cudaMemcpyAsync(few_bytes_->data(0), source, bytes, cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync");
  synchronize();
  std::memcpy(destination, few_bytes_->data(0), bytes);
}

void CudaContext::synchronize() {
  const DeviceGuard guard(device_);
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

CudaMemory::CudaMemory(CudaContext& context, std::size_t bytes)
    : context_(&context), data_(bytes > 0 ? context.allocate(bytes) : nullptr), bytes_(bytes) {}

CudaMemory::~CudaMemory() {
  if (data_ != nullptr) context_->deallocate(data_, bytes_);
}

CudaMemory::CudaMemory(CudaMemory&& other) noexcept
    : context_(other.context_), data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

CudaMemory& CudaMemory::operator=(CudaMemory&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

CudaReductions::CudaReductions(CudaContext& context)
    : partials_(context, kernels::reduction_bytes().partials),
      tickets_(context, kernels::reduction_bytes().tickets),
      exchange_(context, kernels::exchange_bytes()),
      view_{static_cast<double*>(partials_.data()), static_cast<unsigned int*>(tickets_.data()), exchange_.data()} {
  context.zero(tickets_.data(), kernels::reduction_bytes().tickets);
  context.zero(exchange_.data(), kernels::exchange_bytes());
}

}  // namespace blockjacobi::detail
