#pragma once

#include <blockjacobi/memory.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <new>
#include <vector>

namespace blockjacobi::test {

/// Counts what it hands out, as long as it is not full. It can be made to fail once.
class CountingResource final : public MemoryResource {
 public:
  void* allocate(std::size_t bytes, CUstream_st* stream) override {
    // The counter goes on below zero: only the allocation that takes it from 0 fails.
    if (left_ >= 0 && left_-- == 0) {
      has_failed_ = true;
      throw std::bad_alloc();
    }
    sizes.push_back(bytes);  // which may fail, too
    void* pointer = nullptr;
    if (is_full || cudaMallocAsync(&pointer, bytes, stream) != cudaSuccess) {
      sizes.pop_back();
      throw std::bad_alloc();
    }
    ++calls;
    live += bytes;
    return pointer;
  }
  void deallocate(void* pointer, std::size_t bytes, CUstream_st* stream) noexcept override {
    static_cast<void>(cudaFreeAsync(pointer, stream));
    live -= bytes;
  }
  /// How often so many bytes were asked for.
  int blocks_of(std::size_t bytes) const { return static_cast<int>(std::ranges::count(sizes, bytes)); }

  /// The allocation after the next `allocations` ones fails.
  void fail_after(long allocations) {
    left_ = allocations;
    has_failed_ = false;
  }
  /// From here on none fails; whether one did since fail_after().
  bool stop_failing() {
    left_ = never;
    return has_failed_;
  }

  bool is_full = false;
  int calls = 0;
  std::size_t live = 0;
  std::vector<std::size_t> sizes;

 private:
  static constexpr long never = -1;
  long left_ = never;
  bool has_failed_ = false;
};

}  // namespace blockjacobi::test
