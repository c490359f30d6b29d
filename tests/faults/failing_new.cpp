#include "faults/failing_new.hpp"

#include "faults/countdown.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constinit blockjacobi::test::Countdown countdown;
std::atomic<long> live_allocations = 0;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (countdown.ends_here()) throw std::bad_alloc();
  void* const pointer =
      std::aligned_alloc(alignment, std::max(alignment, (bytes + alignment - 1) / alignment * alignment));
  if (pointer == nullptr) throw std::bad_alloc();
  ++live_allocations;
  return pointer;
}

void release(void* pointer) {
  if (pointer == nullptr) return;
  --live_allocations;
  std::free(pointer);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t a) { return allocate(bytes, static_cast<std::size_t>(a)); }
// As that of the standard library, which AddressSanitizer would replace by one that does not go with the rest.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* pointer) noexcept { release(pointer); }
void operator delete(void* pointer, const std::nothrow_t&) noexcept { release(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { release(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { release(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { release(pointer); }

namespace blockjacobi::test {

FailingNew::FailingNew(long allocations) { countdown.start(allocations); }
FailingNew::~FailingNew() { countdown.stop(); }
bool FailingNew::stop() { return countdown.stop(); }
long FailingNew::live() { return live_allocations; }

}  // namespace blockjacobi::test
