#pragma once

#include <cstddef>

namespace blockjacobi::kernels {

/// Largest order that a thread block factorizes; up to largest_tiny_order lanes of a warp do.
inline constexpr int largest_blocked_order = 512;

/// Columns of a panel, `words` of 4 bytes a scalar: a row of it stays in the registers of a thread.
constexpr int blocked_panel(int words) { return words == 4 ? 8 : 16; }

/// Columns of a panel of the QR and of the Cholesky factorization, both bounded by registers.
inline constexpr int qr_panel = 8;
constexpr int cholesky_panel(int words) { return words == 4 ? 4 : 8; }

/// Threads of a thread block that keeps the factors in shared memory, at most; the same without them there.
inline constexpr int cached_threads = 256, uncached_threads = 512;

// Largest orders whose factors are kept in shared memory, by time on an H200 for fp32 and fp64. Where they leave a
// multiprocessor too few thread blocks, the steps of the elimination are waited for; `words` of 4 bytes a scalar.
constexpr int largest_cached_lu(int words) { return words == 1 ? 112 : words == 2 ? 56 : 40; }
constexpr int largest_cached_cholesky(int words) { return words == 1 ? 224 : words == 2 ? 168 : 72; }

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
