#pragma once

#include "core/shared/macros.hpp"
#include "kernels/device.hpp"
#include "kernels/scalar.hpp"

// What the policies of several operations on tiny orders share. Chosen by time per matrix on an H200,
// benchmarks/results/h200/batched.json.

namespace blockjacobi::kernels {

/// A team of lanes with a matrix of order N <= 32 by rows in their registers.
struct TeamShape {
  int lanes;                   ///< of a team
  int rows;                    ///< a lane
  int warps;                   ///< a thread block
  int per_multiprocessor = 1;  ///< thread blocks that it shall hold, which bounds the registers
  bool operator==(const TeamShape&) const = default;
};

/// Fewer lanes with more rows each need fewer shuffles, which share one pipe with all memory accesses; more rows need
/// registers, and with them fewer warps hide the latency. From 17 on three rows fit for fp64, from 25 on two.
constexpr TeamShape team_shape(ScalarType scalar, int n) {
  const bool fp64 = scalar == ScalarType::d;
  if (n <= 4) return {4, 1, 4};
  if (n <= 8) return is_complex(scalar) ? TeamShape{8, 1, 4} : TeamShape{4, 2, 4};
  if (n <= 12 && !is_complex(scalar)) return {4, 3, 4};
  if (n <= 16) return {8, 2, fp64 ? 1 : 2};
  if (scalar == ScalarType::z) return n <= 24 ? TeamShape{16, 2, 1} : TeamShape{32, 1, 2};
  // Twelve warps instead of eight, where that costs no more than a few registers.
  if (n <= 24) return {8, 3, fp64 ? 1 : 2, fp64 && n <= 21 ? 12 : 1};
  return {16, 2, scalar == ScalarType::s ? 4 : 2, fp64 ? 6 : 1};
}

/// Threads of a thread block where each has a matrix.
inline constexpr int thread_design_threads = 64;
/// Thread blocks of it that a multiprocessor shall hold: 200 registers serve a matrix of 128 words.
constexpr int thread_design_per_multiprocessor(ScalarType scalar, int n) {
  return words(scalar) * n * n <= 128 ? 5 : 1;
}

/// Threads of a thread block whose matrices go straight between global memory and registers: a thread reads 16 bytes
/// at most, so that there is nothing to rearrange, and no barrier to wait at.
inline constexpr int straight_threads = 256;
/// Matrices of such a thread, for enough bytes under way.
BLOCKJACOBI_HD constexpr int straight_matrices(int n) { return n == 1 ? 4 : 2; }

/// Orders at which the lanes of a warp, which has no barrier to wait at either, have a matrix each and rearrange them
/// by shuffles. A second matrix a lane, for more bytes under way, costs more than it hides.
constexpr bool is_shuffled(ScalarType scalar, int n) {
  return n == 2 ? words(scalar) >= 2 : n == 4 && words(scalar) <= 2;
}
inline constexpr int shuffled_threads = 128;

/// Order of a kernel for matrices that are not contiguous, or of different orders: multiples of 4.
BLOCKJACOBI_HD constexpr int tiny_class(int n) { return (n + 3) / 4 * 4; }

}  // namespace blockjacobi::kernels
