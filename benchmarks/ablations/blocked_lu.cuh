#pragma once

#include "ablations/blocked_swap.cuh"
#include "core/shared/scalar.hpp"

#include <blockjacobi/types.hpp>

namespace bench {

/// The diagonal block at p, column-major, of which what is below the diagonal counts.
template <class T, int NB>
__device__ void fetch_lower(const BlockedMatrix<T>& a, int p, T* lower) {
  for (int e = static_cast<int>(threadIdx.x); e < NB * NB; e += static_cast<int>(blockDim.x))
    lower[e] = a(p + e % NB, p + e / NB);
}

/// A column, whose elements are `ld` apart, is multiplied by L^-1.
template <int NB, class T>
__device__ void solve_unit_lower(const T* lower, T* column, int ld) {
  constexpr int chunk = 8;
  for (int first = 0; first < NB; first += chunk) {
    T y[chunk];
#pragma unroll
    for (int i = 0; i < chunk; ++i) y[i] = column[(first + i) * ld];
    for (int k = 0; k < first; ++k) {
      const T u = column[k * ld];
#pragma unroll
      for (int i = 0; i < chunk; ++i) y[i] -= lower[k * NB + first + i] * u;
    }
#pragma unroll
    for (int k = 0; k < chunk; ++k)
#pragma unroll
      for (int i = k + 1; i < chunk; ++i) y[i] -= lower[(first + k) * NB + first + i] * y[k];
#pragma unroll
    for (int i = 0; i < chunk; ++i) column[(first + i) * ld] = y[i];
  }
}

/// A panel is brought up to date with all columns before it just before it is factorized, and
/// is in registers meanwhile. Finished columns are read once a panel, nothing is written to its right.
template <class T, int NB, class Swap>
struct LeftLooking {
  struct Shared {
    PanelState<T, NB> panel;
    alignas(16) T lower[NB * NB];
    alignas(16) T upper[NB * RegisterPanel<T, NB>::ld];
    int order[largest_blocked_order];  ///< row i of a panel that was not fetched yet is there, if delayed
  };
  static constexpr int width = NB;
  __host__ __device__ static constexpr std::size_t shared_bytes(int) { return sizeof(Shared); }

  /// Returns info, and leaves ipiv.
  __device__ static int factorize(const BlockedMatrix<T>& a, int* ipiv, unsigned char* memory) {
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    const int row = static_cast<int>(threadIdx.x);
    int outcome = 0;
    shared.order[row] = row;
    for (int p = 0; p < a.n; p += NB) {
      const int source = Swap::delayed ? shared.order[row] : row;
      RegisterPanel<T, NB> panel;
      panel.load(a, source, p);
      for (int q = 0; q < p; q += NB) update(a, q, panel, shared);
      int place = row;
      const int column = panel.eliminate(p, shared.panel, place);
      if (column > 0 && outcome == 0) outcome = p + column;
      panel.store(a, place, p);
      shared.order[place] = source;
      shared.panel.note(p, row, place);
      __syncthreads();
      if (row < NB) ipiv[p + row] = shared.panel.pivot[row] + 1;
      Swap::template apply<T, NB>(a, p, Swap::delayed ? p : a.n - NB, shared.panel);
      __syncthreads();
    }
    return outcome;
  }

 private:
  /// Rows q .. q + NB - 1 of the panel become those of U, and their product with columns as many is subtracted from the
  /// rows below.
  __device__ static void update(const BlockedMatrix<T>& a, int q, RegisterPanel<T, NB>& panel, Shared& shared) {
    constexpr int ld = RegisterPanel<T, NB>::ld;
    const int row = static_cast<int>(threadIdx.x);
    const bool upper = row >= q && row < q + NB;
    if (upper)
#pragma unroll
      for (int j = 0; j < NB; ++j) shared.upper[(row - q) * ld + j] = panel.x[j];
    fetch_lower<T, NB>(a, q, shared.lower);
    __syncthreads();
    if (row < NB) solve_unit_lower<NB>(shared.lower, shared.upper + row, ld);
    __syncthreads();
    if (upper)
#pragma unroll
      for (int j = 0; j < NB; ++j) panel.x[j] = shared.upper[(row - q) * ld + j];
    if (row >= q + NB) panel.subtract(a, row, q, NB, shared.upper);
    __syncthreads();
  }
};

/// As LAPACK: after every panel all that is right of it is brought up to date. The rows of U are in shared memory, in
/// tiles of columns; a thread has its row of the panel in registers.
template <class T, int NB, class Swap, template <class, int> class Panel>
struct RightLooking {
  struct Shared {
    PanelState<T, NB> panel;
    alignas(16) T lower[NB * NB];
  };
  static constexpr int width = NB;
  __host__ __device__ static constexpr std::size_t shared_bytes(int n) {
    return sizeof(Shared) + static_cast<std::size_t>(NB) * static_cast<std::size_t>(n) * sizeof(T);
  }

  __device__ static int factorize(const BlockedMatrix<T>& a, int* ipiv, unsigned char* memory) {
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    const int row = static_cast<int>(threadIdx.x);
    int outcome = 0;
    for (int p = 0; p < a.n; p += NB) {
      const int column = Panel<T, NB>::factorize(a, p, shared.panel);
      if (column > 0 && outcome == 0) outcome = p + column;
      __syncthreads();
      if (row < NB) ipiv[p + row] = shared.panel.pivot[row] + 1;
      finish(a, p, memory);
    }
    return outcome;
  }

  /// What follows a panel: the interchange of rows outside of it and the update.
  __device__ static void finish(const BlockedMatrix<T>& a, int p, unsigned char* memory) {
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    Swap::template apply<T, NB>(a, p, Swap::delayed ? p : a.n - NB, shared.panel);
    __syncthreads();
    update(a, p, reinterpret_cast<T*>(memory + sizeof(Shared)), shared);
  }

 private:
  static constexpr int tile = 8;

  /// Element (k, c) of the rows of U.
  __device__ static T& u(T* upper, int k, int c) { return upper[c / tile * (tile * NB) + k * tile + c % tile]; }

  __device__ static void update(const BlockedMatrix<T>& a, int p, T* upper, Shared& shared) {
    const int row = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    const int first = p + NB, columns = a.n - first;
    const auto from = [&](int i) { return Swap::delayed ? shared.panel.source[i] : i; };
    fetch_lower<T, NB>(a, p, shared.lower);
    for (int e = row; e < NB * columns; e += threads) u(upper, e % NB, e / NB) = a(from(p + e % NB), first + e / NB);
    __syncthreads();
    for (int j = row; j < columns; j += threads) solve_unit_lower<NB>(shared.lower, &u(upper, 0, j), tile);
    __syncthreads();
    if (row >= first) {
      RegisterPanel<T, NB> left;
      left.load(a, row, p);
      for (int c = 0; c < columns; c += tile) {
        RegisterPanel<T, tile> right;
        right.load(a, from(row), first + c);
#pragma unroll
        for (int k = 0; k < NB; ++k)
#pragma unroll
          for (int j = 0; j < tile; ++j) right.x[j] -= left.x[k] * upper[c * NB + k * tile + j];
        right.store(a, row, first + c);
      }
    }
    __syncthreads();  // rows of U go where rows may have been read from
    for (int e = row; e < NB * columns; e += threads) a(p + e % NB, first + e / NB) = u(upper, e % NB, e / NB);
    __syncthreads();
  }
};

/// Matrix blocking: the same on a copy of the matrix in shared memory, so that it is read and written once.
template <class T, class Algorithm>
struct OnChip {
  static constexpr int width = Algorithm::width;
  __host__ __device__ static constexpr std::size_t shared_bytes(int n) {
    return Algorithm::shared_bytes(n) + static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * sizeof(T);
  }

  __device__ static int factorize(const BlockedMatrix<T>& a, int* ipiv, unsigned char* memory) {
    const BlockedMatrix<T> copy{reinterpret_cast<T*>(memory + Algorithm::shared_bytes(a.n)), a.n};
    const int row = static_cast<int>(threadIdx.x);
    for (int j = 0; j < a.n; ++j) copy(row, j) = a(row, j);
    __syncthreads();
    const int outcome = Algorithm::factorize(copy, ipiv, memory);
    __syncthreads();
    for (int j = 0; j < a.n; ++j) a(row, j) = copy(row, j);
    return outcome;
  }
};

/// Threads of a thread block that the registers of panels of NB columns leave.
template <class T>
constexpr int most_panel_threads(int width) {
  return width * static_cast<int>(sizeof(T)) <= 256 ? largest_blocked_order : largest_blocked_order / 2;
}

/// One matrix a thread block of as many threads as it has rows.
template <class T, class Algorithm>
__global__ void __launch_bounds__(most_panel_threads<T>(Algorithm::width))
    lu_blocked(T* a, int* ipiv, int* info, int n, blockjacobi::offset_t) {
  extern __shared__ __align__(16) unsigned char memory[];
  const blockjacobi::offset_t k = blockIdx.x;
  const int outcome = Algorithm::factorize(BlockedMatrix<T>{a + k * n * n, n}, ipiv + k * n, memory);
  if (threadIdx.x == 0) info[k] = outcome;
}

}  // namespace bench
