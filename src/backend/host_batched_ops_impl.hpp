#pragma once

#include "backend/host_batched_ops.hpp"

#include "backend/host_cholesky.hpp"
#include "backend/host_fixed_size.hpp"
#include "backend/host_invert.hpp"
#include "backend/host_lu.hpp"
#include "backend/host_pseudo_inverse.hpp"
#include "backend/host_qr.hpp"

#include <omp.h>

#include <vector>

namespace blockjacobi::detail {

/// f(k) for every matrix, in threads where there is enough work for them.
template <class M, class F>
void for_matrices(const MatrixBatchView<M>& batch, int threads, F&& f) {
  constexpr offset_t smallest_parallel_work = 16384;  // elements; below it waking threads costs more than it saves
  const offset_t elements = std::max<offset_t>(1, offset_t{batch.rows} * batch.cols);
  const auto chunk = static_cast<int>(std::max<offset_t>(1, 8192 / elements));
  // dynamic: pivoting, early exits and orders make matrices differ in cost
#pragma omp parallel for num_threads(threads) \
    schedule(dynamic, chunk) if (batch.count > smallest_parallel_work / elements)
  for (offset_t k = 0; k < batch.count; ++k) f(k);
}

/// matrix_of(batch, k, shape...) in the compute scalar.
template <class T, class... Shape>
auto compute_matrix(const MatrixBatchView<T>& batch, offset_t k, Shape... shape) {
  const MatrixRef<T> a = matrix_of(batch, k, shape...);
  auto* const data = compute_cast(a.data);
  return MatrixRef<std::remove_pointer_t<decltype(data)>>{data, a.rows, a.cols, a.ld};
}

/// Order of the tile on the stack for work on a matrix of order N, or of a run-time order without panels (N = 0).
template <int N>
inline constexpr int tile_order = N > 0 ? N : lu_panel_width;

/// The matrix a, of order n, in a tile on the stack.
template <class C, class Order>
void load_tile(const MatrixRef<C>& a, Order n, std::remove_const_t<C>* tile) {
  for (int j = 0; j < n; ++j) std::copy_n(a.column(j), static_cast<int>(n), tile + j * n);
}
template <class C, class Order>
void store_tile(const C* tile, Order n, const MatrixRef<C>& a) {
  for (int j = 0; j < n; ++j) std::copy_n(tile + j * n, static_cast<int>(n), a.column(j));
}

/// LU of one matrix; N is its order or 0 for any.
template <int N, Scalar T>
int lu_matrix(const MatrixRef<compute_t<T>>& a, index_t* pivots) {
  if constexpr (N > 0) {
    Tile<compute_t<T>, N> tile;
    constexpr std::integral_constant<int, N> n;
    load_tile(a, n, tile.data());
    const int info = lu_by_columns(tile.data(), n, n, n, pivots);
    store_tile(tile.data(), n, a);
    return info;
  } else {
    return lu_paneled<T>(a, pivots);
  }
}

template <int N, Scalar T>
void invert_lu_matrix(const MatrixRef<const compute_t<T>>& lu, const index_t* pivots,
                      const MatrixRef<compute_t<T>>& x) {
  if constexpr (N > 0) {
    Tile<compute_t<T>, N> tile;
    constexpr std::integral_constant<int, N> n;
    load_tile(lu, n, tile.data());
    invert_lu_by_columns(tile.data(), n, n, pivots);
    store_tile(tile.data(), n, x);
  } else {
    copy_matrix(lu, x);
    invert_lu_paneled<T>(x, pivots);
  }
}

template <int N, Scalar T>
int invert_matrix(const MatrixRef<const compute_t<T>>& a, const MatrixRef<compute_t<T>>& x) {
  if constexpr (N == 0)
    if (a.rows > tile_order<N>) {
      copy_matrix(a, x);
      return paneled_gauss_jordan(reinterpret_cast<T*>(x.data), x.rows, x.ld);
    }
  const auto n = order_of<N>(a.rows);
  Tile<compute_t<T>, tile_order<N>> tile;
  load_tile(a, n, tile.data());
  const int info = gauss_jordan(tile.data(), n);
  if (info == 0) store_tile(tile.data(), n, x);
  return info;
}

template <Scalar T>
void HostBatchedOps<T>::getrf(const MatrixBatchView<T>& a, index_t* ipiv, int* info) {
  for_matrices(a, threads_, [&](offset_t k) {
    const auto matrix = compute_matrix(a, k);
    index_t* const pivots = ipiv + k * a.rows;
    with_fixed_size(matrix.rows, [&](auto fixed) { info[k] = lu_matrix<fixed(), T>(matrix, pivots); });
    for (index_t i = 0; i < matrix.rows; ++i) ++pivots[i];
  });
}

template <Scalar T>
void HostBatchedOps<T>::getri(const MatrixBatchView<const T>& lu, const index_t* ipiv, const MatrixBatchView<T>& x,
                              int* info) {
  for_matrices(lu, threads_, [&](offset_t k) {
    const auto factors = compute_matrix(lu, k);
    const index_t n = factors.rows;
    const auto inverse = compute_matrix(x, k, n, n);
    info[k] = first_zero_diagonal(factors.data, factors.ld, n);
    if (info[k] != 0 || !all_finite(factors)) return fill_matrix(inverse, quiet_nan<compute_t<T>>());
    std::array<index_t, max_block_size> pivots;
    for (index_t i = 0; i < n; ++i) pivots[static_cast<std::size_t>(i)] = ipiv[k * lu.rows + i] - 1;
    with_fixed_size(n, [&](auto fixed) { invert_lu_matrix<fixed(), T>(factors, pivots.data(), inverse); });
  });
}

template <Scalar T>
void HostBatchedOps<T>::inverse(const MatrixBatchView<const T>& a, const MatrixBatchView<T>& x, int* info) {
  for_matrices(a, threads_, [&](offset_t k) {
    const auto matrix = compute_matrix(a, k);
    const auto inverse = compute_matrix(x, k, matrix.rows, matrix.rows);
    // why: 1 / Inf is 0, so that the elimination alone would give finite results.
    const bool finite = all_finite(matrix);
    with_fixed_size(matrix.rows, [&](auto fixed) { info[k] = invert_matrix<fixed(), T>(matrix, inverse); });
    if (info[k] != 0 || !finite) fill_matrix(inverse, quiet_nan<compute_t<T>>());
  });
}

template <Scalar T>
void HostBatchedOps<T>::getrs(batched::Op op, const MatrixBatchView<const T>& lu, const index_t* ipiv,
                              const MatrixBatchView<T>& b) {
  for_matrices(lu, threads_, [&](offset_t k) {
    const auto factors = compute_matrix(lu, k);
    const auto right = compute_matrix(b, k);
    solve_lu_columns<T>(op, factors, ipiv + k * lu.rows, right);
  });
}

/// Cholesky work from one triangle to another, or to itself; N is the order or 0 for any. `small` takes a tile of which
/// the upper triangle counts, its leading dimension and the order, `tiled` a TiledCholesky; both return info.
template <int N, Scalar T, class Source, class Small, class Tiled>
int on_upper_triangle(const Triangle<Source>& from, const Triangle<compute_t<T>>& to, Small&& small, Tiled&& tiled) {
  using C = compute_t<T>;
  if constexpr (N == 0)
    if (from.order() > tile_order<N>) {
      copy_triangle(from, to);
      TiledCholesky<T> cholesky(to);
      return tiled(cholesky);
    }
  const auto n = order_of<N>(from.order());
  Tile<C, tile_order<N>> tile;
  const MatrixRef<C> upper{tile.data(), n, n, n};
  from.load(0, 0, upper);
  const int info = small(tile.data(), n);
  to.store(0, 0, upper);
  return info;
}

template <int N, Scalar T>
int factor_triangle(const Triangle<compute_t<T>>& a) {
  return on_upper_triangle<N, T>(
      a, a, [](auto* tile, auto n) { return cholesky_upper(tile, n, n); }, [](auto& tiled) { return tiled.factor(); });
}

template <int N, Scalar T>
int invert_triangle(const Triangle<compute_t<T>>& a) {
  return on_upper_triangle<N, T>(
      a, a, [](auto* tile, auto n) { return invert_cholesky_upper(tile, n, n); },
      [](auto& tiled) { return tiled.invert(); });
}

template <int N, Scalar T>
int invert_spd(const Triangle<const compute_t<T>>& a, const Triangle<compute_t<T>>& x) {
  const auto small = [](auto* tile, auto n) {
    const int info = cholesky_upper(tile, n, n);
    return info != 0 ? info : invert_cholesky_upper(tile, n, n);
  };
  const auto tiled = [](auto& cholesky) {
    const int info = cholesky.factor();
    return info != 0 ? info : cholesky.invert();
  };
  return on_upper_triangle<N, T>(a, x, small, tiled);
}

template <Scalar T>
void HostBatchedOps<T>::potrf(batched::Triangle triangle, const MatrixBatchView<T>& a, int* info) {
  for_matrices(a, threads_, [&](offset_t k) {
    const auto stored = Triangle<compute_t<T>>::rectangular(triangle, compute_matrix(a, k));
    with_fixed_size(stored.order(), [&](auto fixed) { info[k] = factor_triangle<fixed(), T>(stored); });
  });
}

template <Scalar T>
void HostBatchedOps<T>::potri(batched::Triangle triangle, const MatrixBatchView<T>& a, int* info) {
  for_matrices(a, threads_, [&](offset_t k) {
    const auto stored = Triangle<compute_t<T>>::rectangular(triangle, compute_matrix(a, k));
    const bool finite = stored.all_finite();
    with_fixed_size(stored.order(), [&](auto fixed) { info[k] = invert_triangle<fixed(), T>(stored); });
    if (info[k] != 0 || !finite) stored.fill(quiet_nan<compute_t<T>>());
  });
}

template <Scalar T>
void HostBatchedOps<T>::spd_inverse(batched::Triangle triangle, const MatrixBatchView<const T>& a,
                                    const MatrixBatchView<T>& x, batched::SpdStorage storage, int* info) {
  using C = compute_t<T>;
  const bool packed = storage == batched::SpdStorage::packed;
  for_matrices(a, threads_, [&](offset_t k) {
    const auto matrix = compute_matrix(a, k);
    const index_t n = matrix.rows;
    const auto inverse = compute_matrix(x, k, n, n);
    const auto source = Triangle<const C>::rectangular(triangle, matrix);
    const auto target =
        packed ? Triangle<C>::packed(triangle, inverse.data, n) : Triangle<C>::rectangular(triangle, inverse);
    const bool finite = source.all_finite();
    with_fixed_size(n, [&](auto fixed) { info[k] = invert_spd<fixed(), T>(source, target); });
    if (info[k] != 0 || !finite) target.fill(quiet_nan<C>());
    if (!packed) mirror(triangle, inverse);
  });
}

template <Scalar T>
void HostBatchedOps<T>::potrs(batched::Triangle triangle, const MatrixBatchView<const T>& cholesky,
                              const MatrixBatchView<T>& b) {
  for_matrices(cholesky, threads_, [&](offset_t k) {
    const auto factor = compute_matrix(cholesky, k);
    const auto right = compute_matrix(b, k);
    solve_cholesky_columns<T>(triangle, factor, right);
  });
}

template <Scalar T>
void HostBatchedOps<T>::geqrf(const MatrixBatchView<T>& a, T* tau) {
  const index_t reflectors = std::min(a.rows, a.cols);
  for_matrices(a, threads_,
               [&](offset_t k) { householder_qr(compute_matrix(a, k), compute_cast(tau + k * reflectors)); });
}

template <Scalar T>
void HostBatchedOps<T>::pseudo_inverse(const MatrixBatchView<const T>& a, const MatrixBatchView<T>& x, double rtol,
                                       index_t* rank) {
  using C = compute_t<T>;
  constexpr int largest_on_stack = 32;
  const offset_t elements = offset_t{a.rows} * a.rows;
  const auto threads = static_cast<int>(std::min<offset_t>(threads_, a.count));
  std::vector<C> heap(static_cast<std::size_t>(a.rows > largest_on_stack ? elements * threads : 0));
  for_matrices(a, threads, [&](offset_t k) {
    Tile<C, largest_on_stack> stack;
    const auto matrix = compute_matrix(a, k);
    C* const work = heap.empty() ? stack.data() : heap.data() + omp_get_thread_num() * elements;
    rank[k] = PseudoInverse<C>(matrix.rows, work).run(matrix, rtol, compute_matrix(x, k, matrix.rows, matrix.rows));
  });
}

}  // namespace blockjacobi::detail
