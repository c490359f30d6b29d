#pragma once

#include "io/byte_sink.hpp"

#include <charconv>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

namespace blockjacobi::detail {

/// Collects text for a ByteSink. Numbers get the fewest digits that read back to the same bits. Throws as the sink.
class TextWriter {
 public:
  explicit TextWriter(const std::filesystem::path& path) : sink_(open_byte_sink(path)), buffer_(capacity) {}

  void put(std::string_view text) {
    flush();
    sink_->write(text.data(), text.size());
  }

  /// A line of numbers with spaces between them.
  template <class... Numbers>
  void put_line(Numbers... numbers) {
    constexpr std::size_t longest_number = 32;
    if (capacity - size_ < sizeof...(numbers) * longest_number) flush();
    char* position = buffer_.data() + size_;
    const auto append = [&position](auto number) {
      position = std::to_chars(position, position + longest_number - 1, number).ptr;
      *position++ = ' ';
    };
    (append(numbers), ...);
    position[-1] = '\n';
    size_ = static_cast<std::size_t>(position - buffer_.data());
  }

  void close() {
    flush();
    sink_->close();
  }

 private:
  static constexpr std::size_t capacity = std::size_t{1} << 18;

  void flush() {
    if (size_ > 0) sink_->write(buffer_.data(), size_);
    size_ = 0;
  }

  std::unique_ptr<ByteSink> sink_;
  std::vector<char> buffer_;
  std::size_t size_ = 0;
};

}  // namespace blockjacobi::detail
