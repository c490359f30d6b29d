#pragma once

#include "core/shared/macros.hpp"
#include "kernels/device.hpp"

namespace blockjacobi::kernels {

/// Threads of a thread block in which groups of W lanes have one matrix each in shared memory. Few of them let a
/// multiprocessor fill its shared memory to the last matrix.
template <int W>
inline constexpr int lanes_threads = W == 32 ? 64 : 128;

/// Lanes of the group that works on a matrix of at most n rows and columns; 0: larger ones are left to others.
BLOCKJACOBI_HD constexpr int lanes_width(int n) {
  return n <= 4 ? 4 : n <= 8 ? 8 : n <= 16 ? 16 : n <= largest_tiny_order ? 32 : 0;
}

/// Columns that a lane has under way between global and shared memory.
template <int W>
inline constexpr int lanes_columns_in_flight = W < 8 ? W : 8;

/// Steps of a factorization between two reductions of the number of registers in use.
inline constexpr int lanes_phase = 2;

}  // namespace blockjacobi::kernels
