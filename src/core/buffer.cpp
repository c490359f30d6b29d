#include "backend/backend_impl.hpp"

#include <blockjacobi/array.hpp>

#include <utility>

namespace blockjacobi::detail {

Buffer::Buffer(Backend backend, std::size_t bytes) : backend_(std::move(backend)), bytes_(bytes) {
  if (bytes_ > 0) data_ = backend_.impl().allocate(bytes_);
}

Buffer::~Buffer() {
  if (data_ != nullptr) backend_.impl().deallocate(data_, bytes_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : backend_(other.backend_), data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer taken(std::move(other));
  std::swap(backend_, taken.backend_);
  std::swap(data_, taken.data_);
  std::swap(bytes_, taken.bytes_);
  return *this;
}

void Buffer::copy_from_host(const void* source, std::size_t bytes) {
  if (bytes > 0) backend_.impl().copy_from_host(data_, source, bytes);
}

void Buffer::copy_to_host(void* destination, std::size_t bytes) const {
  if (bytes > 0) backend_.impl().copy_to_host(destination, data_, bytes);
}

void Buffer::zero() {
  if (bytes_ > 0) backend_.impl().zero(data_, bytes_);
}

}  // namespace blockjacobi::detail
