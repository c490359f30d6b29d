#pragma once

#include <cstddef>

namespace blockjacobi::kernels {

/// Largest order that a thread block factorizes; up to largest_tiny_order lanes of a warp do.
inline constexpr int largest_blocked_order = 512;

/// Columns of a panel, `words` of 4 bytes a scalar: a row of it stays in the registers of a thread.
constexpr int blocked_panel(int words) { return words == 4 ? 8 : 16; }

/// Columns of a panel of the QR factorization, bounded by registers.
inline constexpr int qr_panel = 8;

/// Threads of a thread block with a thread for each row, at most.
inline constexpr int uncached_threads = 512;

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

/// Rows of a panel of the LU factorization that a thread has in its registers, at most.
constexpr int lu_rows(int words) { return words == 4 ? 2 : 4; }

/// Where the LU factorization of a matrix takes place, and warps of a thread block.
struct LuShape {
  bool shared;
  int warps;
};
inline constexpr int most_shared_lu_warps = 4, least_global_lu_warps = 4, most_global_lu_warps = 16;
/// By time on an H200 for fp32 and fp64: in shared memory as long as a multiprocessor holds several matrices there.
constexpr LuShape lu_shape(int words, int n) {
  if (n <= (words == 1 ? 128 : words == 2 ? 88 : 64))
    return {true, n <= 48 ? 1 : n <= (words == 1 ? 80 : 64) ? 2 : words == 1 && n <= 96 ? 3 : 4};
  if (words == 1) return {false, n <= 256 ? 4 : 8};
  return {false, n <= 160 ? 4 : n <= 256 ? 8 : 16};
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

}  // namespace blockjacobi::kernels
