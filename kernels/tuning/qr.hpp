#pragma once

namespace blockjacobi::kernels {

/// A team as a grid of lanes, for the QR factorization.
struct QrPolicy {
  int rows;     ///< of lanes
  int columns;  ///< of lanes
  int phase;    ///< steps
  int warps;    ///< a thread block
};

constexpr QrPolicy qr_team(int words, bool complex, int n) {
  if (n <= 8) return {1, 4, 4, 2};
  if (n <= 16) return {1, 8, 4, 2};
  if (n <= 24) return {2, 8, 4, 2};
  return words == 4 ? QrPolicy{4, 8, 4, 2} : QrPolicy{2, 8, 4, 2};
}
constexpr bool qr_by_thread(int words, bool complex, int n) {
  if (words == 1) return n <= 8;
  if (!complex) return n <= 8;
  return n <= (words == 2 ? 6 : 4);
}

}  // namespace blockjacobi::kernels
