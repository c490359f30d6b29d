#include "io/field_reader.hpp"

#include "core/message.hpp"

#include <algorithm>
#include <cctype>

namespace blockjacobi::detail {

namespace {

/// std::from_chars reports overflow and underflow alike. A number out of range is too small, not too large, if the
/// decimal exponent of its leading digit is negative. `text` is a well-formed number.
bool is_tiny(std::string_view text) {
  const std::size_t exponent_at = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, exponent_at);
  const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  const auto lead = static_cast<std::int64_t>(mantissa.find_first_of("123456789"));
  const std::int64_t scale = lead < point ? point - lead - 1 : point - lead;
  if (exponent_at == text.size()) return scale < 0;

  const std::string_view exponent = text.substr(exponent_at + 1);
  const bool negative = exponent.front() == '-';
  const bool has_sign = negative || exponent.front() == '+';
  constexpr std::int64_t huge = std::int64_t{1} << 60;
  std::int64_t power = 0;
  const auto parsed = std::from_chars(exponent.data() + (has_sign ? 1 : 0), exponent.data() + exponent.size(), power);
  power = parsed.ec == std::errc{} ? std::min(power, huge) : huge;
  return scale + (negative ? -power : power) < 0;
}

template <class R>
const char* precision_name() {
  return std::is_same_v<R, float> ? "single" : "double";
}

}  // namespace

bool FieldReader::next_line() {
  if (!lines_.next()) return false;
  next_ = lines_.line().data();
  end_ = next_ + lines_.line().size();
  return true;
}

bool FieldReader::next_data_line() {
  while (next_line())
    if (!at_line_end() && !at_comment()) return true;
  return false;
}

bool FieldReader::at_line_end() noexcept {
  while (next_ != end_ && is_blank(*next_)) ++next_;
  return next_ == end_;
}

const char* FieldReader::require_field(const char* what) {
  if (at_line_end()) lines_.fail(detail::message("expected a {} behind {}", what, quoted(lines_.line())));
  return next_;
}

std::string_view FieldReader::field_at(const char* start) noexcept {
  return {start, static_cast<std::size_t>(std::find_if(start, end_, is_blank) - start)};
}

std::string_view FieldReader::word(const char* what) {
  const std::string_view field = field_at(require_field(what));
  next_ += field.size();
  return field;
}

std::int64_t FieldReader::index(const char* what, std::int64_t first, std::int64_t last) {
  const char* start = require_field(what);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(without_plus(start), end_, value);
  if (error == std::errc::invalid_argument || !ends_field(stop))
    lines_.fail(detail::message("{} is not a {}", quoted(field_at(start)), what));
  if (error != std::errc{} || value < first || value > last)
    lines_.fail(detail::message("{} {} is outside {}..{}", what, quoted(field_at(start)), first, last));
  next_ = stop;
  return value;
}

/// Everything std::from_chars does not take as it stands: Fortran's D exponents, underflow, and errors.
template <class R>
R FieldReader::unusual_real(const char* start) {
  const std::string_view field = field_at(start);
  scratch_.assign(without_plus(start), field.data() + field.size());
  if (const std::size_t d = scratch_.find_first_of("dD"); d != std::string::npos) scratch_[d] = 'e';

  R value = 0;
  const char* end = scratch_.data() + scratch_.size();
  const auto [stop, error] = std::from_chars(scratch_.data(), end, value);
  if (error == std::errc::invalid_argument || stop != end)
    lines_.fail(detail::message("{} is not a number", quoted(field)));
  if (std::isalpha(static_cast<unsigned char>(scratch_[scratch_.front() == '-' ? 1 : 0])) != 0)
    lines_.fail(detail::message("{} is not a finite number", quoted(field)));
  if (error == std::errc::result_out_of_range && is_tiny(scratch_)) {
    value = scratch_.front() == '-' ? -R(0) : R(0);
  } else if (error == std::errc::result_out_of_range || !std::isfinite(value)) {
    lines_.fail(detail::message("{} is beyond the range of {} precision", quoted(field), precision_name<R>()));
  }
  next_ = field.data() + field.size();
  return value;
}

/// More digits than fit in 64 bits, and errors.
template <class R>
R FieldReader::unusual_integer(const char* start) {
  const std::string_view field = field_at(start);
  std::string_view digits = field;
  if (digits.front() == '+' || digits.front() == '-') digits.remove_prefix(1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
    lines_.fail(detail::message("{} is not an integer", quoted(field)));
  return real<R>();
}

void FieldReader::end_line() {
  if (!at_line_end())
    lines_.fail(detail::message("unexpected {} at the end of {}",
                                quoted({next_, static_cast<std::size_t>(end_ - next_)}), quoted(lines_.line())));
}

template float FieldReader::unusual_real(const char*);
template double FieldReader::unusual_real(const char*);
template float FieldReader::unusual_integer(const char*);
template double FieldReader::unusual_integer(const char*);

}  // namespace blockjacobi::detail
