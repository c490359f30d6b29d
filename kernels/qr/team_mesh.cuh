#pragma once

#include "kernels/qr/householder.cuh"
#include "kernels/qr/lane_mesh.cuh"

namespace blockjacobi::kernels {

/// Householder QR of a matrix of order N distributed over a LaneMesh: lane (r, c) holds the elements (r + Rows q,
/// c + Columns p). The fast path: it says if a column had a norm out of the range of FastReflector.
///
/// A step broadcasts the pivot column along the rows of the mesh; each lane then has what it needs for its part of the
/// inner products with its own columns, which are summed over the rows of the mesh. The norm comes from the broadcast
/// column, so that its square root and reciprocal run beside the inner products.
///
/// P steps at a time are one loop that is not unrolled; the next P steps work on the registers of the rows and columns
/// that remain.
template <class C, int N, class Mesh, int P>
struct MeshQr {
  using Real = detail::arithmetic_real_t<C>;
  using Tile = MeshTile<C, N, Mesh>;
  static constexpr int row_slots = (N + Mesh::rows - 1) / Mesh::rows;
  static constexpr int column_slots = (N + Mesh::columns - 1) / Mesh::columns;
  static_assert(Mesh::columns % P == 0 && (P % Mesh::rows == 0 || Mesh::rows % P == 0));

  __device__ explicit MeshQr(const Mesh& lane_) : lane(lane_) {}

  /// From a MeshTile. Rows and columns n .. N - 1 become zero; H = I for them.
  __device__ void load(const C* tile, int n) {
#pragma unroll
    for (int p = 0; p < column_slots; ++p)
#pragma unroll
      for (int q = 0; q < row_slots; ++q)
        x[p][q] = row(q) < n && column(p) < n ? tile[row(q) + column(p) * Tile::ld] : C{};
  }

  /// `tau`: N scalars of shared memory. Returns whether the matrix could be served.
  __device__ bool run(C* tau) {
    served_ = true;
    phase<0>(tau);
    return served_;
  }

  /// Writes the leading n x n part of the factors to a MeshTile.
  __device__ void store(C* tile, int n) const {
#pragma unroll
    for (int p = 0; p < column_slots; ++p)
#pragma unroll
      for (int q = 0; q < row_slots; ++q)
        if (row(q) < n && column(p) < n)
          tile[row(q) + column(p) * Tile::ld] = row(q) > column(p) ? x[p][q] * scale_[p] : x[p][q];
  }

 private:
  Mesh lane;
  C x[column_slots][row_slots];
  C scale_[column_slots];  ///< of the reflectors that have been found
  C u_[row_slots];         ///< the column that comes next
  bool served_;

  __device__ int row(int q) const { return lane.row + Mesh::rows * q; }
  __device__ int column(int p) const { return lane.column + Mesh::columns * p; }

  template <int first>
  __device__ void phase(C* tau) {
    constexpr int steps = first + P <= N ? P : N - first;
#pragma unroll 1
    for (int i = 0; i < steps; ++i) step<first>(first + i, tau);
    if constexpr (first + P < N) phase<first + P>(tau);
  }

  template <int first>
  __device__ void step(int k, C* tau) {
    // Slots that remain; rows q1 .. are below row k in all of the phase.
    constexpr int p0 = first / Mesh::columns, q0 = first / Mesh::rows;
    constexpr int behind = (first + P - 1) / Mesh::rows + 1, q1 = behind < row_slots ? behind : row_slots;
    const int owner = k % Mesh::columns;
    C u[row_slots];
#pragma unroll
    for (int q = q0; q < row_slots; ++q) u[q] = Mesh::broadcast(x[p0][q], lane.row, owner);
    const C alpha = diagonal<p0, q0, q1>(u, k);
#pragma unroll
    for (int q = q0; q < q1; ++q) u[q] = row(q) > k ? u[q] : C{};
    const Real tail = Mesh::sum_rows(squares<q0>(u));
    auto h = FastReflector<C>::make(alpha, tail);
    if (Team<Mesh::lanes>::any_in_warp(tail == Real(0))) {
      int nonzero = 0;
#pragma unroll
      for (int q = q0; q < row_slots; ++q) nonzero |= detail::is_zero(u[q]) ? 0 : 1;
      const bool tail_is_zero = Mesh::sum_rows(nonzero) == 0;
      if (tail == Real(0)) h.resolve_vanishing_tail(alpha, tail_is_zero);
    }
    served_ = served_ && h.served;
#pragma unroll
    for (int q = q0; q < q1; ++q) u[q] = select(row(q) == k, h.first, u[q]);

#pragma unroll
    for (int p = p0; p < column_slots; ++p) {
      C factor = h.gamma * Mesh::sum_rows(inner_product<q0>(u, x[p]));
      if (p == p0) factor = lane.column > owner ? factor : C{};
#pragma unroll
      for (int q = q0; q < row_slots; ++q) x[p][q] = fused_subtract(x[p][q], factor, u[q]);
    }
    const bool own = lane.column == owner;
#pragma unroll
    for (int q = q0; q < q1; ++q) x[p0][q] = select(own && row(q) == k, detail::from_real<C>(h.beta), x[p0][q]);
    scale_[p0] = select(own, h.scale, scale_[p0]);
    if (lane.rank() == 0) tau[k] = h.tau;
  }

  /// x_kk. `u`: column k, as broadcast.
  template <int p0, int q0, int q1>
  __device__ C diagonal(const C (&u)[row_slots], int k) const {
    if constexpr (Mesh::rows == 1) {
      C element = u[q0];
#pragma unroll
      for (int q = q0 + 1; q < q1; ++q) element = select(q == k, u[q], element);
      return element;
    } else {
      C element = x[p0][q0];
#pragma unroll
      for (int q = q0 + 1; q < q1; ++q) element = select(k / Mesh::rows == q, x[p0][q], element);
      return Mesh::broadcast(element, k % Mesh::rows, k % Mesh::columns);
    }
  }

  /// Of the lane's parts of u and y.
  template <int q0>
  __device__ static C inner_product(const C (&u)[row_slots], const C (&y)[row_slots]) {
    C sum[2] = {};  // a chain a sum; the elements that wait for the reflector come last
#pragma unroll
    for (int q = row_slots - 1; q >= q0; --q) sum[q % 2] = fused_subtract(sum[q % 2], -detail::conj(u[q]), y[q]);
    return sum[0] + sum[1];
  }

  template <int q0>
  __device__ static Real squares(const C (&u)[row_slots]) {
    Real sum[2] = {};
#pragma unroll
    for (int q = q0; q < row_slots; ++q) sum[q % 2] = add_square(sum[q % 2], u[q]);
    return sum[0] + sum[1];
  }
};

}  // namespace blockjacobi::kernels
