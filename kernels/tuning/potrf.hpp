#pragma once

namespace blockjacobi::kernels {

// Chosen by time per matrix on an H200. The memory limits most orders: it moves 64 bytes at a time, of which the
// triangle needs a part.

/// How the warps of the Cholesky factorization share the matrices of an order.
struct WarpPolicy {
  int matrices;  ///< of a warp
  int warps;     ///< that a multiprocessor shall hold, which bounds the registers
};

/// Threads of a thread block where each has a matrix.
inline constexpr int potrf_threads = 32;

/// Orders up to which a thread of its own has each matrix; `words` of 4 bytes a scalar.
constexpr bool potrf_by_thread(int words, bool complex, int n) {
  if (words == 1) return n <= 14;
  if (words == 2) return n <= (complex ? 12 : 6);
  return n <= 8;
}

constexpr WarpPolicy potrf_by_warp(int words, bool complex, int n) {
  if (n <= 8) return {8, complex ? 12 : 20};
  if (n <= 16) return {4, complex ? 8 : 16};
  if (complex) return n <= 24 ? WarpPolicy{2, 8} : WarpPolicy{1, 12};
  if (words == 1) return {2, n > 20 && n <= 24 ? 20 : 16};
  if (n <= 20) return {2, 16};
  return {1, n <= 24 ? 24 : 20};
}

}  // namespace blockjacobi::kernels
