#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/block/reflector_stages.cuh"
#include "kernels/subwarp/householder.cuh"
#include "kernels/subwarp/stored_tile.cuh"

namespace blockjacobi::kernels {

/// Householder QR of one m x n matrix in place by a thread block, with the products in fp64 on the tensor cores, left
/// to right by panels of 8 T columns. Each warp has a band of 8 R rows of the panel in its registers. All reflectors
/// before are applied to the panel, 16 at a time, and then it is factorized by tiles of 8 columns: a tile unblocked, in
/// the precision of the matrix, whose reflectors are applied to the tiles behind it.
///
/// Tiles are transposed, of the panel C as of the reflectors V: lanes have columns, so that the product C^T conj(V)
/// and the update of C^T take the tiles as they stand in the registers; only the update needs the other form of V.
/// Each warp reads both from its own rows, which `stages` times 16 reflectors ahead are brought to shared memory, or
/// without stages from the matrix twice. Products are summed over the warps in shared memory.
///
/// H_1^H .. H_w^H = I - V T^H V^H with T = (D + U)^-1, U = V^H V above the diagonal (LARFT), formed for 16 reflectors.
template <class C, int T, int R, int stages>
class BlockQr {
 public:
  using Wide = tensor_scalar_t<C>;
  using Tile = TensorTile<Wide>;
  using Real = detail::arithmetic_real_t<C>;
  using Stages = ReflectorStages<C, R, stages>;
  static constexpr int width = 8 * T, band = 8 * R;
  static constexpr int depth = Stages::depth;  ///< reflectors applied at once
  static_assert(T % 2 == 0, "products are of two tiles above each other");

  /// Rows and columns of the largest matrix.
  __host__ __device__ static constexpr int bands(int rows) { return (rows + band - 1) / band; }
  __host__ __device__ static constexpr std::size_t bytes(int rows, int columns) {
    return sizeof(Common) + static_cast<std::size_t>(bands(rows)) * (sizeof(Products) + Stages::elements * sizeof(C)) +
           static_cast<std::size_t>(triangles(rows, columns)) * sizeof(Triangle);
  }

  __device__ BlockQr(const detail::MatrixRef<C>& a, C* tau, unsigned char* shared)
      : a_(a),
        steps_(min(a.rows, a.cols)),
        tau_(tau),
        common_(*reinterpret_cast<Common*>(shared)),
        products_(reinterpret_cast<Products*>(&common_ + 1)),
        triangles_(reinterpret_cast<Triangle*>(products_ + bands(a.rows))),
        stages_(a, warp() * band,
                reinterpret_cast<C*>(triangles_ + triangles(a.rows, a.cols)) + warp() * Stages::elements) {}

  __device__ void run() {
    if (warp() >= bands(a_.rows)) return;
#pragma unroll 1
    for (int first = 0; first < a_.cols; first += width) {
      const int end = min(first, steps_);  // of the reflectors before
#pragma unroll 1
      for (int k = 0; k < stages * depth; k += depth) stages_.fetch(k, end);
      load(first);
#pragma unroll 1
      for (int k = 0; k < end; k += depth) apply(k, end);
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
  using Products = TransposableTile<Wide>[2][T];
  /// -T^T of 16 reflectors: the tiles on the diagonal, and the one below.
  struct Triangle {
    StoredTile<Wide> diagonal[2], below;
  };
  /// Of the reflectors that others follow.
  __host__ __device__ static constexpr int triangles(int rows, int columns) {
    const int steps = rows < columns ? rows : columns, before = (columns - 1) / width * width;
    return ((before < steps ? before : steps) + depth - 1) / depth;
  }
  /// What 8 reflectors are multiplied by in an update of the panel, [columns].
  using Factors = StoredPair<Wide>[T / 2];
  struct Common {
    Factors factors[2];  ///< of reflectors that are applied
    Factors own;         ///< of the panel at work, for which the warps above its diagonal do not wait
    C sums[2][16][8];    ///< of a step: [buffer][warp][column]
    C heads[2][8];       ///< its row
    unsigned words[16];  ///< of a step that needs care
  };

  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  /// The matrix's column of the lane in a tile, and its first row.
  __device__ static int lane_column() { return Tile::row(); }
  __device__ static int lane_row() { return opaque(warp() * band + Tile::lane() % 4); }
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
  __device__ void store(const C (&x)[2], int r, int first) const {
    const int row = lane_row() + 8 * r, column = first + lane_column();
    C* const to = a_.column(column) + row;
#pragma unroll
    for (int v = 0; v < 2; ++v)
      if (row + 4 * v < a_.rows && column < a_.cols) to[4 * v] = x[v];
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
  /// Adds the products of 8 reflectors with their factors to the tile columns from j on; get(r) has their conjugate
  /// tiles.
  template <class Get>
  __device__ void update(const Factors& factors, int j, Get get) {
    Tile upper[T / 2], lower[T / 2];
#pragma unroll
    for (int p = 0; p < T / 2; ++p)
      if (2 * p + 1 >= j) factors[p].get(upper[p], lower[p]);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const Tile x = get(r);
#pragma unroll
      for (int p = 0; p < T / 2; ++p)
        if (2 * p + 1 >= j) add_product(x_[2 * p][r], x_[2 * p + 1][r], upper[p], lower[p], x);
    }
  }
  __device__ void update_from_matrix(int first, const Factors& factors, int j) {
    Tile x[R];
    load_conjugate(x, first);
    update(factors, j, [&](int r) { return x[r]; });
  }
  __device__ void update_from_stage(const C* from, int second, const Factors& factors, int j) {
    update(factors, j, [&](int r) { return Stages::conjugate_tile(from, second, r); });
  }
  /// Over the warps from `first` on.
  template <bool adjoint>
  __device__ Tile sum_of_products(int first, int reflectors, int columns) const {
    Tile sum{};
#pragma unroll 8
    for (int w = first; w < bands(a_.rows); ++w) {
      const Tile part = products_[w][reflectors][columns].template get<adjoint>();
#pragma unroll
      for (int v = 0; v < 2; ++v) sum.set(v, sum.get(v) + part.get(v));
    }
    return sum;
  }

  /// Of reflectors, from number `first` on.
  __device__ int tiles_from(int first) const { return (steps_ - first + 7) / 8; }

  /// Applies the 16 reflectors from `first` on, of those before `end`.
  __device__ void apply(int first, int end) {
    const bool takes_part = warp() >= first / band;
    if (stages == 0) prefetch(first + depth);
    if (takes_part) multiply(first);
    synchronize();
#pragma unroll 1
    for (int i = warp(); i < 2 * T; i += bands(a_.rows))
      if (i / T < tiles_from(first)) make_factors(first, i / T, i % T);
    synchronize();
    if (!takes_part) return;
    if constexpr (stages == 0) {
#pragma unroll 1
      for (int c = min(2, tiles_from(first)) - 1; c >= 0; --c) update_from_matrix(first + 8 * c, common_.factors[c], 0);
    } else {
      const C* const from = stages_.conjugate(first);
      constexpr int unrolled = Tile::is_complex ? 2 : 1;  // by registers
#pragma unroll unrolled
      for (int c = 0; c < 2; ++c)
        if (c < tiles_from(first)) update_from_stage(from, c, common_.factors[c], 0);
      __syncwarp();
      stages_.fetch(first + stages * depth, end);
    }
  }
  __device__ void multiply(int first) const {
    Tile upper[T]{}, lower[T]{};
    if constexpr (stages == 0) {
      Tile v_upper[R], v_lower[R];
      load_transposed(v_upper, first);
      load_transposed(v_lower, first + 8);
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int j = 0; j < T; ++j) add_product(upper[j], lower[j], v_upper[r], v_lower[r], x_[j][r]);
    } else {
      stages_.wait(first);
      const C* const from = stages_.transposed(first);
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const Tile v_upper = Stages::transposed_tile(from, 0, r), v_lower = Stages::transposed_tile(from, 1, r);
#pragma unroll
        for (int j = 0; j < T; ++j) add_product(upper[j], lower[j], v_upper, v_lower, x_[j][r]);
      }
    }
#pragma unroll
    for (int j = 0; j < T; ++j) {
      products_[warp()][0][j].set(upper[j]);
      products_[warp()][1][j].set(lower[j]);
    }
  }
  /// Of reflector tile c for tile column j of the panel.
  __device__ void make_factors(int first, int c, int j) const {
    const Triangle& triangle = triangles_[first / depth];
    Tile factors{};
    add_product(factors, sum_of_products<true>(first / band, c, j), triangle.diagonal[c].get());
    if (c > 0) add_product(factors, sum_of_products<true>(first / band, 0, j), triangle.below.get());
    common_.factors[c][j / 2].set(j % 2, factors);
  }

  template <int c>
  __device__ void factor_tile(int panel, int top) {
    const int first = panel + 8 * c;
    if (first >= steps_) return;
    const Wide tau = eliminate(x_[c], first, top);
    if (first + 8 >= a_.cols) return;
    if constexpr (stages > 0) {  // which are all free
      C* const to = stages_.transposed(0);
#pragma unroll
      for (int r = 0; r < R; ++r) Stages::put_transposed_tile(to, r, x_[c][r]);
    }
    __syncwarp();
#pragma unroll
    for (int j = c / 2 * 2; j < T; ++j) {
      Tile product{};
#pragma unroll
      for (int r = 0; r < R; ++r) add_product(product, x_[c][r], x_[j][r]);
      products_[warp()][0][j].set(product);
    }
    synchronize(top);
    combine(c, panel, top, tau);
    if constexpr (c + 1 < T) {
      synchronize(top);
      if constexpr (stages == 0)
        update_from_matrix(first, common_.own, c + 1);
      else
        update_from_stage(stages_.conjugate(0), 0, common_.own, c + 1);
      factor_tile<c + 1>(panel, top);
    }
  }
  /// Of tile column c of the panel: its part of a triangle, and the factors of the columns behind.
  __device__ void combine(int c, int panel, int top, Wide tau) const {
    const int begin = c / 2 * 2;
    if (warp() - top >= T - begin) return;
    const Tile diagonal = minus_triangle(sum_of_products<false>(top, 0, c), tau);
    const bool kept = panel + width < a_.cols;
    Triangle& triangle = triangles_[panel / depth + c / 2];
#pragma unroll 1
    for (int j = begin + warp() - top; j < T; j += bands(a_.rows) - top) {
      Tile factors{};
      if (j == c && kept) triangle.diagonal[c % 2].set(diagonal);
      if (j < c && kept) {
        Tile left{}, below{};
        add_product(left, diagonal, sum_of_products<true>(top, 0, j));
        add_product(below, left, triangle.diagonal[0].get_adjoint());
        triangle.below.set(below);
      }
      if (j > c) add_product(factors, sum_of_products<true>(top, 0, j), diagonal);
      common_.own[j / 2].set(j % 2, factors);
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
  using Column = C[R + 1][2];

  /// Of a step: the sums over the rows below its own of conj(u_i) y_i for the lane's column y, and their own elements.
  struct Sums {
    C total, head;
    Real tail;  ///< |u|^2
    C alpha;
  };

  /// Unblocked, of 8 columns, which become the reflectors. Returns the tau of the lane's column.
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

  detail::MatrixRef<C> a_;
  int steps_;
  C* tau_;
  Common& common_;
  Products* products_;   ///< of the warps
  Triangle* triangles_;  ///< of the panels that others follow
  Stages stages_;
  Tile x_[T][R];  ///< of the panel
};

}  // namespace blockjacobi::kernels
