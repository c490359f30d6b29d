#include "matrices/generators/require.hpp"

#include <blockjacobi/error.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace blockjacobi::matrices::detail {

void require_at_least(const char* generator, const char* option, index_t value, index_t minimum) {
  if (value < minimum)
    throw InvalidArgument(fmt::format("{}: {} is {}, must be >= {}", generator, option, value, minimum));
}

void require_at_most(const char* generator, const char* option, index_t value, index_t maximum) {
  if (value > maximum)
    throw InvalidArgument(fmt::format("{}: {} is {}, must be <= {}", generator, option, value, maximum));
}

void require_at_least(const char* generator, const char* option, double value, double minimum) {
  if (!std::isfinite(value) || value < minimum)
    throw InvalidArgument(fmt::format("{}: {} is {}, must be finite and >= {}", generator, option, value, minimum));
}

void require_positive(const char* generator, const char* option, double value) {
  if (!std::isfinite(value) || value <= 0.0)
    throw InvalidArgument(fmt::format("{}: {} is {}, must be finite and > 0", generator, option, value));
}

void require_finite(const char* generator, const char* option, double value) {
  if (!std::isfinite(value))
    throw InvalidArgument(fmt::format("{}: {} is {}, must be finite", generator, option, value));
}

void require_half_open(const char* generator, const char* option, double value, double low, double high) {
  if (!(value >= low && value < high))
    throw InvalidArgument(fmt::format("{}: {} is {}, must be >= {} and < {}", generator, option, value, low, high));
}

void require_zero_for_real(const char* generator, const char* option, double value, bool complex_scalar) {
  require_finite(generator, option, value);
  if (!complex_scalar && value != 0.0)
    throw InvalidArgument(fmt::format("{}: {} is {}, must be 0 for a real scalar", generator, option, value));
}

index_t require_rows(const char* generator, offset_t rows) {
  if (rows > std::numeric_limits<index_t>::max())
    throw InvalidArgument(
        fmt::format("{}: {} rows, must be at most {}", generator, rows, std::numeric_limits<index_t>::max()));
  return static_cast<index_t>(rows);
}

}  // namespace blockjacobi::matrices::detail
