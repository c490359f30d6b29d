#include "backend/cuda_snapshots.hpp"

#include "backend/cuda_check.hpp"
#include "backend/cuda_context.hpp"

#include <cuda_runtime_api.h>

#include <string>
#include <utility>

namespace blockjacobi::detail {

PinnedSlots::PinnedSlots(std::size_t bytes) : bytes_(bytes) {
  try {
    void* memory = nullptr;
    check(cudaMallocHost(&memory, count * bytes),
          ("allocation of " + std::to_string(count * bytes) + " bytes by cudaMallocHost").c_str());
    data_ = static_cast<std::byte*>(memory);
    for (cudaEvent_t& event : arrived_)
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  } catch (...) {
    release();
    throw;
  }
}

PinnedSlots::~PinnedSlots() { release(); }

void PinnedSlots::release() noexcept {
  for (const cudaEvent_t event : arrived_)
    if (event != nullptr) forget(cudaEventDestroy(event));
  if (data_ != nullptr) forget(cudaFreeHost(data_));
}

namespace {

class CudaSnapshots final : public Snapshots {
 public:
  CudaSnapshots(CudaContext& context, const void* source, std::size_t bytes)
      : context_(context), source_(source), bytes_(bytes), slots_(context.borrow_slots(bytes)) {}
  /// Nothing may still be on its way to memory that somebody else gets.
  ~CudaSnapshots() override {
    while (taken_ > read_) forget(cudaEventSynchronize(slots_->arrived(read_++ % PinnedSlots::count)));
    context_.return_slots(std::move(slots_));
  }

  int depth() const override { return PinnedSlots::count; }
  int under_way() const override { return taken_ - read_; }

  void take() override {
    const DeviceGuard guard(context_.device());
    const int slot = taken_ % PinnedSlots::count;
    check(cudaMemcpyAsync(slots_->data(slot), source_, bytes_, cudaMemcpyDeviceToHost, context_.stream()),
          "cudaMemcpyAsync(snapshot)");
    check(cudaEventRecord(slots_->arrived(slot), context_.stream()), "cudaEventRecord");
    ++taken_;
  }

  const void* next() override {
    const DeviceGuard guard(context_.device());
    const int slot = read_++ % PinnedSlots::count;
    check(cudaEventSynchronize(slots_->arrived(slot)), "cudaEventSynchronize");
    return slots_->data(slot);
  }

 private:
  CudaContext& context_;
  const void* source_;
  std::size_t bytes_;
  std::unique_ptr<PinnedSlots> slots_;
  int taken_ = 0, read_ = 0;
};

}  // namespace

std::unique_ptr<Snapshots> make_cuda_snapshots(CudaContext& context, const void* source, std::size_t bytes) {
  return std::make_unique<CudaSnapshots>(context, source, bytes);
}

}  // namespace blockjacobi::detail
