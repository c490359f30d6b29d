#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/subwarp/householder.cuh"
#include "kernels/subwarp/stored_tile.cuh"

namespace blockjacobi::kernels {

/// Householder QR of one m x n matrix in place by a thread block, in fp64 on the tensor cores, left to right by panels
/// of 8 T columns. Each warp has a band of 8 R rows of the panel in its registers. All reflectors before are applied to
/// the panel, a panel of them at a time, and then it is factorized by tiles of 8 columns in the same manner.
///
/// Tiles are transposed, of the panel C as of the reflectors V: lanes have columns, so that the product C^T conj(V)
/// and the update of C^T take the tiles as they stand in the registers; only the update needs the other form of V,
/// which each warp reads from its own rows of the matrix. Products are summed over the warps in shared memory.
///
/// H_1^H .. H_w^H = I - V T^H V^H with T = (D + U)^-1, U = V^H V above the diagonal (LARFT). The tiles on the diagonal
/// of T are formed, from then on T^H is applied by substitution, tile by tile.
template <class C, int T, int R>
class BlockQr {
 public:
  using Wide = tensor_scalar_t<C>;
  using Tile = TensorTile<Wide>;
  static constexpr int width = 8 * T, band = 8 * R;
  static_assert(T % 2 == 0, "products are of two tiles above each other");

  /// Rows and columns of the largest matrix.
  __host__ __device__ static constexpr int bands(int rows) { return (rows + band - 1) / band; }
  __host__ __device__ static constexpr std::size_t bytes(int rows, int columns) {
    const int steps = rows < columns ? rows : columns;
    const int before = (columns - 1) / width, panels = (steps + width - 1) / width;
    return sizeof(Common) + static_cast<std::size_t>(bands(rows)) * sizeof(Products) +
           static_cast<std::size_t>(before < panels ? before : panels) * sizeof(Triangle);
  }

  __device__ BlockQr(const detail::MatrixRef<C>& a, C* tau, unsigned char* shared)
      : a_(a),
        steps_(min(a.rows, a.cols)),
        tau_(tau),
        common_(*reinterpret_cast<Common*>(shared)),
        products_(reinterpret_cast<Products*>(&common_ + 1)),
        triangles_(reinterpret_cast<Triangle*>(products_ + bands(a.rows))) {}

  __device__ void run() {
    if (warp() >= bands(a_.rows)) return;
#pragma unroll 1
    for (int first = 0; first < a_.cols; first += width) {
      load(first);
#pragma unroll 1
      for (int k = 0; k < min(first, steps_); k += width) apply(k);
      prefetch(first + width);
      const int top = first / band;
      const bool works = warp() >= top || first >= steps_;
      if (works) factor_tile<0>(first, top);
      store_rest(first);
      finish(works);
    }
  }

 private:
  using Warp = Team<32>;
  /// V^T conj(C) over the rows of a warp: [reflectors][columns].
  using Products = TransposableTile<Wide>[T][T];
  /// Of a panel: -T^T on the diagonal, and below it (V_i^H V_j)^T, i < j.
  struct Triangle {
    StoredTile<Wide> tile[T * (T + 1) / 2];
    __device__ StoredTile<Wide>& operator()(int j, int i) { return tile[j * (j + 1) / 2 + i]; }
  };
  /// What 8 reflectors are multiplied by in an update of the panel, [columns].
  using Factors = StoredPair<Wide>[T / 2];
  struct Common {
    Factors factors[T];   ///< of a panel that is applied
    Factors own;          ///< of the panel at work, for which the warps above its diagonal do not wait
    Wide sums[2][16][8];  ///< of a step: [buffer][warp][column]
    Wide heads[2][8];     ///< its row
    unsigned words[16];   ///< of a step that needs care
  };

  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  /// The matrix's column of the lane in a tile, and its first row.
  __device__ static int lane_column() { return Tile::row(); }
  __device__ static int lane_row() { return opaque(warp() * band + Tile::lane() % 4); }
  /// why: addresses and predicates of one access would stay in registers until the next
  __device__ static int opaque(int row) {
    asm volatile("" : "+r"(row));
    return row;
  }
  /// Row of value v in tile r, from lane_row() on.
  __device__ static constexpr int offset(int r, int v) { return 8 * r + 4 * v; }

  /// Waits for all warps; those without rows have left.
  __device__ void synchronize() const {
    if (bands(a_.rows) == 1)
      __syncwarp();
    else
      __syncthreads();
  }
  /// The same for those from `top` on, while the others are in finish().
  __device__ void synchronize(int top) const {
    if (bands(a_.rows) - top == 1)
      __syncwarp();
    else
      __syncthreads_or(false);
  }
  /// The end of a panel. The warps above it, which come here at once, take part in the barriers of those at work until
  /// that.
  __device__ void finish(bool works) const {
    if (bands(a_.rows) == 1)
      __syncwarp();
    else
      while (!__syncthreads_or(works)) {
      }
  }

  /// Brings a panel's rows of this warp to the L2 cache, which other matrices may have displaced.
  __device__ void prefetch(int first) const {
    constexpr int line = 128 / static_cast<int>(sizeof(C)), lines = (band + line - 1) / line;
#pragma unroll
    for (int i = 0; i < width * lines; i += 32) {
      const int place = i + Tile::lane(), column = first + place / lines, row = warp() * band + place % lines * line;
      if (column < a_.cols && row < a_.rows) asm volatile("prefetch.global.L2 [%0];" ::"l"(&a_(row, column)));
    }
  }
  __device__ void load(int first) {
    const int row = lane_row();
#pragma unroll
    for (int c = 0; c < T; ++c) {
      const int column = first + 8 * c + lane_column();
      const C* const from = a_.column(column) + row;
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int v = 0; v < 2; ++v)
          x_[c][r].set(v, row + offset(r, v) < a_.rows && column < a_.cols ? widened(from[offset(r, v)]) : Wide{});
    }
  }
  /// Tile r of this warp's rows.
  __device__ void store(const Tile& x, int r, int first) const {
    const int row = lane_row() + 8 * r, column = first + lane_column();
    C* const to = a_.column(column) + row;
#pragma unroll
    for (int v = 0; v < 2; ++v)
      if (row + 4 * v < a_.rows && column < a_.cols) to[4 * v] = narrowed<C>(x.get(v));
  }
  /// What factor() has not stored.
  __device__ void store_rest(int first) const {
    const bool above = first >= (warp() + 1) * band;
#pragma unroll
    for (int c = 0; c < T; ++c)
      if (above || first + 8 * c >= steps_) {
#pragma unroll
        for (int r = 0; r < R; ++r) store(x_[c][r], r, first + 8 * c);
      }
  }

  /// Whether the rows of this warp are inside of and below the diagonal in all of 8 reflectors.
  __device__ bool is_whole(int first) const {
    return first + 8 <= min(steps_, warp() * band) && (warp() + 1) * band <= a_.rows;
  }
  /// A value of the reflectors, whose place in the matrix is `from`.
  __device__ Wide reflector_value(const C* from, int row, int column) const {
    const bool exists = column < steps_, stored = exists && row > column && row < a_.rows;
    const Wide value = widened_finite(stored ? *from : C{});
    return exists && row == column ? detail::from_real<Wide>(1) : value;
  }
  /// This warp's rows of 8 reflectors, transposed as the panel is.
  __device__ void load_transposed(Tile (&x)[R], int first) const {
    const int row = lane_row(), column = first + lane_column();
    const C* const from = a_.column(column) + row;
    if (is_whole(first)) {
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int v = 0; v < 2; ++v) x[r].set(v, widened_finite(from[offset(r, v)]));
    } else {
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int v = 0; v < 2; ++v) x[r].set(v, reflector_value(from + offset(r, v), row + offset(r, v), column));
    }
  }
  /// The same, conjugate and not transposed.
  __device__ void load_conjugate(Tile (&x)[R], int first) const {
    const int row = opaque(warp() * band + Tile::row()), column = first + Tile::lane() % 4;
    const C* const from = a_.column(column) + row;
    const offset_t next = 4 * static_cast<offset_t>(a_.ld);
    if (is_whole(first)) {
#pragma unroll
      for (int v = 0; v < 2; ++v)
#pragma unroll
        for (int r = 0; r < R; ++r) x[r].set(v, detail::conj(widened_finite(from[v * next + 8 * r])));
    } else {
#pragma unroll
      for (int v = 0; v < 2; ++v)
#pragma unroll
        for (int r = 0; r < R; ++r)
          x[r].set(v, detail::conj(reflector_value(from + v * next + 8 * r, row + 8 * r, column + 4 * v)));
    }
  }
  /// Adds the products of 8 reflectors with their factors.
  __device__ void update(int first, const Factors& factors) {
    Tile x[R];
    load_conjugate(x, first);
#pragma unroll
    for (int j = 0; j < T; j += 2) {
      Tile upper, lower;
      factors[j / 2].get(upper, lower);
#pragma unroll
      for (int r = 0; r < R; ++r) add_product(x_[j][r], x_[j + 1][r], upper, lower, x[r]);
    }
  }
  /// Over the warps from `first` on.
  template <bool adjoint>
  __device__ Tile sum_of_products(int first, int reflectors, int columns) const {
    Tile sum{};
#pragma unroll 4
    for (int w = first; w < bands(a_.rows); ++w) {
      const Tile part = products_[w][reflectors][columns].template get<adjoint>();
#pragma unroll
      for (int v = 0; v < 2; ++v) sum.set(v, sum.get(v) + part.get(v));
    }
    return sum;
  }

  /// Of reflectors, from number `first` on.
  __device__ int tiles_from(int first) const { return (steps_ - first + 7) / 8; }

  /// Applies the panel of reflectors from `first` on.
  __device__ void apply(int first) {
    const bool takes_part = warp() >= first / band;
    prefetch(first + width);
    if (takes_part) multiply(first);
    synchronize();
#pragma unroll 1
    for (int j = warp(); j < T; j += bands(a_.rows)) substitute(first, j);
    synchronize();
    if (!takes_part) return;
#pragma unroll 1
    for (int c = min(T, tiles_from(first)) - 1; c >= 0; --c) update(first + 8 * c, common_.factors[c]);
  }
  __device__ void multiply(int first) const {
#pragma unroll 1
    for (int c = 0; c < min(T, tiles_from(first)); c += 2) {
      Tile v_upper[R], v_lower[R], upper[T]{}, lower[T]{};
      load_transposed(v_upper, first + 8 * c);
      load_transposed(v_lower, first + 8 * c + 8);
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int j = 0; j < T; ++j) add_product(upper[j], lower[j], v_upper[r], v_lower[r], x_[j][r]);
#pragma unroll
      for (int j = 0; j < T; ++j) {
        products_[warp()][c][j].set(upper[j]);
        products_[warp()][c + 1][j].set(lower[j]);
      }
    }
  }
  /// The factors of tile column j of the panel.
  __device__ void substitute(int first, int j) const {
    Triangle& triangle = triangles_[first / width];
    Tile factor[T];
#pragma unroll
    for (int c = 0; c < T; ++c) {
      if (c >= tiles_from(first)) break;
      Tile sum = sum_of_products<true>(first / band, c, j);
#pragma unroll
      for (int d = 0; d < c; ++d) add_product(sum, factor[d], triangle(c, d).get());
      factor[c] = {};
      add_product(factor[c], sum, triangle(c, c).get());
      common_.factors[c][j / 2].set(j % 2, factor[c]);
    }
  }

  template <int c>
  __device__ void factor_tile(int panel, int top) {
    const int first = panel + 8 * c;
    if (first >= steps_) return;
    const Wide tau = eliminate(x_[c], first, top);
    if (first + 8 >= a_.cols) return;
    __syncwarp();
#pragma unroll
    for (int j = 0; j < T; ++j) {
      Tile product{};
#pragma unroll
      for (int r = 0; r < R; ++r) add_product(product, x_[c][r], x_[j][r]);
      products_[warp()][0][j].set(product);
    }
    synchronize(top);
    combine(c, panel, top, tau);
    if constexpr (c + 1 < T) {
      synchronize(top);
      update(first, common_.own);
      factor_tile<c + 1>(panel, top);
    }
  }
  /// Tile column c of the panel's triangle, and the factors of the columns behind.
  __device__ void combine(int c, int panel, int top, Wide tau) const {
    if (warp() - top >= T) return;
    const Tile triangle = minus_triangle(sum_of_products<false>(top, 0, c), tau);
    const bool kept = panel + width < a_.cols;
    Triangle& own = triangles_[panel / width];
#pragma unroll 1
    for (int j = warp() - top; j < T; j += bands(a_.rows) - top) {
      Tile factor{};
      if (j == c && kept) own(c, c).set(triangle);
      if (j < c && kept) own(c, j).set(sum_of_products<false>(top, 0, j));
      if (j > c) add_product(factor, sum_of_products<true>(top, 0, j), triangle);
      common_.own[j / 2].set(j % 2, factor);
    }
  }

  /// -T^T from (V^H V)^T, in which row l has the products with reflector l, and tau_l in the lanes of row l.
  __device__ static Tile minus_triangle(const Tile& gram, Wide tau) {
    const int row = Tile::row();
    Wide x[2];
#pragma unroll
    for (int v = 0; v < 2; ++v) x[v] = detail::from_real<Wide>(row == Tile::column(v));
#pragma unroll
    for (int q = 0; q < 7; ++q) {
      const Wide product = Team<4>::broadcast(gram.get(q / 4), q % 4);
#pragma unroll
      for (int v = 0; v < 2; ++v) {
        const Wide finished = Warp::broadcast(tau * x[v], Tile::lane_of_row(q) + Tile::lane() % 4);
        if (row > q) x[v] = fused_subtract(x[v], product, finished);
      }
    }
    Tile result;
#pragma unroll
    for (int v = 0; v < 2; ++v) result.set(v, -(tau * x[v]));
    return result;
  }

  /// The rows of this warp below the tile on the diagonal, and that tile.
  using Column = Tile[R + 1];

  /// Of a step: the sums over the rows below its own of conj(u_i) y_i for the lane's column y, and their own elements.
  struct Sums {
    Wide total, head;
    double tail;  ///< |u|^2
    Wide alpha;
  };

  /// Unblocked, of 8 columns, which become the reflectors. Returns the tau of the lane's column.
  __device__ Wide eliminate(Tile (&y)[R], int first, int top) const {
    const int own_column = lane_column(), lane_in_row = Tile::lane() % 4;
    const int diagonal = (first - warp() * band) / 8;  // the tile in which it is
    const bool has_diagonal = diagonal >= 0 && diagonal < R;
    Column x;  // below the diagonal tile, and that
    Tile& d = x[R];
    d = {};
#pragma unroll
    for (int r = 0; r < R; ++r) {
      if (r < diagonal) store(y[r], r, first);
      if (r == diagonal) d = y[r];
      x[r] = r > diagonal ? y[r] : Tile{};
    }
    Wide tau{}, scale = detail::from_real<Wide>(1);
#pragma unroll 1
    for (int l = 0; l < min(8, steps_ - first); ++l) {
      double power = 1;
      bool careful = false, tail_is_zero = false;
      Column u;
      Sums sums;
      FastReflector<Wide> h;
#pragma unroll 1
      while (true) {
#pragma unroll
        for (int r = 0; r <= R; ++r)
#pragma unroll
          for (int v = 0; v < 2; ++v) {
            const Wide value = Warp::broadcast(x[r].get(v), Tile::lane_of_row(l) + lane_in_row);
            u[r].set(v, r < R || Tile::column(v) > l ? value : Wide{});
          }
        if (has_diagonal && lane_in_row == l % 4) common_.heads[l % 2][own_column] = l < 4 ? d.get(0) : d.get(1);
        sums = sums_of(u, x, l, top);
        h = FastReflector<Wide>::make(sums.alpha, sums.tail);
        // Uniform in the warps at work. Squares that underflowed do not make a tail zero.
        if (careful || (sums.tail != 0 && h.served)) break;
        careful = true;
        const auto scaling = NormScale<double>::of(largest_word(u, sums.alpha, top, tail_is_zero));
        power = scaling.inverse;
#pragma unroll
        for (int r = 0; r <= R; ++r)
#pragma unroll
          for (int v = 0; v < 2; ++v)
            if (own_column == l && (r < R || Tile::column(v) >= l)) x[r].set(v, scaled(x[r].get(v), scaling.power));
      }
      if (tail_is_zero && is_real(sums.alpha)) h.resolve_vanishing_tail(sums.alpha, true);
      const Wide factor = own_column > l ? h.gamma * (sums.total + detail::conj(h.first) * sums.head) : Wide{};
      if (own_column == l) {
        tau = h.tau;
        scale = h.scale;
      }
#pragma unroll
      for (int r = 0; r <= R; ++r)
#pragma unroll
        for (int v = 0; v < 2; ++v) {
          const bool on_diagonal = r == R && Tile::column(v) == l;
          x[r].set(v, fused_subtract(x[r].get(v), factor, on_diagonal ? h.first : u[r].get(v)));
          if (on_diagonal && own_column == l) x[r].set(v, detail::from_real<Wide>(h.beta * power));
        }
    }
    const bool exists = first + own_column < steps_;
    if (warp() == top && lane_in_row == 0 && exists) tau_[first + own_column] = narrowed<C>(tau);

#pragma unroll
    for (int v = 0; v < 2; ++v)
      if (Tile::column(v) > own_column) d.set(v, d.get(v) * scale);
    if (has_diagonal) store(d, diagonal, first);
#pragma unroll
    for (int v = 0; v < 2; ++v)
      if (Tile::column(v) <= own_column) d.set(v, detail::from_real<Wide>(Tile::column(v) == own_column));
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int v = 0; v < 2; ++v) x[r].set(v, x[r].get(v) * scale);
      if (r > diagonal) store(x[r], r, first);
      const Tile reflectors = r == diagonal ? d : x[r];
#pragma unroll
      for (int v = 0; v < 2; ++v) y[r].set(v, exists ? widened(narrowed<C>(reflectors.get(v))) : Wide{});
    }
    return tau;
  }

  __device__ Sums sums_of(const Column& u, const Column& x, int l, int top) const {
    const int k = Tile::lane() % 4, warps = bands(a_.rows) - top;
    Wide sum[2]{};
#pragma unroll
    for (int r = 0; r <= R; ++r)
#pragma unroll
      for (int v = 0; v < 2; ++v) sum[v] = fused_add(sum[v], detail::conj(u[r].get(v)), x[r].get(v));
    Wide total = over_lanes(sum[0] + sum[1]);
    if (k == 0 && warps > 1) common_.sums[l % 2][warp() - top][lane_column()] = total;
    synchronize(top);
    if (warps > 1) {
      total = Wide{};
#pragma unroll 4
      for (int w = k; w < warps; w += 4) total = total + common_.sums[l % 2][w][lane_column()];
      total = over_lanes(total);
    }
    const double tail = Warp::broadcast(detail::real_part(total), Tile::lane_of_row(l));
    return {total, common_.heads[l % 2][lane_column()], tail, common_.heads[l % 2][l]};
  }
  /// Over the four lanes of a column.
  __device__ static Wide over_lanes(Wide sum) {
    sum = sum + Team<4>::exchange(sum, 1);
    return sum + Team<4>::exchange(sum, 2);
  }

  /// The largest magnitude word of the column, and whether there is more than zeros below its first element.
  __device__ unsigned largest_word(const Column& u, Wide alpha, int top, bool& tail_is_zero) const {
    unsigned word = 0;
    bool zero = true;
#pragma unroll
    for (int r = 0; r <= R; ++r)
#pragma unroll
      for (int v = 0; v < 2; ++v) {
        word = max(word, magnitude_word(u[r].get(v)));
        zero = zero && detail::is_zero(u[r].get(v));
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

  detail::MatrixRef<C> a_;
  int steps_;
  C* tau_;
  Common& common_;
  Products* products_;   ///< of the warps
  Triangle* triangles_;  ///< of the panels that others follow
  Tile x_[T][R];         ///< of the panel
};

}  // namespace blockjacobi::kernels
