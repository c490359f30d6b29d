#pragma once

#include "ablations/blocked_lu.cuh"

namespace bench {

/// Recursive blocking: the left half of the panel, then what it means for the right one, then that one; down to 8
/// columns, which are factorized in registers. The panel stays in memory. With NB = 64 these are three levels below the
/// panel, as in the 2015 paper.
template <class T, int NB>
struct RecursivePanel {
  static constexpr int base = 8;
  static_assert(NB > base && NB % base == 0);

  __device__ static int factorize(const BlockedMatrix<T>& a, int p, PanelState<T, NB>& state) {
    __shared__ Shared shared;
    const int row = static_cast<int>(threadIdx.x);
    shared.order[row] = row;
    __syncthreads();
    const int outcome = recurse<NB>(a, p, p, state, shared);
    state.note(p, shared.order[row], row);
    return outcome;
  }

 private:
  static constexpr int half = NB / 2;
  struct Shared {
    PanelState<T, base> panel;
    alignas(16) T lower[half * half];
    alignas(16) T upper[half * RegisterPanel<T, half>::ld];
    int order[largest_blocked_order];  ///< row i was this one before the panel
  };

  /// Columns q .. q + W - 1 of the panel at p. Returns the first without a pivot, counted from 1, or 0.
  template <int W>
  __device__ static int recurse(const BlockedMatrix<T>& a, int p, int q, PanelState<T, NB>& state, Shared& shared) {
    if constexpr (W == base) {
      const int outcome = RegisterPanel<T, base>::factorize(a, q, shared.panel);
      __syncthreads();
      move_rows(a, p, q, state, shared);
      return outcome;
    } else {
      constexpr int H = W / 2;
      const int left = recurse<H>(a, p, q, state, shared);
      update<H>(a, q, shared);
      const int right = recurse<H>(a, p, q + H, state, shared);
      return left > 0 ? left : right > 0 ? H + right : 0;
    }
  }

  /// The interchanges of columns q .. q + 7 in the others of the panel at p.
  __device__ static void move_rows(const BlockedMatrix<T>& a, int p, int q, PanelState<T, NB>& state, Shared& shared) {
    const int row = static_cast<int>(threadIdx.x), source = shared.panel.source[row];
    const int origin = shared.order[source];
    if (row < base) state.pivot[q - p + row] = shared.panel.pivot[row];
    for (int c = p; c < p + NB; c += base) {
      RegisterPanel<T, base> moved{};
      const bool moves = c != q && source != row;
      if (moves) moved.load(a, source, c);
      __syncthreads();
      if (moves) moved.store(a, row, c);
    }
    shared.order[row] = origin;
    __syncthreads();
  }

  /// The H columns behind column q + H - 1: their rows of U, and the product with the columns before is subtracted
  /// below.
  template <int H>
  __device__ static void update(const BlockedMatrix<T>& a, int q, Shared& shared) {
    constexpr int ld = RegisterPanel<T, H>::ld;
    const int row = static_cast<int>(threadIdx.x);
    const bool upper = row >= q && row < q + H;
    RegisterPanel<T, H> right{};
    if (row >= q) right.load(a, row, q + H);
    if (upper)
#pragma unroll
      for (int j = 0; j < H; ++j) shared.upper[(row - q) * ld + j] = right.x[j];
    fetch_lower<T, H>(a, q, shared.lower);
    __syncthreads();
    if (row < H) solve_unit_lower<H>(shared.lower, shared.upper + row, ld);
    __syncthreads();
    if (upper)
#pragma unroll
      for (int j = 0; j < H; ++j) right.x[j] = shared.upper[(row - q) * ld + j];
    if (row >= q + H) right.subtract(a, row, q, H, shared.upper);
    if (row >= q) right.store(a, row, q + H);
    __syncthreads();
  }
};

}  // namespace bench
