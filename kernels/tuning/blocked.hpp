#pragma once

#include <cstddef>

namespace blockjacobi::kernels {

/// Largest order that a thread block factorizes; up to largest_tiny_order lanes of a warp do.
inline constexpr int largest_blocked_order = 512;

/// Columns of a panel, `words` of 4 bytes a scalar: a row of it stays in the registers of a thread.
constexpr int blocked_panel(int words) { return words == 4 ? 8 : 16; }

/// A panel of the QR factorization: its width in tiles of 8 columns, the height of what a warp has of it in tiles of 8
/// rows, and the most warps of a thread block, which bounds the registers.
struct QrShape {
  int columns, rows, warps;
  bool operator==(const QrShape&) const = default;
};
/// By time on an H200, of m rows. Few rows behind the last one count, and many thread blocks a multiprocessor; wide
/// panels read the reflectors less often.
constexpr QrShape qr_shape(bool complex, int m) {
  if (complex)
    return m <= 128 || (m > 192 && m <= 256) ? QrShape{2, 4, 8} : m <= 384 ? QrShape{2, 3, 16} : QrShape{2, 4, 16};
  if (m <= 40) return {2, 5, 12};
  if (m <= 64) return m <= 48 ? QrShape{2, 6, 16} : QrShape{2, 8, 8};
  if (m <= 192) return m <= 128 ? QrShape{2, 4, 16} : m <= 160 ? QrShape{2, 5, 16} : QrShape{2, 6, 16};
  return m <= 256 ? QrShape{2, 4, 16} : m <= 336 ? QrShape{2, 6, 16} : QrShape{4, 8, 8};
}

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

/// Columns of a panel of Gauss-Jordan elimination that a thread has in its registers.
constexpr int gauss_jordan_width(int words, bool complex) { return words == 1 && !complex ? 16 : 8; }

/// Whether Gauss-Jordan elimination has matrices in shared memory as a whole, and if not how many pieces of a panel
/// each warp has under way from global memory.
struct GaussJordanPolicy {
  bool whole;
  int stages;
};
/// By time on an H200; `words` of 4 bytes a scalar.
constexpr GaussJordanPolicy gauss_jordan_policy(int words, int n) {
  return {n <= (words == 1 ? 80 : words == 2 ? 60 : 32), n <= 96 ? 2 : 3};
}

}  // namespace blockjacobi::kernels
