#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

namespace blockjacobi::detail {

/// The bytes of a file from its beginning to its end.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Reads between 1 and `size` bytes; returns 0 at the end only. Throws Error that says what is wrong, without the
  /// path.
  virtual std::size_t read(char* destination, std::size_t size) = 0;
};

/// Opens a file; one whose name ends in .gz is unpacked and its checksums are verified. Throws as read().
std::unique_ptr<ByteSource> open_byte_source(const std::filesystem::path& path);

}  // namespace blockjacobi::detail
