#pragma once

#include "io/field_reader.hpp"

#include <blockjacobi/matrix_market.hpp>

namespace blockjacobi::detail {

const char* to_string(MatrixMarketFormat format) noexcept;
const char* to_string(MatrixMarketField field) noexcept;
const char* to_string(MatrixMarketSymmetry symmetry) noexcept;

/// Reads the banner, the comments and the size line. Throws ParseError.
MatrixMarketHeader parse_header(FieldReader& in);

}  // namespace blockjacobi::detail
