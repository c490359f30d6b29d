#pragma once

#include <cstddef>

namespace blockjacobi::kernels {

/// Largest order that a thread block factorizes; up to largest_tiny_order lanes of a warp do.
inline constexpr int largest_blocked_order = 512;

/// Shared memory that a thread block may have on an H200, beside what the system takes.
inline constexpr std::size_t largest_shared_bytes = 227 << 10;

/// A panel of the QR factorization: its width in tiles of 8 columns, the height of what a warp has of it in tiles of 8
/// rows, the most warps of a thread block, which bounds the registers, and how many times 16 reflectors ahead come to
/// shared memory; with 0 they go from the matrix to registers.
struct QrShape {
  int columns, rows, warps, stages;
  bool operator==(const QrShape&) const = default;
};
/// By time on an H200, of m rows; `words` of 4 bytes a scalar. Few rows behind the last one count, and many thread
/// blocks a multiprocessor; wide panels read the reflectors less often.
constexpr QrShape qr_shape(int words, bool complex, int m) {
  if (complex && words == 2) return m <= 48 || m > 384 ? QrShape{2, 6, 12, 1} : QrShape{2, 4, 12, 1};
  if (complex) {
    if (m <= 128 || (m > 192 && m <= 256)) return {2, 4, 8, 1};
    return m <= 384 ? QrShape{2, 4, 12, 0} : QrShape{2, 4, 16, 0};
  }
  if (words == 1) {
    if (m <= 64) return m <= 40 ? QrShape{2, 5, 16, 1} : m <= 48 ? QrShape{2, 6, 16, 1} : QrShape{2, 4, 16, 2};
    if (m <= 128) return m <= 96 ? QrShape{2, 6, 16, 1} : QrShape{2, 4, 16, 2};
    if (m <= 192) return m <= 160 ? QrShape{2, 5, 16, 2} : QrShape{2, 6, 16, 1};
    return m > 256 && m <= 384 ? QrShape{2, 6, 16, 2} : QrShape{4, 8, 8, 2};
  }
  if (m <= 64) return m <= 40 ? QrShape{2, 5, 12, 1} : m <= 48 ? QrShape{2, 6, 12, 1} : QrShape{2, 8, 8, 1};
  if (m <= 96 || (m > 160 && m <= 192) || (m > 256 && m <= 288)) return {2, 6, 12, 1};
  return m <= 256 ? QrShape{2, 4, 16, 1} : m <= 384 ? QrShape{2, 8, 12, 0} : QrShape{4, 8, 8, 2};
}

/// The blocks of the Cholesky factorization, and the warps that share them.
struct CholeskyPolicy {
  int rows, columns;  ///< of tiles of order 8 in a block
  int warps;
};
inline constexpr int cholesky_warps = 4;  ///< at most
/// By time on an H200. While the first warps factorize blocks on the diagonal the others wait, so that more thread
/// blocks of fewer warps are faster as long as their matrices stay in the cache; wide blocks read less. `words` of 4
/// bytes a scalar.
constexpr CholeskyPolicy cholesky_policy(int words, bool complex, int n) {
  if (complex) {
    if (n > 176) return {2, 4, 2};
    return {2, 2, n <= 96 ? 1 : words == 4 ? 4 : n <= 144 ? 2 : 3};
  }
  if (words == 1) {
    if (n <= 176) return n <= 80 ? CholeskyPolicy{2, 2, 1} : CholeskyPolicy{2, 4, 2};
    return n > 224 && n <= 288 ? CholeskyPolicy{2, 4, 4} : CholeskyPolicy{4, 4, 3};
  }
  if (n <= 64) return {2, 2, 1};
  return n <= 176 ? CholeskyPolicy{4, 4, n <= 112 ? 1 : n <= 144 ? 2 : 3} : CholeskyPolicy{4, 8, 2};
}
/// Thread blocks of cholesky_warps that a multiprocessor shall hold, which bounds the registers.
constexpr int cholesky_blocks(int words, bool complex, int rows, int columns) {
  if (complex) return columns == 2 ? 4 : 3;
  if (rows == 2) return columns == 4 ? 4 : words == 1 ? 6 : 5;
  return columns == 4 ? 3 : 2;
}

/// The inverse from the Cholesky factorization takes panels of 4 tiles of order 8 in real arithmetic above this order,
/// of 2 else. By counts, not by time: wide panels read less of the matrices, of which an H200 has more at work than its
/// cache holds; narrow ones are fewer rows behind the last of small matrices.
inline constexpr int largest_narrow_potri_order = 96;
/// Warps that share a matrix, at most, with two rows of tiles each; with 16 registers spill.
inline constexpr int potri_warps = 12;
inline constexpr int copy_triangle_threads = 256;

/// Above this order, by time on an H200, the LU factorization asks for columns ahead of time, as of matrices that leave
/// the L2 cache between two panels.
inline constexpr int largest_near_lu_order = 256;
/// What the registers of the kernels for the others are bounded by: with fewer of them complex products spill.
constexpr int lu_threads(bool complex, bool far) { return complex && !far ? 384 : 512; }
/// In double precision, where more registers cost no thread block of a multiprocessor and are faster on an H200.
inline constexpr int roomy_lu_threads = 384;
constexpr bool is_roomy_lu(int n) { return (n > 160 && n <= 192) || (n > largest_near_lu_order && n <= 384); }

/// Rows of a panel of the LU factorization in shared memory that a thread has in its registers, at most.
constexpr int lu_rows(int words) { return words == 1 ? 3 : 2; }
/// Up to this order the whole matrix is in shared memory, where a multiprocessor of an H200 holds several of them.
/// Above it, by time, panels from left to right are faster.
constexpr int largest_shared_lu_order(int words, bool complex) { return complex ? 48 : words == 1 ? 88 : 48; }
/// Warps that share it.
inline constexpr int most_shared_lu_warps = 3;
constexpr int shared_lu_warps(int n) { return n <= 48 ? 1 : n <= 80 ? 2 : 3; }

/// Columns of a panel of Gauss-Jordan elimination that a thread has in its registers.
constexpr int gauss_jordan_width(int words, bool complex) { return words == 1 && !complex ? 16 : 8; }

/// Where Gauss-Jordan elimination has a matrix: in shared memory as one panel, in shared memory and registers as
/// several, or in global memory but for the panel at work.
enum class GaussJordanPlace { whole, resident, streamed };
struct GaussJordanPolicy {
  GaussJordanPlace place;
  int stages;  ///< pieces of a panel that each warp has under way from global memory
};
/// By time on an H200; `words` of 4 bytes a scalar.
constexpr int largest_whole_order(int words) { return words == 1 ? 80 : words == 2 ? 60 : 32; }
constexpr GaussJordanPolicy gauss_jordan_policy(int words, int n) {
  return {n <= largest_whole_order(words) ? GaussJordanPlace::whole : GaussJordanPlace::streamed, n <= 96 ? 2 : 3};
}
/// The orders that are resident if nothing but the elimination is in the multiprocessor's memory.
struct OrderRange {
  int least, largest;
};
constexpr OrderRange resident_orders(int words, bool complex) {
  if (complex) return words == 2 ? OrderRange{41, 56} : OrderRange{33, 64};
  return {words == 1 ? 65 : 49, 96};
}
/// Thread blocks that a multiprocessor shall hold, which bounds the registers.
constexpr int whole_blocks(int words, bool complex) { return complex || words == 1 ? 8 : 12; }
constexpr int resident_blocks(bool complex, int threads) { return threads > 64 ? 4 : complex ? 6 : 8; }
/// In several panels up to this order, among four warps, steps are shorter.
inline constexpr int largest_four_warp_order = 128;

/// Real matrices from this order on, if they are few, are inverted by a cluster of thread blocks each, by time on an
/// H200.
inline constexpr int least_cluster_order = 97;
/// Thread blocks of a cluster, no more than the matrix has panels, for at most so many matrices and so many turns of
/// clusters that the device needs for all of them.
struct ClusterPolicy {
  int blocks, matrices, turns;
};
/// The first that is possible. Beyond 14 matrices 8 thread blocks for each would have to share multiprocessors; 16 are
/// for matrices that 8 have no memory for.
inline constexpr ClusterPolicy cluster_policies[] = {{8, 14, 1}, {4, 64, 1}, {4, 64, 2}, {8, 32, 2}, {16, 14, 2}};
/// Up to this order a second turn costs more than it saves.
inline constexpr int largest_one_turn_order = 300;

/// The inversion from the LU factorization takes panels of 16 columns in real arithmetic up to the same order, with
/// this many thread blocks a multiprocessor, and of 32 above; of 16 in complex arithmetic, which is not measured yet.
inline constexpr int narrow_getri_blocks = 6;
/// Pieces of the matrix that each of its warps has under way, as many as are faster and leave shared memory for the
/// rest.
constexpr int getri_stages(int words, bool complex, int n) {
  if (complex) return words == 2 ? 3 : n <= 480 ? 2 : 1;
  return n > largest_four_warp_order && (words == 1 || n <= 224) ? 3 : 2;
}

/// Up to so many right-hand sides are solved for by substitution, with the factor on its way far ahead; more of them by
/// products on the tensor cores: with 4 of them getrs of 10 000 matrices of order 64 takes 0.12 / 0.20 ms in s / d
/// against 0.23 / 0.28 there, of 2000 of order 512 1.04 / 2.09 against 1.80 / 2.20.
inline constexpr int most_few_columns = 4;
/// What each warp has of its rows of the factor in shared memory or on its way there: pieces of so many bytes a row.
/// With 2 of 128 / 2 of 64 / 3 of 64 / 4 of 32 bytes getrs for one right-hand side takes 0.29 / 0.26 / 0.27 / 0.29 ms
/// in s, 10 000 of order 128, and 1.53 / 1.20 / 1.26 / 1.31 in d, 2000 of order 512; for four there 2.09 / 2.36 / 2.26
/// / 2.85. In z 2 of 64 / 3 of 64 bytes take 0.239 / 0.226 ms, 10 000 of order 64, and 0.82 / 0.76 of order 128.
constexpr int few_row_bytes(int words, int columns) { return words * columns >= 8 ? 128 : 64; }
constexpr int few_pieces(int words, int columns) { return words == 4 && columns == 1 ? 3 : 2; }
/// Thread blocks of the largest order that a multiprocessor shall hold, which bounds the registers: one where more
/// would spill more than a word or two.
constexpr int few_blocks(int words, int columns) { return words < 4 && words * columns <= 4 ? 2 : 1; }

/// What the registers of the others are bounded by: those that keep more right-hand sides in registers would spill with
/// more threads.
constexpr int solve_threads(int n) { return n <= 384 ? 384 : 512; }
/// Tiles of 8 right-hand sides that a thread block solves for at once: with more of them the factors are read less
/// often. Not measured yet.
constexpr int solve_tiles(bool complex, int n, int columns) {
  return complex || solve_threads(n) == 512 || columns <= 16 ? 2 : 4;
}

}  // namespace blockjacobi::kernels
