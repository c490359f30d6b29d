#pragma once

#include <blockjacobi/memory.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <new>
#include <vector>

namespace blockjacobi::test {

/// Counts what it hands out, as long as it is not full.
class CountingResource final : public MemoryResource {
 public:
  void* allocate(std::size_t bytes, CUstream_st* stream) override {
    void* pointer = nullptr;
    if (is_full || cudaMallocAsync(&pointer, bytes, stream) != cudaSuccess) throw std::bad_alloc();
    ++calls;
    sizes.push_back(bytes);
    live += bytes;
    return pointer;
  }
  void deallocate(void* pointer, std::size_t bytes, CUstream_st* stream) noexcept override {
    static_cast<void>(cudaFreeAsync(pointer, stream));
    live -= bytes;
  }
  /// How often so many bytes were asked for.
  int blocks_of(std::size_t bytes) const { return static_cast<int>(std::ranges::count(sizes, bytes)); }

  bool is_full = false;
  int calls = 0;
  std::size_t live = 0;
  std::vector<std::size_t> sizes;
};

}  // namespace blockjacobi::test
