#pragma once

#include <blockjacobi/backend.hpp>
#include <blockjacobi/error.hpp>
#include <blockjacobi/views.hpp>

#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace blockjacobi {

namespace detail {

/// Untyped memory of a backend, freed with it; none once it was moved from.
class BLOCKJACOBI_EXPORT Buffer {
 public:
  Buffer(Backend backend, std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  void* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  const Backend& backend() const noexcept { return backend_; }
  void copy_from_host(const void* source, std::size_t bytes);
  void copy_to_host(void* destination, std::size_t bytes) const;
  void zero();

 private:
  Backend backend_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace detail

/// Owning array in a backend's memory. Copying is explicit (copy_from_host, to_host) because it may synchronize. One
/// that was moved from has no elements.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// `size` elements, uninitialized. Throws InvalidArgument if their bytes cannot be counted; where there is no memory
  /// for them std::bad_alloc on the host, on CUDA CudaError or what the MemoryResource of the backend throws.
  Array(Backend backend, std::size_t size) : buffer_(std::move(backend), bytes_of(size)) {}

  /// Copies the vector to the backend; the vector may be changed at once.
  Array(Backend backend, const std::vector<T>& host) : Array(std::move(backend), host.size()) {
    copy_from_host(host.data());
  }

  T* data() const noexcept { return static_cast<T*>(buffer_.data()); }
  std::size_t size() const noexcept { return bytes() / sizeof(T); }
  std::size_t bytes() const noexcept { return buffer_.bytes(); }
  const Backend& backend() const noexcept { return buffer_.backend(); }

  /// Copies size() elements; the source may be changed when the call returns.
  void copy_from_host(const T* source) { buffer_.copy_from_host(source, bytes()); }

  /// Copies size() elements and waits for them.
  void copy_to_host(T* destination) const { buffer_.copy_to_host(destination, bytes()); }

  /// Waits for everything enqueued before it.
  std::vector<T> to_host() const {
    std::vector<T> host(size());
    copy_to_host(host.data());
    return host;
  }

  /// All bytes zero; enqueued.
  void zero() { buffer_.zero(); }

  /// Throws InvalidArgument if size() does not fit in index_t.
  VectorView<T> view() { return {data(), view_size(), backend().memory_space()}; }
  VectorView<const T> view() const { return {data(), view_size(), backend().memory_space()}; }

 private:
  static std::size_t bytes_of(std::size_t size) {
    if (size > std::numeric_limits<std::size_t>::max() / sizeof(T))
      throw InvalidArgument("Array: " + std::to_string(size) + " elements exceed the address space");
    return size * sizeof(T);
  }
  index_t view_size() const {
    if (size() > static_cast<std::size_t>(std::numeric_limits<index_t>::max()))
      throw InvalidArgument("Array::view: " + std::to_string(size()) + " elements exceed a 32-bit vector view");
    return static_cast<index_t>(size());
  }
  detail::Buffer buffer_;
};

}  // namespace blockjacobi
