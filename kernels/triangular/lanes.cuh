#pragma once

#include "kernels/collectives/shared_tile.cuh"

namespace blockjacobi::kernels {

/// Substitution with the triangles of a square tile, for one right-hand side of which lane i has element i. Lanes
/// behind the matrix take part with any value.
template <int W, class C>
class LanesSubstitution {
 public:
  __device__ explicit LanesSubstitution(const SharedTile<W, C>& tile)
      : tile_(tile), diagonal_(tile.owns_row() ? tile.at(tile.lanes.rank, tile.lanes.rank) : C{}) {}

  /// Which elements a step takes from the tile: column k, row k or its conjugate.
  enum class Access { column, row, adjoint_row };

  /// From the first element on: L, U^T or U^H. The diagonal is one if `unit`.
  template <Access access, bool unit>
  __device__ C forward(C x) const {
    for (int k = 0; k < tile_.rows; ++k) x = step<access, unit>(x, k, tile_.lanes.rank > k);
    return x;
  }

  /// From the last element on: U, L^T or L^H.
  template <Access access, bool unit>
  __device__ C backward(C x) const {
    for (int k = tile_.rows - 1; k >= 0; --k) x = step<access, unit>(x, k, tile_.lanes.rank < k);
    return x;
  }

 private:
  template <Access access, bool unit>
  __device__ C step(C x, int k, bool remains) const {
    const int i = tile_.lanes.rank;
    if constexpr (!unit) {
      if (i == k) x = divide<access>(x);
    }
    const C x_k = tile_.lanes.broadcast(x, k);
    return remains && i < tile_.rows ? fused_subtract(x, element<access>(i, k), x_k) : x;
  }

  template <Access access>
  __device__ C divide(C x) const {
    if constexpr (access == Access::adjoint_row)
      return detail::conj(diagonal_.divide(detail::conj(x)));
    else
      return diagonal_.divide(x);
  }

  template <Access access>
  __device__ C element(int i, int k) const {
    if constexpr (access == Access::column)
      return tile_.at(i, k);
    else if constexpr (access == Access::row)
      return tile_.at(k, i);
    else
      return detail::conj(tile_.at(k, i));
  }

  SharedTile<W, C> tile_;
  Divisor<C> diagonal_;
};

/// Solves op(A) x = b from P A = L U, with P left to the caller: b has its rows interchanged for Op::none, else the
/// result still needs them interchanged back.
template <int W, class C>
__device__ C solve_lu(const LanesSubstitution<W, C>& lu, batched::Op op, C x) {
  using Access = typename LanesSubstitution<W, C>::Access;
  switch (op) {
    case batched::Op::none:
      x = lu.template forward<Access::column, true>(x);
      return lu.template backward<Access::column, false>(x);
    case batched::Op::transpose:
      x = lu.template forward<Access::row, false>(x);
      return lu.template backward<Access::row, true>(x);
    default:
      x = lu.template forward<Access::adjoint_row, false>(x);
      return lu.template backward<Access::adjoint_row, true>(x);
  }
}

/// Solves L L^H x = b.
template <int W, class C>
__device__ C solve_cholesky(const LanesSubstitution<W, C>& l, C x) {
  using Access = typename LanesSubstitution<W, C>::Access;
  x = l.template forward<Access::column, false>(x);
  return l.template backward<Access::adjoint_row, false>(x);
}

}  // namespace blockjacobi::kernels
