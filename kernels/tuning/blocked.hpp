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
constexpr int largest_cached_cholesky(int words) { return words == 1 ? 224 : words == 2 ? 56 : 40; }

/// Columns of a matrix of order n that Gauss-Jordan elimination has in shared memory, and of how many others the pivot
/// rows are there at once; `words` of 4 bytes a scalar.
struct GaussJordanPolicy {
  int panel_columns, staged_columns;
};
/// Two thread blocks a multiprocessor are faster than one with twice the columns up to order 256, or 128.
constexpr GaussJordanPolicy gauss_jordan_policy(int words, int width, int n) {
  const int kilobytes = n <= 128 || (words < 4 && n <= 256) ? 110 : 205;
  const int columns = kilobytes * 1024 / (4 * words * (n + 12)) / width * width;
  return {columns, 16};
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
