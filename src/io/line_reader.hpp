#pragma once

#include "io/byte_source.hpp"

#include <blockjacobi/types.hpp>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace blockjacobi::detail {

/// Hands out the lines of a text file one by one, without copying them, and knows where it is.
class LineReader {
 public:
  /// Throws ParseError with line 0 if the file cannot be opened.
  explicit LineReader(const std::filesystem::path& path);

  /// Goes to the next line; false at the end of the file. Throws ParseError for a line longer than a mebibyte, and at
  /// the line that needs bytes which cannot be read or unpacked; files are read a mebibyte ahead.
  bool next();

  /// From now on next() throws ParseError at the line for which more than so many bytes of a packed file, counted from
  /// its beginning, are unpacked.
  void limit_packed_text(std::uintmax_t bytes) noexcept { text_limit_ = bytes; }

  /// The current line without LF or CR LF, valid until next().
  std::string_view line() const noexcept { return line_; }
  /// Of the current line, 1-based; 0 before the first next().
  offset_t number() const noexcept { return number_; }

  /// Throws ParseError at the current line.
  [[noreturn]] void fail(const std::string& message) const { fail_at(number_ > 0 ? number_ : 1, message); }
  [[noreturn]] void fail_at(offset_t line, const std::string& message) const;

 private:
  void refill();

  std::string path_;
  bool packed_;
  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  ///< of what is not yet handed out
  std::size_t end_ = 0;    ///< of what was read
  bool exhausted_ = false;
  std::uintmax_t text_ = 0;  ///< bytes read
  std::uintmax_t text_limit_ = std::numeric_limits<std::uintmax_t>::max();
  std::string_view line_;
  offset_t number_ = 0;
};

/// The text as it may stand in a message: in quotes, shortened, without control characters.
std::string quoted(std::string_view text);

}  // namespace blockjacobi::detail
