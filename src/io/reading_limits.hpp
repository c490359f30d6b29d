#pragma once

#include <blockjacobi/matrix_market.hpp>

#include <cstdint>

namespace blockjacobi::detail {

/// Bytes of text that a packed file may hold up to its size line, and besides its entries.
inline constexpr std::uintmax_t header_text = std::uintmax_t{1} << 24;

/// Bytes of text that a packed file with so many entries may hold.
std::uintmax_t text_limit(const MatrixMarketLimits& limits, offset_t entries) noexcept;

/// Throws ParseError at the size line if what it asks for takes more than the limit. `what` is that, with an article.
void require_memory(const std::filesystem::path& path, const MatrixMarketHeader& header,
                    const MatrixMarketLimits& limits, const char* what, double bytes);

/// The same where the memory was asked for in vain.
[[noreturn]] void throw_no_memory(const std::filesystem::path& path, const MatrixMarketHeader& header,
                                  const char* what);

}  // namespace blockjacobi::detail
