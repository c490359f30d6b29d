#pragma once

#include "ablations/row_swap.cuh"

namespace bench {

/// The designs above order 32 have a thread block for a matrix and a thread for a row.
inline constexpr int largest_blocked_order = 512;

/// Of order n, column-major, in global or shared memory.
template <class T>
struct BlockedMatrix {
  T* a;
  int n;

  __device__ T& operator()(int i, int j) const { return a[j * n + i]; }
};

/// Search by all threads of the block.
template <class T>
struct BlockSearch {
  Candidate<T> best[largest_blocked_order / 32];  ///< of each warp

  /// The largest |element| of the threads whose place is at least k. One barrier.
  __device__ Pivot search(T element, int place, int k) {
    const int thread = static_cast<int>(threadIdx.x), warps = static_cast<int>(blockDim.x) / 32;
    const Candidate<T> mine = Candidate<T>::of(element, place, thread, k).template best_of_team<32>();
    if (thread % 32 == 0) best[thread / 32] = mine;
    __syncthreads();
    return best[min(thread % 16, warps - 1)].template best_of_team<16>().pivot();
  }
};

/// What the threads share while they factorize the panel of columns p .. p + NB - 1, and how it has moved the rows.
template <class T, int NB>
struct alignas(16) PanelState : BlockSearch<T> {
  alignas(16) T pivot_row[NB];
  T column[NB];
  T exchanged[2];
  int origin[2];
  int pivot[NB];                      ///< row p + k was interchanged with this one
  int source[largest_blocked_order];  ///< row i was this one before the panel
  int place[NB];                      ///< row p + k before the panel is this one now

  __device__ void note(int p, int from, int to) {
    source[to] = from;
    if (from >= p && from < p + NB) place[from - p] = to;
  }
};

/// Rows of NB columns in the registers of their threads.
template <class T, int NB>
struct RegisterPanel {
  static constexpr int ld = NB + 2;  ///< of what is multiplied with in shared memory: few bank conflicts, aligned pairs
  T x[NB];

  __device__ void load(const BlockedMatrix<T>& a, int row, int p) {
    const T* element = &a(row, p);
#pragma unroll
    for (int j = 0; j < NB; ++j, element += a.n) x[j] = *element;
  }
  __device__ void store(const BlockedMatrix<T>& a, int row, int p) const {
    T* element = &a(row, p);
#pragma unroll
    for (int j = 0; j < NB; ++j, element += a.n) *element = x[j];
  }

  /// Subtracts the product of columns first .. first + count - 1 of the row of `a`, count a multiple of 8, and as many
  /// rows of `factor`.
  __device__ void subtract(const BlockedMatrix<T>& a, int row, int first, int count, const T* factor) {
    for (int k = 0; k < count; k += 8) {
      T left[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) left[i] = a(row, first + k + i);
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < NB; ++j) x[j] -= left[i] * factor[(k + i) * ld + j];
    }
  }

  /// LU with lazy swap: rows stay, and `place` says where they belong. Rows before p take no part. Returns the first
  /// column without a pivot, counted from 1, or 0. The loop is rolled: every step moves the columns on by one, so that
  /// the one to eliminate is always the first, and what is done comes round again.
  __device__ int eliminate(int p, PanelState<T, NB>& state, int& place) {
    const int row = static_cast<int>(threadIdx.x);
    const bool idle = (row | 31) < p;  // all of the warp
    int outcome = 0;
    for (int k = 0; k < NB; ++k) {
      const Pivot pivot = state.search(x[0], place, p + k);
      if (row == pivot.row) {
        state.pivot_row[0] = reciprocal_or_zero(x[0]);
#pragma unroll
        for (int j = 1; j < NB; ++j) state.pivot_row[j] = j < NB - k ? x[j] : T(0);
      }
      if (row == 0) state.pivot[k] = pivot.place;
      __syncthreads();
      place = LazySwap::moved(place, row, p + k, pivot);
      const T inverse = state.pivot_row[0];
      if (inverse == T(0) && outcome == 0) outcome = k + 1;
      if (idle) continue;
      const bool below = place > p + k;
      const T multiplier = below ? x[0] * inverse : T(0);
      const T done = below ? multiplier : x[0];
#pragma unroll
      for (int j = 1; j < NB; ++j) x[j - 1] = x[j] - multiplier * state.pivot_row[j];
      x[NB - 1] = done;
    }
    return outcome;
  }

  /// Panel blocking: all steps in registers, the panel is read and written once.
  __device__ static int factorize(const BlockedMatrix<T>& a, int p, PanelState<T, NB>& state) {
    const int row = static_cast<int>(threadIdx.x);
    int place = row;
    RegisterPanel panel{};
    if (row >= p) panel.load(a, row, p);
    const int outcome = panel.eliminate(p, state, place);
    if (row >= p) panel.store(a, place, p);
    state.note(p, row, place);
    return outcome;
  }
};

/// Interchanges rows i and k of the panel but for column `without`, one column a thread.
template <class T>
__device__ void interchange_in_panel(const BlockedMatrix<T>& a, int p, int width, int i, int k, int without) {
  const int j = static_cast<int>(threadIdx.x);
  if (j >= width || j == without || i == k) return;
  const T upper = a(i, p + j);
  a(i, p + j) = a(k, p + j);
  a(k, p + j) = upper;
}

/// Column blocking: the panel stays in memory; one column after the other is brought up to date, searched, interchanged
/// and scaled on chip, left-looking.
template <class T, int NB>
struct ColumnPanel {
  __device__ static int factorize(const BlockedMatrix<T>& a, int p, PanelState<T, NB>& state) {
    const int row = static_cast<int>(threadIdx.x);
    int origin = row, outcome = 0;
    for (int k = 0; k < NB; ++k) {
      T element = a(row, p + k);
      update(a, p, k, element, state);
      const Pivot pivot = state.search(element, row, p + k);
      interchange_in_panel(a, p, NB, p + k, pivot.row, k);
      exchange(p + k, pivot.row, element, origin, state);
      const T diagonal = state.exchanged[1];
      if (diagonal == T(0) && outcome == 0) outcome = k + 1;
      if (row > p + k) element *= reciprocal_or_zero(diagonal);
      if (row >= p) a(row, p + k) = element;
      if (row == 0) state.pivot[k] = pivot.row;
    }
    state.note(p, origin, row);
    return outcome;
  }

 private:
  static_assert(NB <= 32);

  /// The first k columns of the panel are subtracted from the next: what belongs to U is solved for by one warp.
  __device__ static void update(const BlockedMatrix<T>& a, int p, int k, T& element, PanelState<T, NB>& state) {
    const int row = static_cast<int>(threadIdx.x);
    const bool upper = row >= p && row < p + k;
    if (upper) state.column[row - p] = element;
    __syncthreads();
    if (row < 32) {
      T u = row < k ? state.column[row] : T(0);
      for (int m = 0; m < k; ++m) {
        const T done = Team<32>::broadcast(u, m);
        if (row > m && row < k) u -= a(p + row, p + m) * done;
      }
      if (row < k) state.column[row] = u;
    }
    __syncthreads();
    if (upper) element = state.column[row - p];
    if (row >= p + k)
      for (int m = 0; m < k; ++m) element -= a(row, p + m) * state.column[m];
  }

  /// Between the threads of rows i and k, one barrier.
  __device__ static void exchange(int i, int k, T& element, int& origin, PanelState<T, NB>& state) {
    const int row = static_cast<int>(threadIdx.x);
    if (row == i) state.exchanged[0] = element, state.origin[0] = origin;
    if (row == k) state.exchanged[1] = element, state.origin[1] = origin;
    __syncthreads();
    if (row == k) element = state.exchanged[0], origin = state.origin[0];
    if (row == i) element = state.exchanged[1], origin = state.origin[1];
  }
};

}  // namespace bench
