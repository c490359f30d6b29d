#pragma once

#include "kernels/collectives/product_tile.cuh"
#include "kernels/collectives/update_tile.cuh"
#include "kernels/inverse/policy.hpp"

namespace blockjacobi::kernels {

/// What Gauss-Jordan elimination by a thread block has in shared memory, for matrices of order n.
template <class C, int W>
struct GaussJordanLayout {
  using Tile = UpdateTile<C, W>;
  /// Columns of a panel if the matrix has several.
  static constexpr int outer = detail::Arithmetic<C>::is_complex ? 16 : 32;
  using Product = ProductTile<C, outer>;

  int rows;           ///< of the panel, a multiple of 8
  int ld;             ///< of the panel
  int panel_columns;  ///< a multiple of W, or of at least n columns
  int staged, panel;  ///< elements
  int buffers;        ///< panels of which B is in shared memory, a power of two
  int stages;         ///< pieces of P that a warp has in shared memory

  /// Threads that have all rows.
  __host__ __device__ static constexpr int threads(int n) { return (n + 31) / 32 * 32; }

  static constexpr int staged_bytes = Product::staged * static_cast<int>(sizeof(double));
  static constexpr int piece_bytes = Product::piece * static_cast<int>(sizeof(C));

  /// For matrices of orders up to n.
  static constexpr GaussJordanPolicy policy(int n) { return gauss_jordan_policy(scalar_of<C>, n); }

  __host__ __device__ static constexpr GaussJordanLayout of(int n, const GaussJordanPolicy& policy) {
    constexpr int element = static_cast<int>(sizeof(C));
    if (policy.place == GaussJordanPlace::resident) return resident(n);
    const int rows = (n + 7) / 8 * 8, rounded = (n + W - 1) / W * W, ld = Tile::conflict_free_ld(rows);
    const int columns = policy.place == GaussJordanPlace::whole || rounded < outer ? rounded : outer;
    const int staged = (W * Tile::conflict_free_stride(columns) + 3) / 4 * 4, panel = (ld * columns + 3) / 4 * 4;
    const int buffers = n <= 2 * outer ? 1 : 2;
    const int products =
        columns < n ? (buffers * staged_bytes + threads(n) / 32 * policy.stages * piece_bytes) / element - staged : 0;
    return {rows, ld, columns, staged, products > panel ? products : panel, buffers, policy.stages};
  }

  /// Of one of the panels that a thread block of a cluster has.
  __host__ __device__ static constexpr GaussJordanLayout dealt(int n) {
    constexpr int element = static_cast<int>(sizeof(C)), inner = W * Tile::conflict_free_stride(outer), stages = 2;
    const int rows = (n + 7) / 8 * 8, ld = Tile::conflict_free_ld(rows);
    const int products = (staged_bytes + threads(n) / 32 * stages * piece_bytes) / element;
    return {rows, ld, outer, ((inner > products ? inner : products) + 3) / 4 * 4, ld * outer, 1, stages};
  }

 private:
  __host__ __device__ static constexpr GaussJordanLayout resident(int n) {
    constexpr int inner = W * Tile::conflict_free_stride(outer), product = staged_bytes / static_cast<int>(sizeof(C));
    constexpr int staged = ((inner > product ? inner : product) + 3) / 4 * 4;
    const int rows = (n + 7) / 8 * 8, ld = Tile::conflict_free_ld(rows), panels = (n + outer - 1) / outer;
    return {rows, ld, outer, staged, (panels - 1) * ld * outer, 1, 0};
  }
};

}  // namespace blockjacobi::kernels
