#pragma once

#include <cstddef>

namespace blockjacobi::kernels {

/// Largest order that a thread block factorizes; up to largest_tiny_order lanes of a warp do.
inline constexpr int largest_blocked_order = 512;

/// Columns of a panel, `words` of 4 bytes a scalar: a row of it stays in the registers of a thread.
constexpr int blocked_panel(int words) { return words == 4 ? 8 : 16; }

/// Columns of a panel of the QR factorization, bounded by registers.
inline constexpr int qr_panel = 8;

/// Threads of a thread block that keeps the factors in shared memory, at most; the same without them there.
inline constexpr int cached_threads = 256, uncached_threads = 512;

// Largest orders whose factors are kept in shared memory, by time on an H200 for fp32 and fp64. Where they leave a
// multiprocessor too few thread blocks, the steps of the elimination are waited for; `words` of 4 bytes a scalar.
constexpr int largest_cached_lu(int words) { return words == 1 ? 112 : words == 2 ? 56 : 40; }

/// The blocks of the Cholesky factorization, and the warps that share them.
struct CholeskyPolicy {
  int tiles;  ///< of order 8 in a row of a block
  int warps;
};
inline constexpr int cholesky_warps = 4;  ///< at most
/// By time on an H200. While the first warp factorizes a block on the diagonal the others wait, so that more thread
/// blocks of fewer warps are faster as long as their matrices stay in the cache; `words` of 4 bytes a scalar.
constexpr CholeskyPolicy cholesky_policy(int words, bool complex, int n) {
  if (complex) return {2, n <= 96 ? 1 : 4};
  if (words == 1) return n <= 176 ? CholeskyPolicy{2, n <= 80 ? 1 : n <= 112 ? 3 : 4} : CholeskyPolicy{4, 3};
  return n <= 64 ? CholeskyPolicy{2, 1} : CholeskyPolicy{4, n <= 112 ? 1 : n <= 144 ? 2 : 3};
}
/// Thread blocks of cholesky_warps that a multiprocessor shall hold, which bounds the registers.
constexpr int cholesky_blocks(int words, bool complex, int tiles) {
  return tiles == 4 ? 3 : complex ? 4 : words == 1 ? 6 : 5;
}

/// Columns of a matrix of order n that Gauss-Jordan elimination has in shared memory, and of how many others the pivot
/// rows are there at once; `words` of 4 bytes a scalar.
struct GaussJordanPolicy {
  int panel_columns, staged_columns;
};
/// Thread blocks of a multiprocessor that work on different matrices hide each other's steps: two with the whole
/// matrix, else three up to order 160 and two up to 256 with fewer columns were faster on an H200 than one with more.
constexpr GaussJordanPolicy gauss_jordan_policy(int words, int width, int n) {
  constexpr int kilobyte = 1024;
  const int staged = n <= 256 ? 16 : 32;
  const int element = 4 * words;
  if (element * n * (n + 12 + width) <= 112 * kilobyte) return {largest_blocked_order, staged};
  const int kilobytes = n <= 160 && words < 4 ? 75 : n <= 128 || (n <= 256 && words < 4) ? 113 : 212;
  return {kilobytes * kilobyte / (element * (n + 20 + staged)) / width * width, staged};
}

/// What a thread has of a panel in its registers, and threads of a thread block, which both are bounded by registers.
struct GaussJordanShape {
  int width, rows, threads;
  constexpr int largest_order() const { return rows * threads; }
};
/// The shape to take is the first that has the order. In fp64 panels of 16 columns are 2 % faster where they do not
/// spill.
constexpr int gauss_jordan_shapes(bool complex) { return complex ? 2 : 1; }
constexpr GaussJordanShape gauss_jordan_shape(int words, bool complex, int which) {
  if (complex) return {8, which + 1, 256};
  return {words == 1 ? 16 : 8, 1, 512};
}

/// Thread blocks that a multiprocessor shall hold at least, which bounds the registers.
inline constexpr int cached_blocks = 2;

}  // namespace blockjacobi::kernels
