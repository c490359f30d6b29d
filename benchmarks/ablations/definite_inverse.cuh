#pragma once

#include "ablations/launch.cuh"
#include "kernels/collectives/row_tile.cuh"
#include "kernels/collectives/thread_stage.cuh"
#include "kernels/inverse/policy.hpp"

namespace bench {

// The inverse of a symmetric positive definite matrix, from its lower triangle, without a search for pivots: sweeps of
// the triangle by a thread, and Gauss-Jordan elimination by the teams of the library's inverse of any matrix. Elements
// are finite and no pivot is near the ends of the range; info tells of pivots that are not positive.

/// Sweep k replaces A by A_kk -> -1 / A_kk, A_ik -> A_ik / A_kk, A_ij -> A_ij - A_ik A_jk / A_kk; after all of them
/// -A^-1 is left. Half of the operations of Gauss-Jordan elimination, and half of its registers.
template <class T, int N>
__device__ int sweep_triangle(T (&l)[N][N]) {
  int info = 0;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const T pivot = l[k][k];
    if (info == 0 && !(pivot > T(0))) info = k + 1;
    const T inverse = blockjacobi::kernels::fast_reciprocal(pivot);
    T column[N], quotient[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      column[i] = i > k ? l[i][k] : l[k][i];
      quotient[i] = column[i] * inverse;
    }
#pragma unroll
    for (int i = 0; i < N; ++i)
#pragma unroll
      for (int j = 0; j <= i; ++j)
        if (i != k && j != k) l[i][j] -= quotient[i] * column[j];
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (i != k) (i > k ? l[i][k] : l[k][i]) = quotient[i];
    l[k][k] = -inverse;
  }
  return info;
}

template <class T, int N>
__global__ void __launch_bounds__(blockjacobi::kernels::thread_design_threads)
    definite_by_thread(const T* a, T* x, int* info, offset_t count) {
  namespace kernels = blockjacobi::kernels;
  constexpr int threads = kernels::thread_design_threads;
  using Stage = kernels::ThreadStage<T, N, threads>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t first = static_cast<offset_t>(blockIdx.x) * threads;
  const int here = static_cast<int>(min(offset_t{threads}, count - first));
  Stage::fetch(shared, a + first * (N * N), here);
  T* const own = Stage::own(shared);
  T l[N][N];
  Stage::load(own, l);
  const int outcome = sweep_triangle(l);
#pragma unroll
  for (int i = 0; i < N; ++i)
#pragma unroll
    for (int j = 0; j <= i; ++j) l[i][j] = l[j][i] = -l[i][j];
  Stage::store(l, own);
  Stage::flush(shared, x + first * (N * N), here);
  if (static_cast<int>(threadIdx.x) < here) info[first + threadIdx.x] = outcome;
}

/// The steps of the library's RowInverse, but that the pivot of step k is in row k: every step reads register j and
/// writes register j - 1, and the reciprocal of the next pivot is taken beside the update of the columns behind it.
template <class T, int N, int L, int R>
struct DefiniteRows {
  using Team = blockjacobi::kernels::Team<L>;
  using Tile = blockjacobi::kernels::RowTile<T, N, L, R>;
  Tile& rows;
  int rank;
  int info = 0;
  T inverse{};

  __device__ DefiniteRows(Tile& rows_, int rank_) : rows(rows_), rank(rank_) {}

  __device__ void run() {
    T current[R];
    rows.column(0, current);
    prepare(0, current);
#pragma unroll 1
    for (int k = 0; k < N; ++k) eliminate(k, current);
#pragma unroll
    for (int q = 0; q < R; ++q) rows.x[q][0] = current[q];
  }

 private:
  __device__ void prepare(int k, const T (&column)[R]) {
    const T pivot = blockjacobi::kernels::pick(column, k / L);
    if (k < N && k % L == rank && info == 0 && !(pivot > T(0))) info = k + 1;
    inverse = blockjacobi::kernels::fast_reciprocal(pivot);
  }

  __device__ void eliminate(int k, T (&current)[R]) {
    using blockjacobi::kernels::fused_subtract;
    using blockjacobi::kernels::pick;
    const int owner = k % L, slot = k / L;
    const T reciprocal = Team::broadcast(inverse, owner);
    T factor[R], last[R];
#pragma unroll
    for (int q = 0; q < R; ++q) {
      const bool pivot = rank == owner && slot == q;
      factor[q] = pivot ? T(1) - reciprocal : current[q] * reciprocal;
      last[q] = pivot ? reciprocal : -factor[q];
    }
    if constexpr (N > 1) {
      T next[R];
      rows.column(1, next);
      const T v = Team::broadcast(pick(next, slot), owner);
#pragma unroll
      for (int q = 0; q < R; ++q) current[q] = fused_subtract(next[q], factor[q], v);
      prepare(k + 1, current);
    }
#pragma unroll
    for (int j = 2; j < N; ++j) {
      T column[R];
      rows.column(j, column);
      const T v = Team::broadcast(pick(column, slot), owner);
#pragma unroll
      for (int q = 0; q < R; ++q) rows.x[q][j - 1] = fused_subtract(column[q], factor[q], v);
    }
#pragma unroll
    for (int q = 0; q < R; ++q) (N > 1 ? rows.x[q][N - 1] : current[q]) = last[q];
  }
};

template <class T, int N>
inline constexpr blockjacobi::kernels::InversePolicy definite_policy = blockjacobi::kernels::inverse_class_policy(
    blockjacobi::kernels::compiled_device, blockjacobi::kernels::scalar_of<T>, N);

/// Teams of the library's inverse. One triangle is read and one is computed; the other passes through shared memory,
/// whose odd leading dimension keeps rows and columns apart.
template <class T, int N>
__global__ void __launch_bounds__(32 * definite_policy<T, N>.warps, definite_policy<T, N>.per_multiprocessor)
    definite_by_team(const T* a, T* x, int* info, offset_t count) {
  constexpr int L = definite_policy<T, N>.lanes, R = definite_policy<T, N>.rows, ld = N | 1;
  constexpr int teams = blockjacobi::kernels::Team<L>::per_warp * definite_policy<T, N>.warps;
  using Rows = DefiniteRows<T, N, L, R>;
  extern __shared__ __align__(16) unsigned char shared[];
  const auto team = Rows::Team::current();
  const int number = team.number_in_cta();
  const offset_t k = static_cast<offset_t>(blockIdx.x) * teams + number;
  if (k - team.number >= count) return;  // whole warps leave; no barrier of the thread block follows
  const bool exists = k < count && !team.spare();
  const offset_t at = (k < count ? k : count - 1) * (N * N);
  T* const tile = reinterpret_cast<T*>(shared) + number * (N * ld);
  typename Rows::Tile rows;
  const auto for_each = [&](auto visit) {
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int q = 0; q < R; ++q) {
        const int i = Rows::Tile::row(team.rank, q);
        if (i < N && !team.spare()) visit(i, j, rows.x[q][j]);
      }
  };
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int q = 0; q < R; ++q) rows.x[q][j] = T(0);
  for_each([&](int i, int j, T& element) {
    if (i >= j) tile[j + i * ld] = element = a[at + i + j * N];
  });
  Rows::Team::sync();
  for_each([&](int i, int j, T& element) {
    if (i < j) element = tile[i + j * ld];
  });
  Rows elimination(rows, team.rank);
  elimination.run();
  Rows::Team::sync();
  for_each([&](int i, int j, T& element) {
    if (i >= j) tile[j + i * ld] = element;
  });
  Rows::Team::sync();
  if (exists) for_each([&](int i, int j, T& element) { x[at + i + j * N] = i >= j ? element : tile[i + j * ld]; });
  const int outcome = static_cast<int>(Rows::Team::max(static_cast<unsigned>(elimination.info)));
  if (exists && team.rank == 0) info[k] = outcome;
}

/// Those of the order n, if it is one of AblationOrders.
template <class T>
std::vector<Trial<T>> definite_inverse_trials(int n) {
  namespace kernels = blockjacobi::kernels;
  std::vector<Trial<T>> trials;
  const auto add = [&trials](const char* name, auto* kernel, int matrices, int threads, std::size_t bytes) {
    trials.push_back({"spd_inverse", name, [=](const AblationBatch<T>& b) {
                        kernels::allow_shared_memory(kernel, bytes);
                        const auto count = static_cast<offset_t>(b.count);
                        kernel<<<kernels::grid_for(count, matrices, "ablation"), threads, bytes>>>(b.a, b.x, b.info,
                                                                                                   count);
                        kernels::check_launch("ablation");
                      }});
  };
  const auto add_order = [&]<int N>() {
    if constexpr (N <= 12)
      add("definite_by_thread", definite_by_thread<T, N>, kernels::thread_design_threads,
          kernels::thread_design_threads, kernels::ThreadStage<T, N, kernels::thread_design_threads>::shared_bytes);
    constexpr int warps = definite_policy<T, N>.warps;
    constexpr int teams = kernels::Team<definite_policy<T, N>.lanes>::per_warp * warps;
    add("definite_by_team", definite_by_team<T, N>, teams, 32 * warps, std::size_t{teams} * N * (N | 1) * sizeof(T));
  };
  [&]<int... N>(std::integer_sequence<int, N...>) {
    ((N == n ? add_order.template operator()<N>() : static_cast<void>(0)), ...);
  }
  (AblationOrders());
  return trials;
}

}  // namespace bench
