#pragma once

#include "io/line_reader.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace blockjacobi::detail {

/// Reads the blank-separated fields of a file's lines; everything it does not expect becomes a ParseError with the
/// line and the text.
class FieldReader {
 public:
  explicit FieldReader(const std::filesystem::path& path) : lines_(path) {}

  const LineReader& lines() const noexcept { return lines_; }
  LineReader& lines() noexcept { return lines_; }

  /// Goes to the next line, whatever it holds; false at the end of the file.
  bool next_line();
  /// Goes to the next line that is neither blank nor a comment; false at the end of the file.
  bool next_data_line();

  /// True if no field is left on the line.
  bool at_line_end() noexcept;
  /// True if the next field begins a comment; a field must be left.
  bool at_comment() const noexcept { return *next_ == '%'; }
  /// The next field; `what` names it in messages, here and below.
  std::string_view word(const char* what);
  /// A whole number in first..last.
  std::int64_t index(const char* what, std::int64_t first, std::int64_t last);
  /// A floating-point number, rounded correctly to R.
  template <class R>
  R real();
  /// A number without fraction and exponent, rounded correctly to R.
  template <class R>
  R integer();
  /// Requires that no field is left on the line.
  void end_line();

 private:
  static bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }
  bool ends_field(const char* p) const noexcept { return p == end_ || is_blank(*p); }
  const char* require_field(const char* what);
  /// The number behind a leading '+', which std::from_chars does not take.
  const char* without_plus(const char* start) const noexcept {
    return *start == '+' && start + 1 != end_ && start[1] != '-' ? start + 1 : start;
  }
  template <class R>
  R unusual_real(const char* start);
  template <class R>
  R unusual_integer(const char* start);
  std::string_view field_at(const char* start) noexcept;

  LineReader lines_;
  const char* next_ = nullptr;
  const char* end_ = nullptr;
  std::string scratch_;
};

template <class R>
R FieldReader::real() {
  const char* start = require_field("value");
  R value;
  const auto [stop, error] = std::from_chars(without_plus(start), end_, value);
  if (error != std::errc{} || !ends_field(stop) || !std::isfinite(value)) return unusual_real<R>(start);
  next_ = stop;
  return value;
}

template <class R>
R FieldReader::integer() {
  const char* start = require_field("value");
  std::int64_t value;
  const auto [stop, error] = std::from_chars(without_plus(start), end_, value);
  if (error != std::errc{} || !ends_field(stop)) return unusual_integer<R>(start);
  next_ = stop;
  return static_cast<R>(value);
}

}  // namespace blockjacobi::detail
