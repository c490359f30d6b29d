#pragma once

#include "kernels/qr/cta_bands.cuh"
#include "kernels/qr/householder.cuh"

namespace blockjacobi::kernels {

/// Householder QR of 8 columns of a matrix by the warps that have the rows on and below their diagonal, column by
/// column (GEQR2) and in the precision of the matrix.
template <class C, int T, int R>
class QrByColumns : public QrBands<C, T, R> {
 public:
  using Base = QrBands<C, T, R>;
  using typename Base::Tile;
  using typename Base::Wide;
  using Real = detail::arithmetic_real_t<C>;

  using Base::Base;

  /// The columns from `first` on become the reflectors, in the matrix and in y. By the warps from `top` on, which have
  /// all rows on and below the diagonal. Returns the tau of the lane's column.
  __device__ Wide eliminate(Tile (&y)[R], int first, int top) const {
    const int own_column = lane_column(), lane_in_row = Tile::lane() % 4;
    const int diagonal = (first - warp() * band) / 8;  // the tile in which it is
    const bool has_diagonal = diagonal >= 0 && diagonal < R;
    Column x;  // below the diagonal tile, and that
    C(&d)[2] = x[R];
    d[0] = d[1] = C{};
#pragma unroll
    for (int r = 0; r < R; ++r) {
      if (r < diagonal) store(y[r], r, first);
#pragma unroll
      for (int v = 0; v < 2; ++v) {
        const C value = narrowed<C>(y[r].get(v));
        if (r == diagonal) d[v] = value;
        x[r][v] = r > diagonal ? value : C{};
      }
    }
    C tau{}, scale = detail::from_real<C>(1);
#pragma unroll 1
    for (int l = 0; l < min(8, steps_ - first); ++l) {
      Real power = 1;
      bool careful = false, tail_is_zero = false;
      Column u;
      Sums sums;
      FastReflector<C> h;
#pragma unroll 1
      while (true) {
#pragma unroll
        for (int r = 0; r <= R; ++r)
#pragma unroll
          for (int v = 0; v < 2; ++v) {
            const C value = Warp::broadcast(x[r][v], Tile::lane_of_row(l) + lane_in_row);
            u[r][v] = r < R || Tile::column(v) > l ? value : C{};
          }
        if (has_diagonal && lane_in_row == l % 4) common_.heads[l % 2][own_column] = l < 4 ? d[0] : d[1];
        sums = sums_of(u, x, l, top);
        h = FastReflector<C>::make(sums.alpha, sums.tail);
        // Uniform in the warps at work. Squares that underflowed do not make a tail zero.
        if (careful || (sums.tail != 0 && h.served)) break;
        careful = true;
        const auto scaling = NormScale<Real>::of(largest_word(u, sums.alpha, top, tail_is_zero));
        power = scaling.inverse;
#pragma unroll
        for (int r = 0; r <= R; ++r)
#pragma unroll
          for (int v = 0; v < 2; ++v)
            if (own_column == l && (r < R || Tile::column(v) >= l)) x[r][v] = scaled(x[r][v], scaling.power);
      }
      if (tail_is_zero && is_real(sums.alpha)) h.resolve_vanishing_tail(sums.alpha, true);
      const C factor = own_column > l ? h.gamma * (sums.total + detail::conj(h.first) * sums.head) : C{};
      if (own_column == l) {
        tau = h.tau;
        scale = h.scale;
      }
#pragma unroll
      for (int r = 0; r <= R; ++r)
#pragma unroll
        for (int v = 0; v < 2; ++v) {
          const bool on_diagonal = r == R && Tile::column(v) == l;
          x[r][v] = fused_subtract(x[r][v], factor, on_diagonal ? h.first : u[r][v]);
          if (on_diagonal && own_column == l) x[r][v] = detail::from_real<C>(h.beta * power);
        }
    }
    const bool exists = first + own_column < steps_;
    if (warp() == top && lane_in_row == 0 && exists) tau_[first + own_column] = tau;

#pragma unroll
    for (int v = 0; v < 2; ++v)
      if (Tile::column(v) > own_column) d[v] = d[v] * scale;
    if (has_diagonal) store(d, diagonal, first);
#pragma unroll
    for (int v = 0; v < 2; ++v)
      if (Tile::column(v) <= own_column) d[v] = detail::from_real<C>(Tile::column(v) == own_column);
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int v = 0; v < 2; ++v) x[r][v] = x[r][v] * scale;
      if (r > diagonal) store(x[r], r, first);
#pragma unroll
      for (int v = 0; v < 2; ++v) y[r].set(v, exists ? widened(r == diagonal ? d[v] : x[r][v]) : Wide{});
    }
    return widened(tau);
  }

 protected:
  using Base::a_;
  using Base::band;
  using Base::bands;
  using Base::common_;
  using Base::lane_column;
  using Base::steps_;
  using Base::store;
  using Base::synchronize;
  using Base::tau_;
  using Base::warp;

 private:
  using Warp = Team<32>;

  /// The rows of this warp below the tile on the diagonal, and that tile.
  using Column = C[R + 1][2];

  /// Of a step: the sums over the rows below its own of conj(u_i) y_i for the lane's column y, and their own elements.
  struct Sums {
    C total, head;
    Real tail;  ///< |u|^2
    C alpha;
  };

  __device__ Sums sums_of(const Column& u, const Column& x, int l, int top) const {
    const int k = Tile::lane() % 4, warps = bands(a_.rows) - top;
    C sum[2]{};
#pragma unroll
    for (int r = 0; r <= R; ++r)
#pragma unroll
      for (int v = 0; v < 2; ++v) sum[v] = fused_add(sum[v], detail::conj(u[r][v]), x[r][v]);
    C total = over_lanes(sum[0] + sum[1]);
    if (k == 0 && warps > 1) common_.sums[l % 2][warp() - top][lane_column()] = total;
    synchronize(top);
    if (warps > 1) {
      total = C{};
#pragma unroll 4
      for (int w = k; w < warps; w += 4) total = total + common_.sums[l % 2][w][lane_column()];
      total = over_lanes(total);
    }
    const Real tail = Warp::broadcast(detail::real_part(total), Tile::lane_of_row(l));
    return {total, common_.heads[l % 2][lane_column()], tail, common_.heads[l % 2][l]};
  }
  /// Over the four lanes of a column.
  __device__ static C over_lanes(C sum) {
    sum = sum + Team<4>::exchange(sum, 1);
    return sum + Team<4>::exchange(sum, 2);
  }

  /// The largest magnitude word of the column, and whether there is more than zeros below its first element.
  __device__ unsigned largest_word(const Column& u, C alpha, int top, bool& tail_is_zero) const {
    unsigned word = 0;
    bool zero = true;
#pragma unroll
    for (int r = 0; r <= R; ++r)
#pragma unroll
      for (int v = 0; v < 2; ++v) {
        word = max(word, magnitude_word(u[r][v]));
        zero = zero && detail::is_zero(u[r][v]);
      }
    word = Warp::max(word) << 1 | Warp::any_in_warp(!zero);
    if (Tile::lane() == 0) common_.words[warp()] = word;
    synchronize(top);
    unsigned largest = magnitude_word(alpha);
    tail_is_zero = true;
    for (int w = top; w < bands(a_.rows); ++w) {
      const unsigned other = common_.words[w];
      largest = max(largest, other >> 1);
      tail_is_zero = tail_is_zero && other % 2 == 0;
    }
    return largest;
  }
};

}  // namespace blockjacobi::kernels
