#pragma once

#include <cstddef>

struct CUstream_st;

namespace blockjacobi {

/// Where the memory behind a view lies. Every view states it; nothing guesses it from the pointer.
enum class MemorySpace { host, device };

constexpr const char* to_string(MemorySpace space) noexcept { return space == MemorySpace::host ? "host" : "device"; }

/// User's allocator for device memory. A CUDA Backend calls it at construction of objects and for the workspace that
/// batched.hpp names, never in refresh, apply or solver steps. Calls come from the thread that uses the backend.
class MemoryResource {
 public:
  virtual ~MemoryResource() = default;

  /// Returns at least `bytes` bytes, aligned to 256 bytes, usable in stream order on `stream`; throws on failure.
  virtual void* allocate(std::size_t bytes, CUstream_st* stream) = 0;

  /// Takes back what allocate() returned; called with the same `bytes` and stream.
  virtual void deallocate(void* pointer, std::size_t bytes, CUstream_st* stream) noexcept = 0;
};

}  // namespace blockjacobi
