#pragma once

#include "kernels/qr/cta_columns.cuh"
#include "kernels/qr/shared_tensor_tile.cuh"

namespace blockjacobi::kernels {

/// Householder QR of one m x n matrix in place by a thread block, with the products in fp64 on the tensor cores, left
/// to right by panels of 8 T columns. Each warp has a band of 8 R rows of the panel in its registers. All reflectors
/// before are applied to the panel, 16 at a time, and then it is factorized by tiles of 8 columns: a tile column by
/// column, in the precision of the matrix, whose reflectors are applied to the tiles behind it.
///
/// Tiles are transposed, of the panel C as of the reflectors V: lanes have columns, so that the product C^T conj(V)
/// and the update of C^T take the tiles as they stand in the registers; only the update needs the other form of V.
/// Each warp reads both from its own rows, which `stages` times 16 reflectors ahead are brought to shared memory, or
/// without stages from the matrix twice. Products are summed over the warps in shared memory.
///
/// H_1^H .. H_w^H = I - V T^H V^H with T = (D + U)^-1, U = V^H V above the diagonal (LARFT), formed for 16 reflectors.
template <class C, int T, int R, int stages>
class CtaQr : QrByColumns<C, T, R> {
 public:
  using Base = QrByColumns<C, T, R>;
  using Base::band;
  using Base::bands;
  using Base::width;
  using typename Base::Tile;
  using typename Base::Wide;
  using Stages = ReflectorStages<C, R, stages>;
  static constexpr int depth = Stages::depth;  ///< reflectors applied at once
  static_assert(T % 2 == 0, "products are of two tiles above each other");

  /// Rows and columns of the largest matrix.
  __host__ __device__ static constexpr std::size_t bytes(int rows, int columns) {
    return sizeof(Common) + static_cast<std::size_t>(bands(rows)) * (sizeof(Products) + Stages::elements * sizeof(C)) +
           static_cast<std::size_t>(triangles(rows, columns)) * sizeof(Triangle);
  }

  __device__ CtaQr(const detail::MatrixRef<C>& a, C* tau, unsigned char* shared)
      : Base(a, tau, shared),
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
      load(x_, first);
#pragma unroll 1
      for (int k = 0; k < end; k += depth) apply(k, end);
      prefetch(first + width);
      const int top = first / band;
      if (warp() >= top) factor_tile<0>(first, top);
      store_rest(first);
      synchronize();
    }
  }

 private:
  using Base::a_;
  using Base::common_;
  using Base::eliminate;
  using Base::load;
  using Base::load_conjugate;
  using Base::load_transposed;
  using Base::prefetch;
  using Base::steps_;
  using Base::store;
  using Base::synchronize;
  using Base::warp;
  using typename Base::Common;
  using typename Base::Factors;
  using Warp = Team<32>;
  /// V^T conj(C) over the rows of a warp: [reflectors][columns].
  using Products = TransposableTensorTile<Wide>[2][T];
  /// -T^T of 16 reflectors: the tiles on the diagonal, and the one below.
  struct Triangle {
    SharedTensorTile<Wide> diagonal[2], below;
  };
  /// Of the reflectors that others follow.
  __host__ __device__ static constexpr int triangles(int rows, int columns) {
    const int steps = rows < columns ? rows : columns, before = (columns - 1) / width * width;
    return ((before < steps ? before : steps) + depth - 1) / depth;
  }
  /// What factor_tile() has not stored.
  __device__ void store_rest(int first) const {
    const bool above = first >= (warp() + 1) * band;
#pragma unroll
    for (int c = 0; c < T; ++c)
      if (above || first + 8 * c >= steps_) {
#pragma unroll
        for (int r = 0; r < R; ++r) store(x_[c][r], r, first + 8 * c);
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

  Products* products_;   ///< of the warps
  Triangle* triangles_;  ///< of the panels that others follow
  Stages stages_;
  Tile x_[T][R];  ///< of the panel
};

}  // namespace blockjacobi::kernels
