#pragma once

namespace blockjacobi::kernels {

/// How many threads share a matrix of order N <= 32.
struct TinyPolicy {
  int lanes;         ///< of a team
  int rows;          ///< a lane
  int warps;         ///< a thread block
  int resident = 1;  ///< thread blocks that a multiprocessor shall hold, which bounds the registers
};

// Chosen by time per matrix on an H200, benchmarks/results/h200/batched.json. Fewer lanes with more rows each need
// fewer shuffles, which share one pipe with all memory accesses; more rows need registers, and with them fewer warps
// hide the latency. From 17 on three rows fit for fp64, from 25 on two.

/// `words` of 4 bytes a scalar.
constexpr TinyPolicy tiny_team(int words, bool complex, int n) {
  if (n <= 4) return {4, 1, 4};
  if (n <= 8) return complex ? TinyPolicy{8, 1, 4} : TinyPolicy{4, 2, 4};
  if (n <= 12 && !complex) return {4, 3, 4};
  if (n <= 16) return {8, 2, words == 2 && !complex ? 1 : 2};
  if (words == 4) return n <= 24 ? TinyPolicy{16, 2, 1} : TinyPolicy{32, 1, 2};
  const bool fp64 = words == 2 && !complex;
  // Twelve warps instead of eight, where that costs no more than a few registers.
  if (n <= 24) return {8, 3, fp64 ? 1 : 2, fp64 && n <= 21 ? 12 : 1};
  return {16, 2, words == 1 ? 4 : 2, fp64 ? 6 : 1};
}

/// Orders up to which (and single ones at which) a thread of its own has each matrix.
constexpr bool inverse_by_thread(int words, bool complex, int n) {
  if (words == 1) return n <= 8 || n == 10;
  if (!complex) return n <= 8;
  return n <= (words == 2 ? 6 : 5);
}
constexpr bool lu_by_thread(int words, bool complex, int n) {
  if (words == 1) return n <= 8 || n == 10 || n == 12;
  if (!complex) return n <= 8;
  return n <= (words == 2 ? 6 : 5);
}

// Teams that are no power of two can leave fewer lanes of a warp without a row: 6 lanes with 3 rows each have orders 17
// and 18, five matrices a warp, of which 8 lanes have four.

constexpr TinyPolicy inverse_team(int words, bool complex, int n) {
  const bool fp64 = words == 2 && !complex;
  if (fp64 && (n == 17 || n == 18)) return {6, 3, 1, 12};
  if (words == 1) {
    if (n == 13 || n == 15 || n == 16) return {4, 4, 1, 20};
    if (n == 17) return {6, 3, 1, 20};
    if (n == 24) return {8, 3, 2, 8};
    if (n == 25 || n >= 31) return {8, 4, 1, 12};
  }
  return tiny_team(words, complex, n);
}

constexpr TinyPolicy lu_team(int words, bool complex, int n) {
  const bool fp64 = words == 2 && !complex;
  if (fp64 && n == 9) return {3, 3, 2};
  if (fp64 && n == 17) return {6, 3, 1, 12};
  if (words == 1 && n == 17) return {6, 3, 1, 16};
  if (words == 1 && n == 18) return {6, 3, 1, 20};
  if (words == 1 && n == 21) return {7, 3, 1, 16};
  TinyPolicy policy = tiny_team(words, complex, n);
  // Two rows of complex doubles spill from 20 on.
  if (words == 4 && n > 18) policy = {32, 1, 2};
  if (n > 8 && n <= 12 && !complex) {
    policy.warps = 2;
    policy.resident = fp64 ? 8 : 1;
  }
  return policy;
}

/// Extraction and inversion in one kernel: two rows of complex numbers a lane spill.
constexpr TinyPolicy setup_team(int words, bool complex, int n) {
  if (complex && n > 16) return {32, 1, 2};
  if (complex && words == 4 && n > 12) return {16, 1, 2};
  return tiny_team(words, complex, n);
}

/// Threads of a thread block where each has a matrix.
constexpr int thread_design_threads = 64;

/// Orders whose matrices go straight between global memory and registers: a thread reads 16 bytes at most, so that
/// there is nothing to rearrange, and no barrier to wait at.
constexpr bool inverse_straight(int words, int n) { return n == 1 || (n == 2 && words == 1); }
constexpr bool lu_straight(int, int n) { return n == 1; }
constexpr int straight_threads = 256;

/// Matrices of such a thread, for enough bytes under way.
template <int N>
inline constexpr int straight_matrices = N == 1 ? 4 : 2;

/// Orders at which the lanes of a warp, which has no barrier to wait at either, have a matrix each and rearrange them
/// by shuffles. A second matrix a lane, for more bytes under way, costs more than it hides.
constexpr bool by_warp(int words, int n) { return n == 2 ? words >= 2 : n == 4 && words <= 2; }
constexpr int warp_design_threads = 128;

/// Thread blocks of it that a multiprocessor shall hold: 200 registers serve a matrix of 128 words.
constexpr int blocks_of_thread_design(int words, int n) { return words * n * n <= 128 ? 5 : 1; }

/// Lanes of a team where a matrix stays in shared memory and goes through the registers by panels; 0 at other orders.
/// Sixteen leave room for more warps where matrices are large.
constexpr int lu_by_blocks(int words, bool complex, int n) {
  if (complex && words == 4) return n < 13 ? 0 : n <= 24 ? 8 : 16;
  if (complex) return n >= 25 && n % 2 != 0 ? 16 : n == 12 || n == 14 || n == 16 || n >= 18 ? 8 : 0;
  const bool pays = words == 1 ? n == 16 || n == 19 || n == 20 || n >= 23 : n == 14 || n == 16 || n >= 18;
  return pays ? 8 : 0;
}
constexpr bool inverse_by_blocks(int words, bool complex, int n) {
  return words == 2 && !complex && (n == 24 || n == 32);
}

/// Thread blocks of it that a multiprocessor shall hold; 0 leaves the registers to the compiler, which takes too few
/// for the large ones.
constexpr int block_lu_resident(int words, bool complex, int n) { return complex || (words == 2 && n > 24) ? 1 : 0; }

/// Columns of a phase of its panels.
constexpr int block_lu_phase = 4;

/// Columns of a phase of the LU factorization.
constexpr int lu_phase(int n) { return n <= 16 ? 2 : 4; }

}  // namespace blockjacobi::kernels
