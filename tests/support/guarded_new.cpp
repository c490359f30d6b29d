// Host arrays of the library, which are all that is allocated with an alignment, end where memory ends: a program that
// reads or writes behind one stops. AddressSanitizer does not see what the vectorizer of the compiler reads too much.

#include "support/sanitized.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>

#if !defined(BLOCKJACOBI_TEST_ADDRESS_SANITIZER)

namespace {

/// The largest alignment that an element needs; the arrays have no more here.
constexpr std::size_t element = 8;

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

/// What stands in the page before the array.
struct Mapping {
  void* begin;
  std::size_t bytes;
};

/// Of the page that begins in front of the page of `pointer`.
Mapping& mapping_of(void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return *reinterpret_cast<Mapping*>(address / page_size() * page_size() - page_size());
}

}  // namespace

void* operator new(std::size_t bytes, std::align_val_t) {
  const std::size_t page = page_size();
  const std::size_t rounded = (bytes + element - 1) / element * element;
  const std::size_t pages = (rounded + page) / page;
  const std::size_t mapped = (pages + 2) * page;
  void* const begin = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) throw std::bad_alloc();
  auto* const guard = static_cast<std::byte*>(begin) + (pages + 1) * page;
  if (mprotect(guard, page, PROT_NONE) != 0) throw std::bad_alloc();
  void* const pointer = guard - rounded;
  mapping_of(pointer) = {begin, mapped};
  return pointer;
}

void operator delete(void* pointer, std::align_val_t) noexcept {
  if (pointer == nullptr) return;
  const Mapping mapping = mapping_of(pointer);
  munmap(mapping.begin, mapping.bytes);
}
void operator delete(void* pointer, std::size_t, std::align_val_t alignment) noexcept {
  operator delete(pointer, alignment);
}

#endif
