#pragma once

namespace blockjacobi::kernels {

/// Threads of a block in which groups of W lanes have one matrix each in shared memory. Small blocks let a
/// multiprocessor fill its shared memory to the last matrix.
template <int W>
inline constexpr int lanes_threads = W == 32 ? 64 : 128;

/// Columns that a lane has under way between global and shared memory.
template <int W>
inline constexpr int lanes_columns_in_flight = W < 8 ? W : 8;

/// Steps of a factorization between two reductions of the number of registers in use.
inline constexpr int lanes_phase = 2;

}  // namespace blockjacobi::kernels
