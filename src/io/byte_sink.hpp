#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

namespace blockjacobi::detail {

/// A file that is being written.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  /// Throws Error with path and reason.
  virtual void write(const char* data, std::size_t size) = 0;
  /// Brings everything to the file and closes it; nothing may follow. Throws as write(). A sink destroyed without
  /// close() leaves an incomplete file.
  virtual void close() = 0;
};

/// Creates or replaces a file; one whose name ends in .gz is compressed. Throws Error with path and reason.
std::unique_ptr<ByteSink> open_byte_sink(const std::filesystem::path& path);

}  // namespace blockjacobi::detail
