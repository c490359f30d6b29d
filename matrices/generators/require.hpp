#pragma once

#include <blockjacobi/types.hpp>

namespace blockjacobi::matrices::detail {

// Checks of options. Each throws InvalidArgument naming generator, option and value.

void require_at_least(const char* generator, const char* option, index_t value, index_t minimum);
void require_at_most(const char* generator, const char* option, index_t value, index_t maximum);

/// Finite and >= minimum.
void require_at_least(const char* generator, const char* option, double value, double minimum);
/// Finite and > 0.
void require_positive(const char* generator, const char* option, double value);
void require_finite(const char* generator, const char* option, double value);
/// low <= value < high.
void require_half_open(const char* generator, const char* option, double value, double low, double high);
/// For options that need a complex scalar.
void require_zero_for_real(const char* generator, const char* option, double value, bool complex_scalar);
/// Returns `rows` if they fit in index_t.
index_t require_rows(const char* generator, offset_t rows);

}  // namespace blockjacobi::matrices::detail
