#pragma once

#include "backend/backend_impl.hpp"

#include <driver_types.h>

#include <cstddef>
#include <memory>

namespace blockjacobi::detail {

class CudaContext;

/// Pinned memory for copies under way and the events that say when they have arrived. Made once and used by one solve
/// after the other: to allocate it takes longer than many a solve.
class PinnedSlots {
 public:
  static constexpr int count = 2;

  explicit PinnedSlots(std::size_t bytes);
  ~PinnedSlots();
  PinnedSlots(const PinnedSlots&) = delete;
  PinnedSlots& operator=(const PinnedSlots&) = delete;

  std::size_t bytes() const { return bytes_; }
  std::byte* data(int slot) const { return data_ + static_cast<std::size_t>(slot) * bytes_; }
  cudaEvent_t arrived(int slot) const { return arrived_[slot]; }

 private:
  void release() noexcept;

  std::size_t bytes_;
  std::byte* data_ = nullptr;
  cudaEvent_t arrived_[count] = {};
};

std::unique_ptr<Snapshots> make_cuda_snapshots(CudaContext& context, const void* source, std::size_t bytes);

}  // namespace blockjacobi::detail
