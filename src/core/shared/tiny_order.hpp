#pragma once

namespace blockjacobi::detail {

/// The border between tiny and large orders: up to it the lanes of a warp have a block in their registers, above it a
/// thread block works on it.
inline constexpr int largest_tiny_order = 32;

}  // namespace blockjacobi::detail
