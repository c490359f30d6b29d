#pragma once

#include "kernels/collectives/row_tile.cuh"

namespace blockjacobi::kernels {

/// Gauss-Jordan inversion of a Hermitian positive definite matrix, by rows in the registers of a team as RowInverse,
/// but without a search: the pivot of step k is in row k, and steps with pivots in the same register have a loop. The
/// pivot row stays as it is and is divided in the end, so that no scale of the matrix matters. One triangle is read;
/// the other one comes from it through shared memory, where the result meets its adjoint, too.
template <class C, int N, int L, int R>
class DefiniteRows {
  using Real = detail::arithmetic_real_t<C>;
  using Tile = RowTile<C, N, L, R>;

 public:
  static constexpr int ld = N | 1;  ///< odd, so that rows and columns are read without bank conflicts

  /// `shared`: N columns.
  __device__ DefiniteRows(C* shared, int rank) : shared_(shared), rank_(rank) {}

  /// Reads one triangle and has the other one from it.
  template <class Matrix>
  __device__ void load(const Matrix& a, bool upper) {
    // Two choices, since the copies of one for both steps would take more registers.
    with_triangle(upper, [&]<bool above>() {
      for_each([&](int q, int i, int j) {
        const bool wanted = is_given<above>(i, j) && i < a.n && j < a.n;
        tile_.x[q][j] = wanted ? a.data[i + j * static_cast<offset_t>(a.ld)] : C{};
      });
    });
    tile_.embed(a, rank_);
    if constexpr (!Team<L>::power_of_two) Team<L>::sync();  // spare lanes have read rows of others
    with_triangle(upper, [&]<bool above>() {
      for_each([&](int q, int i, int j) {
        if (exists(i) && is_given<above>(i, j)) shared_[i + j * ld] = tile_.x[q][j];
      });
      Team<L>::sync();
      for_each([&](int q, int i, int j) {
        if (!is_given<above>(i, j)) tile_.x[q][j] = detail::conj(shared_[j + min(i, N - 1) * ld]);
      });
    });
    Team<L>::sync();
  }

  /// Returns 0 or the first k (1-based) of n whose pivot is not positive; the result is NaN then.
  __device__ int invert(int n) {
    C current[R];
    tile_.column(0, current);
    Divisor<Real> pivot = find_pivot(0, current[0], 0);
    eliminate<0>(current, pivot);
    const int info = info_ <= n ? info_ : 0;  // what is not finite spreads to the rows behind
#pragma unroll
    for (int q = 0; q < R; ++q) {
      tile_.x[q][0] = current[q];
      if (info != 0) scale_[q] = quiet_nan<Real>();
    }
    symmetrize();
    return info;
  }

  template <class Matrix>
  __device__ void store(const Matrix& x) {
    for_each([&](int q, int i, int j) {
      if (exists(i) && i < x.n && j < x.n) x.data[i + j * static_cast<offset_t>(x.ld)] = tile_.x[q][j];
    });
  }

  /// One triangle alone, its columns back to back.
  __device__ void store_packed(C* to, int n, bool upper) {
    for_each([&](int q, int i, int j) {
      const int column = upper ? j * (j + 1) / 2 : j * (2 * n - j - 1) / 2;
      if (exists(i) && i < n && j < n && (upper ? i <= j : i >= j)) to[column + i] = tile_.x[q][j];
    });
  }

 private:
  /// visit(q, i, j) for the elements of this lane.
  template <class Visit>
  __device__ void for_each(Visit visit) {
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int q = 0; q < R; ++q) visit(q, Tile::row(rank_, q), j);
  }

  template <class Visit>
  __device__ static void with_triangle(bool upper, Visit visit) {
    if (upper)
      visit.template operator()<true>();
    else
      visit.template operator()<false>();
  }
  template <bool above>
  __device__ static bool is_given(int i, int j) {
    return above ? i <= j : i >= j;
  }
  /// Whether row i of this lane is one of the matrix.
  __device__ bool exists(int i) const { return (Team<L>::power_of_two || rank_ < L) && (L * R == N || i < N); }

  /// Divides the rows and takes half the sum with the adjoint. Both have small residuals, and so has the sum; that of
  /// one triangle, mirrored, would grow with the condition.
  __device__ void symmetrize() {
    for_each([&](int q, int i, int j) {
      tile_.x[q][j] = scaled(tile_.x[q][j], Real(0.5) * scale_[q]);
      if (exists(i)) shared_[i + j * ld] = tile_.x[q][j];
    });
    Team<L>::sync();
    for_each(
        [&](int q, int i, int j) { tile_.x[q][j] = tile_.x[q][j] + detail::conj(shared_[j + min(i, N - 1) * ld]); });
    Team<L>::sync();
  }

  /// The pivot of step k, by all lanes: the candidate of the lane `owner`.
  __device__ Divisor<Real> find_pivot(int k, C candidate, int owner) {
    const Real pivot = Team<L>::broadcast(detail::real_part(candidate), owner);
    if (!(pivot > Real(0)) && info_ == 0) info_ = k + 1;
    return Divisor<Real>(pivot);
  }

  /// Steps whose pivot row is in register `slot`, and those behind.
  template <int slot>
  __device__ void eliminate(C (&current)[R], Divisor<Real>& pivot) {
#pragma unroll 1
    for (int owner = 0; owner < min(L, N - slot * L); ++owner) step<slot>(owner, current, pivot);
    if constexpr ((slot + 1) * L < N) eliminate<slot + 1>(current, pivot);
  }

  /// Reads register j and writes register j - 1, as RowInverse does. The next pivot is found beside the update.
  template <int slot>
  __device__ void step(int owner, C (&current)[R], Divisor<Real>& pivot) {
    C factor[R], last[R];
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const bool is_pivot = q == slot && rank_ == owner;
      factor[q] = is_pivot ? C{} : scaled(scaled(current[q], pivot.power), pivot.inverse);
      last[q] = is_pivot ? detail::from_real<C>(Real(1)) : -factor[q];
    }
    scale_[slot] = rank_ == owner ? pivot.reciprocal() : scale_[slot];
#pragma unroll
    for (int j = 1; j < N; ++j) {
      C column[R];
      tile_.column(j, column);
      const C v = Team<L>::broadcast(column[slot], owner);
#pragma unroll
      for (int q = 0; q < R; ++q) (j == 1 ? current[q] : tile_.x[q][j - 1]) = fused_subtract(column[q], factor[q], v);
      if (j == 1) {
        const bool same = owner + 1 < L;
        const C candidate = same ? current[slot] : current[min(slot + 1, R - 1)];
        pivot = find_pivot(slot * L + owner + 1, candidate, same ? owner + 1 : 0);
      }
    }
#pragma unroll
    for (int q = 0; q < R; ++q) tile_.x[q][N - 1] = last[q];
  }

  Tile tile_;
  C* shared_;
  int rank_;
  int info_ = 0;
  Real scale_[R] = {};  ///< by which the rows are multiplied in the end
};

}  // namespace blockjacobi::kernels
