#pragma once

#include "kernels/collectives/grid_sum.cuh"
#include "kernels/collectives/grid_sum_columns.cuh"
#include "kernels/krylov/csr_rows.cuh"
#include "kernels/krylov/launch.hpp"
#include "kernels/krylov/launch_columns.hpp"
#include "kernels/krylov/staged_state.cuh"

// Kernels over bundles: neighbouring lanes have the columns of a row, so that four rows fill a warp. The thread blocks
// of a launch are dealt out to the bundles in turn; those that have the same rows of different bundles run at the same
// time, and an entry of the matrix that one of them read is still in the cache for the others.

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

  /// visit(row, its element) for the rows of this thread: a thread block has consecutive ones, so that it meets the
  /// neighbours of a row in its cache again.
  template <class Visit>
  __device__ void for_each_row(index_t n, Visit visit) const {
    const offset_t steps = (static_cast<offset_t>(n) + columns_rows - 1) / columns_rows;
    const offset_t share = (steps + workers - 1) / workers * columns_rows;
    const offset_t end = min(static_cast<offset_t>(n), (worker + 1) * share);
    for (offset_t row = worker * share + static_cast<int>(threadIdx.x) / bundle_width; row < end; row += columns_rows)
      visit(row, first + row * bundle_width);
  }

  /// Sums of K numbers over the thread blocks of the bundle; see ColumnsGridSum.
  template <int K, class Scratch>
  __device__ bool sum(double (&sums)[K], double& total, const ReductionWorkspace& workspace, Scratch& scratch) const {
    double* const partials = workspace.partials + static_cast<offset_t>(bundle) * workers * (K * bundle_width);
    return ColumnsGridSum<K, columns_policy.threads>::run(sums, total, worker, workers, partials,
                                                          workspace.tickets + bundle, scratch);
  }
};

template <int K>
using ColumnsScratch = typename ColumnsGridSum<K, columns_policy.threads>::Scratch;

/// step(state, its K sums) for the columns of a bundle, in the thread block that arrived last, from the totals that its
/// threads have. All threads call.
template <int K, class C, class Step>
__device__ void step_columns(double total, detail::CgState<C>* states, Step step) {
  struct States {
    detail::CgState<C> column[bundle_width];
  };
  __shared__ StagedState<States> staged;
  __shared__ double totals[K * bundle_width];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < K * bundle_width) totals[thread] = total;
  States& own = staged.load(reinterpret_cast<States*>(states));
  if (thread < bundle_width) {
    double sums[K];
#pragma unroll
    for (int k = 0; k < K; ++k) sums[k] = totals[k * bundle_width + thread];
    step(own.column[thread], sums);
  }
  staged.store(reinterpret_cast<States*>(states));
}

/// The row of A x in one column, element(j) being its element in row j; K entries are on their way at once. Values
/// and columns stay in the nearest cache: the next entries lie in the same sector.
template <int K, class C, class Element>
__device__ C row_product(const CsrRows<C>& a, offset_t row, Element element) {
  const int end = a.offsets[row + 1] - a.base;
  C sum{};
  for (int first = a.offsets[row] - a.base; first < end; first += K) {
    index_t columns[K];
    C values[K], elements[K];
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const bool exists = first + k < end;
      columns[k] = exists ? __ldg(a.columns + first + k) - a.base : index_t{-1};
      values[k] = exists ? load_again(a.values + first + k) : C{};
    }
#pragma unroll
    for (int k = 0; k < K; ++k) elements[k] = columns[k] >= 0 ? element(columns[k]) : C{};
#pragma unroll
    for (int k = 0; k < K; ++k) sum += values[k] * elements[k];
  }
  return sum;
}

}  // namespace blockjacobi::kernels
