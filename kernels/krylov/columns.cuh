#pragma once

#include "kernels/collectives/copy_async.cuh"
#include "kernels/collectives/grid_sum.cuh"
#include "kernels/collectives/grid_sum_columns.cuh"
#include "kernels/krylov/csr_rows.cuh"
#include "kernels/krylov/launch.hpp"
#include "kernels/krylov/launch_columns.hpp"

#include <cstddef>

// Kernels over bundles. In those of vectors alone neighbouring lanes have the columns of a row, so that four rows fill
// a warp. The thread blocks of a launch are dealt out to the bundles in turn; those that have the same rows of
// different bundles run at the same time, and an entry of the matrix that one of them read is still in the cache for
// the others.

namespace blockjacobi::kernels {

inline constexpr int bundle_width = static_cast<int>(detail::bundle_width);
inline constexpr int columns_rows = columns_policy.threads / bundle_width;  ///< of a thread block at a time

/// The column of a thread, and what its thread block does for the bundle.
struct OwnColumn {
  index_t bundle;
  unsigned worker, workers;  ///< thread blocks of the bundle
  index_t column;
  offset_t first;  ///< element 0

  __device__ explicit OwnColumn(const detail::Bundles& shape)
      : bundle(static_cast<index_t>(blockIdx.x % static_cast<unsigned>(shape.count()))),
        worker(blockIdx.x / static_cast<unsigned>(shape.count())),
        workers(gridDim.x / static_cast<unsigned>(shape.count())),
        column(bundle * bundle_width + static_cast<int>(threadIdx.x) % bundle_width),
        first(shape.first(column)) {}

  /// visit(row, its element) for the rows of this thread.
  template <class Visit>
  __device__ void for_each_row(index_t n, Visit visit) const {
    for (offset_t row = first_row(); row < n; row += row_stride()) visit(row, first + row * bundle_width);
  }
  /// use(its element, load(its element)) for those rows, of which some are loaded at once.
  template <class Load, class Use>
  __device__ void for_each_row(index_t n, Load load, Use use) const {
    using Loaded = decltype(load(offset_t{}));
    constexpr int together = sizeof(Loaded) > 24 ? 2 : 4;
    for (offset_t row = first_row(); row < n; row += together * row_stride()) {
      Loaded loaded[together];
#pragma unroll
      for (int k = 0; k < together; ++k)
        if (row + k * row_stride() < n) loaded[k] = load(first + (row + k * row_stride()) * bundle_width);
#pragma unroll
      for (int k = 0; k < together; ++k)
        if (row + k * row_stride() < n) use(first + (row + k * row_stride()) * bundle_width, loaded[k]);
    }
  }

  /// Sums of K numbers over the thread blocks of the bundle; see ColumnsGridSum.
  template <int K, class Scratch>
  __device__ bool sum(double (&sums)[K], double& total, const ReductionWorkspace& workspace, Scratch& scratch) const {
    double* const partials = workspace.partials + static_cast<offset_t>(bundle) * workers * (K * bundle_width);
    return ColumnsGridSum<K, columns_policy.threads>::run(sums, total, worker, workers, partials,
                                                          workspace.tickets + bundle, scratch);
  }

 private:
  __device__ offset_t first_row() const {
    return static_cast<offset_t>(worker) * columns_rows + static_cast<int>(threadIdx.x) / bundle_width;
  }
  __device__ offset_t row_stride() const { return static_cast<offset_t>(workers) * columns_rows; }
};

/// The elements of a row.
template <class C>
struct alignas(16) BundleRow {
  C element[bundle_width];
};

template <int K>
using ColumnsScratch = typename ColumnsGridSum<K, columns_policy.threads>::Scratch;

/// step(state, its K sums) for the columns of a bundle, in the thread block that arrived last, from the totals that its
/// threads have. All threads call. The states are brought to shared memory and back as by StagedState, but for their
/// histories, which the step does not read and gives one element at most.
template <int K, class C, class Step>
__device__ void step_columns(double total, detail::CgState<C>* states, Step step) {
  using State = detail::CgState<C>;
  constexpr int words = sizeof(State) / sizeof(int);
  constexpr int history = offsetof(detail::SolveControl, history) / sizeof(int);
  constexpr int skipped = sizeof(detail::SolveControl::history) / sizeof(int), staged_words = words - skipped;
  __shared__ alignas(16) int staged[bundle_width][words];
  __shared__ double totals[K * bundle_width];
  const int thread = static_cast<int>(threadIdx.x);
  const auto for_each_word = [&](auto copy) {
    for (int i = thread; i < bundle_width * staged_words; i += columns_policy.threads) {
      const int c = i / staged_words, word = i % staged_words;
      const int place = word < history ? word : word + skipped;
      copy(staged[c][place], reinterpret_cast<int*>(states + c) + place);
    }
  };
  if (thread < K * bundle_width) totals[thread] = total;
  for_each_word([](int& here, const int* there) { here = __ldcg(there); });
  __syncthreads();
  if (thread < bundle_width) {
    State& own = *reinterpret_cast<State*>(staged[thread]);
    double sums[K];
#pragma unroll
    for (int k = 0; k < K; ++k) sums[k] = totals[k * bundle_width + thread];
    const int size = own.history_size;
    step(own, sums);
    if (own.history_size > size) states[thread].history[size] = own.history[size];
  }
  __syncthreads();
  for_each_word([](int here, int* there) { *there = here; });
}

/// As many elements of a row as a lane loads at once, or their sums S.
template <class C, class S = C>
struct alignas(16) RowPiece {
  static constexpr int width = sizeof(C) < 16 ? 16 / sizeof(C) : 1;
  static constexpr int lanes = bundle_width / width;  ///< of a row
  S element[width];
};

/// The rows of A X for a bundle. A warp has 16 rows at a time, whose entries it copies to shared memory in the order in
/// which they stand while those before them are multiplied: of these the lanes of a row gather the elements of X. A
/// thread block has runs of rows, so that it meets the neighbours of a row in its cache again, and all thread blocks
/// together go on as one front, so that they meet them in L2. Products and sums are of S.
template <class C, class S = C>
struct BundleProducts {
  using Piece = RowPiece<C>;
  using Sums = RowPiece<C, S>;
  static constexpr int warps = columns_policy.threads / 32;
  static constexpr int rows_at_once = 32 / Piece::lanes, held = columns_product_rows / warps,
                       rows = held / rows_at_once;
  static constexpr int together = sizeof(C) > 8 ? 64 : 128;  ///< entries, of two such stages
  struct alignas(16) Scratch {
    C values[warps][2][together];
    index_t columns[warps][2][together];
  };

  static constexpr offset_t step = columns_product_rows;

  /// Where the steps of a thread block begin: runs of `length_` of them.
  class RowRuns {
   public:
    __device__ RowRuns(offset_t rows, const OwnColumn& own) {
      const offset_t workers = own.workers, steps = (rows + step - 1) / step;
      const offset_t runs = max((steps + workers * longest - 1) / (workers * longest), offset_t{1});
      length_ = left_ = static_cast<int>((steps + workers * runs - 1) / (workers * runs));
      row_ = own.worker * length_ * step;
      others_ = (workers - 1) * length_ * step;
    }
    __device__ offset_t row() const { return row_; }
    __device__ void go_on() {
      row_ += step;
      if (--left_ > 0) return;
      row_ += others_;
      left_ = length_;
    }

   private:
    static constexpr offset_t longest = columns_longest_run / step;
    offset_t row_, others_;
    int length_, left_;
  };

  /// use(row, place of its piece, sums of A X there, load(place)) for the rows of this thread; x has the elements of
  /// the bundle, and a place is an index there. All threads call.
  template <class Load, class Use>
  __device__ static void run(const CsrRows<C>& a, const OwnColumn& own, const C* x, Scratch& scratch, Load load,
                             Use use) {
    using Loaded = decltype(load(offset_t{}));
    constexpr int K = columns_entries<C>;
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int group = lane / Piece::lanes, column = lane % Piece::lanes * Piece::width;
    const offset_t all = a.rows;
    RowRuns runs(all, own);
    offset_t first = runs.row() + warp * held;
    const auto offset = [&](offset_t row) { return all > 0 ? a.offsets[min(row, all)] - a.base : 0; };
    int next_from = offset(first + lane), next_to = offset(first + lane + 1);
    int from, to;     // of row `lane` of those that are held
    int piece, last;  // the entries that are on their way, and the end of all
    const auto begin_rows = [&] {
      from = next_from;
      to = next_to;
      piece = __shfl_sync(~0u, from, 0);
      last = __shfl_sync(~0u, to, held - 1);
      runs.go_on();
      next_from = offset(runs.row() + warp * held + lane);
      next_to = offset(runs.row() + warp * held + lane + 1);
    };
    const auto bring = [&](int stage) {
#pragma unroll
      for (int k = 0; k < together / 32; ++k) {
        const int place = lane + 32 * k;
        if (piece + place >= last) break;
        copy_async(scratch.values[warp][stage] + place, a.values + piece + place);
        copy_async(scratch.columns[warp][stage] + place, a.columns + piece + place);
      }
      __pipeline_commit();
    };
    begin_rows();
    bring(0);
    Sums sums[rows] = {};
    for (int stage = 0; first < all; stage ^= 1) {
      const offset_t own_first = first;
      const int here = piece, own_from = from, own_to = to;
      const bool ends = piece + together >= last;
      if (ends) {
        first = runs.row() + warp * held;
        begin_rows();
      } else {
        piece += together;
      }
      bring(stage ^ 1);
      Loaded loaded[rows];
      if (ends) {
#pragma unroll
        for (int t = 0; t < rows; ++t) {
          const offset_t row = own_first + t * rows_at_once + group;
          if (row < all) loaded[t] = load(row * bundle_width + column);
        }
      }
      __pipeline_wait_prior(1);
      __syncwarp();
      const C* const values = scratch.values[warp][stage];
      const index_t* const columns = scratch.columns[warp][stage];
#pragma unroll
      for (int t = 0; t < rows; ++t) {
        const int l = t * rows_at_once + group;
        const int end = min(__shfl_sync(~0u, own_to, l) - here, together);
        for (int k = max(__shfl_sync(~0u, own_from, l) - here, 0); k < end; k += K) {
          Piece elements[K];
#pragma unroll
          for (int j = 0; j < K; ++j)
            elements[j] =
                k + j < end ? piece_of(x, offset_t{columns[k + j] - a.base} * bundle_width + column) : Piece{};
#pragma unroll
          for (int j = 0; j < K; ++j) {
            if (k + j >= end) break;
#pragma unroll
            for (int c = 0; c < Piece::width; ++c)
              sums[t].element[c] += detail::convert<S>(values[k + j]) * detail::convert<S>(elements[j].element[c]);
          }
        }
      }
      __syncwarp();
      if (!ends) continue;
#pragma unroll
      for (int t = 0; t < rows; ++t) {
        const offset_t row = own_first + t * rows_at_once + group;
        if (row < all) use(row, row * bundle_width + column, sums[t], loaded[t]);
        sums[t] = Sums{};
      }
    }
  }

  static __device__ Piece piece_of(const C* x, offset_t place) { return *reinterpret_cast<const Piece*>(x + place); }
};

/// Sums of the columns of a lane's piece, as OwnColumn::sum() takes them: all in the first lanes of the warp.
template <class C, int K>
__device__ void spread_over_columns(const double (&sums)[RowPiece<C>::width][K], double (&of_column)[K]) {
  constexpr int width = RowPiece<C>::width, lanes = RowPiece<C>::lanes;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    double total = 0.0;
#pragma unroll
    for (int c = 0; c < width; ++c) {
      double sum = sums[c][k];
#pragma unroll
      for (int distance = lanes; distance < 32; distance *= 2) sum += __shfl_xor_sync(~0u, sum, distance);
      const double found = __shfl_sync(~0u, sum, lane / width % lanes);
      if (lane % width == c) total = found;
    }
    of_column[k] = lane < bundle_width ? total : 0.0;
  }
}

}  // namespace blockjacobi::kernels
