#pragma once

namespace blockjacobi::kernels {

// Chosen by time per matrix on an H200. Memory moves more than the triangle needs, so that a mere copy of it is hardly
// faster for most orders. What else matters is that no registers spill, and that the matrices under way stay in the
// cache until they are written.

/// How the warps of the Cholesky factorization share the matrices of an order.
struct WarpPolicy {
  int matrices;  ///< of a warp
  int warps;     ///< that a multiprocessor shall hold, which bounds the registers
};

/// Threads of a thread block where each has a matrix.
constexpr int potrf_threads(int n) { return n <= 3 ? 128 : 32; }

/// Orders up to which (and single ones at which) a thread of its own has each matrix; `words` of 4 bytes a scalar.
constexpr bool potrf_by_thread(int words, bool complex, int n) {
  if (words == 1) return n <= 13;
  if (words == 4) return n <= 8;
  return complex ? n <= 10 : n <= 6 || n == 9;
}

constexpr WarpPolicy potrf_by_warp(int words, bool complex, int n) {
  if (n <= 8) return {8, complex ? 12 : 20};
  if (complex && n <= 16) return {4, 8};
  if (complex) return n <= 24 ? WarpPolicy{2, 8} : WarpPolicy{1, 12};
  if (n <= 16) return words == 2 && n > 13 ? WarpPolicy{2, 24} : WarpPolicy{4, 16};
  if (words == 1) return n <= 20 ? WarpPolicy{4, 12} : WarpPolicy{2, n <= 24 ? 20 : 16};
  if (n <= 20) return {2, 16};
  return {1, n <= 24 ? 24 : 20};
}

}  // namespace blockjacobi::kernels
