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

  void put(char c) {
    make_room(1);
    buffer_[size_++] = c;
  }

  void put(std::string_view text) {
    flush();
    sink_->write(text.data(), text.size());
  }

  template <class Number>
  void put_number(Number value) {
    constexpr std::size_t longest_number = 32;
    make_room(longest_number);
    char* start = buffer_.data() + size_;
    size_ = static_cast<std::size_t>(std::to_chars(start, start + longest_number, value).ptr - buffer_.data());
  }

  void close() {
    flush();
    sink_->close();
  }

 private:
  static constexpr std::size_t capacity = std::size_t{1} << 18;

  void make_room(std::size_t bytes) {
    if (capacity - size_ < bytes) flush();
  }

  void flush() {
    if (size_ > 0) sink_->write(buffer_.data(), size_);
    size_ = 0;
  }

  std::unique_ptr<ByteSink> sink_;
  std::vector<char> buffer_;
  std::size_t size_ = 0;
};

}  // namespace blockjacobi::detail
