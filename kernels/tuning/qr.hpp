#pragma once

namespace blockjacobi::kernels {

/// A team as a grid of lanes, for the QR factorization.
struct QrPolicy {
  int rows;     ///< of lanes
  int columns;  ///< of lanes
  int phase;    ///< steps
  int warps;    ///< a thread block
};

// Chosen by time per matrix on an H200. Two rows of lanes halve what a broadcast brings to each lane for one exchange
// more an inner product. Fewer lanes do less redundant work in each reflector, as long as the matrix fits their
// registers.

/// `words` of 4 bytes a scalar.
constexpr QrPolicy qr_team(int words, bool complex, int n) {
  if (complex) {
    if (n <= (words == 2 ? 12 : 8)) return {2, 2, 2, 2};
    if (n <= (words == 2 ? 24 : 16)) return {2, 4, 2, 2};
    if (n <= 24) return {2, 8, 2, 2};
    return words == 2 ? QrPolicy{4, 4, 4, 2} : QrPolicy{4, 8, 4, 2};
  }
  if (n <= (words == 1 ? 20 : 12)) return {1, 4, 2, 2};
  if (n <= 16) return {2, 4, 2, 2};
  if (n <= 24 || (words == 1 && n % 4 == 0) || n == 28) return {2, 4, 4, 2};
  return {2, 8, words == 1 ? 4 : 2, 2};
}

/// Orders at which a thread of its own has each matrix.
constexpr bool qr_by_thread(int words, bool complex, int n) {
  if (words == 1) return n <= 11;
  if (!complex) return n <= 9;
  return n <= (words == 2 ? 7 : 5);
}

/// Threads of a thread block where each has a matrix. Blocks of few matrices of one element would end too soon.
constexpr int qr_threads(int n) { return n == 1 ? 256 : 64; }

}  // namespace blockjacobi::kernels
