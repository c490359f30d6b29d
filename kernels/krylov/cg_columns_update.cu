#include "kernels/apply/block_tasks.cuh"
#include "kernels/krylov/columns.cuh"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/launch/check.hpp"
#include "kernels/launch/dependent.cuh"

// The second half of an iteration of CG for several columns: the residuals, z = M^-1 r, and the dots.

namespace blockjacobi::kernels {

namespace {

/// r^H z and ||r||^2 of the elements that a thread has seen, all of one column.
template <class C>
struct ColumnUpdateSums {
  static constexpr int width = sum_width<C>;
  using Scratch = ColumnsScratch<width + 1>;
  double sums[width + 1] = {};

  __device__ void add(C r, C z) {
    accumulate_dot(sums, r, z);
    accumulate_square(sums[width], r);
  }
  __device__ void finish(const OwnColumn& own, detail::CgState<C>* states, const ReductionWorkspace& workspace,
                         Scratch& scratch) {
    double total;
    if (!own.sum(sums, total, workspace, scratch)) return;
    step_columns<width + 1>(total, states + own.bundle * bundle_width,
                            [](detail::CgState<C>& state, const double* totals) {
                              state.rho_new = to_accumulator<C>(totals);
                              state.rr = totals[width];
                              detail::cg_direction_factor(state);
                            });
  }
};

/// Row `rank` of X R for a block of `order` rows, of which r points to the first row of R. Some columns of X are on
/// their way at once, the first of them from before R is there.
template <class C>
struct RowOfBlock {
  static constexpr int together = sizeof(C) > 8 ? 4 : 8;
  const C* x;
  int order, rank;
  C elements[together];

  __device__ RowOfBlock(const C* block, int size, int own) : x(block), order(size), rank(own) { load(0); }
  __device__ void load(int first) {
#pragma unroll
    for (int k = 0; k < together; ++k)
      elements[k] = first + k < order ? load_once(x + (first + k) * order + rank) : C{};
  }
  __device__ void product(const BundleRow<C>* r, BundleRow<C>& z) {
    for (int first = 0; first < order; first += together) {
      if (first > 0) load(first);
#pragma unroll
      for (int k = 0; k < together; ++k) {
        if (first + k >= order) break;
#pragma unroll
        for (int c = 0; c < bundle_width; ++c) z.element[c] += elements[k] * r[first + k].element[c];
      }
    }
  }
};

/// For M of blocks that fit a warp: it has up to 32 rows of whole blocks, as in the update of one column. Four rows at
/// a time, all columns of each, for r and z; of the product a lane has a row and all columns, so that each element of X
/// is read once. Between the two they stand in shared memory.
template <class C>
__global__ void __launch_bounds__(columns_policy.threads, columns_update_policy<C>.per_multiprocessor)
    cg_columns_update_kernel(const BlockTasks<C> tasks, const BundleVectors<C> v, detail::CgState<C>* states,
                             const ReductionWorkspace workspace) {
  constexpr int warps = columns_policy.threads / 32, at_once = 32 / bundle_width;
  __shared__ typename ColumnUpdateSums<C>::Scratch scratch;
  __shared__ BundleRow<C> exchanged[warps][32];
  await_previous();
  const OwnColumn own(v.shape);
  const bool runs = states[own.column].stop == 0;
  const C alpha = states[own.column].alpha;
  if (!__any_sync(~0u, runs)) return;
  const bool steps = !detail::is_zero(alpha);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  BundleRow<C>* const rows = exchanged[warp];
  C* const place = rows[lane / bundle_width].element + lane % bundle_width;  // that of row 4 t is 4 t rows behind
  ColumnUpdateSums<C> sums;
  const offset_t stride = static_cast<offset_t>(own.workers) * warps;
  for (offset_t task = static_cast<offset_t>(own.worker) * warps + warp; task < tasks.warps; task += stride) {
    const OwnRow mine = own_row(tasks, task);  // of lane l row l of the task
    const int row_of_lane = mine.exists ? static_cast<int>(mine.row) : -1;
    const auto element_of = [&](int t) {  // of row 4 t + lane / 8 of the task, or -1
      const int row = __shfl_sync(~0u, row_of_lane, t * at_once + lane / bundle_width);
      return row >= 0 && runs ? own.first + offset_t{row} * bundle_width : offset_t{-1};
    };
    RowOfBlock<C> block(tasks.inverse + mine.start, mine.exists ? mine.order : 0, mine.rank);
    C r[bundle_width];
#pragma unroll
    for (int t = 0; t < bundle_width; ++t) {
      const offset_t i = element_of(t);
      r[t] = i >= 0 ? v.r[i] : C{};
    }
#pragma unroll
    for (int t = 0; t < bundle_width; ++t) {
      const offset_t i = element_of(t);
      if (i >= 0 && steps) r[t] -= alpha * v.q[i];
      place[t * at_once * bundle_width] = r[t];
    }
#pragma unroll
    for (int t = 0; t < bundle_width; ++t) {
      const offset_t i = element_of(t);
      if (i >= 0 && steps) v.r[i] = r[t];
    }
    __syncwarp();
    BundleRow<C> z{};
    block.product(rows + lane - mine.rank, z);
    __syncwarp();
    if (mine.exists) rows[lane] = z;
    __syncwarp();
#pragma unroll
    for (int t = 0; t < bundle_width; ++t) {
      const offset_t i = element_of(t);
      if (i < 0) continue;
      const C element = place[t * at_once * bundle_width];
      v.z[i] = element;
      sums.add(r[t], element);
    }
    __syncwarp();
  }
  sums.finish(own, states, workspace, scratch);
}

/// Without a preconditioner.
template <class C>
__global__ void __launch_bounds__(columns_policy.threads)
    cg_columns_plain_update_kernel(const BundleVectors<C> v, detail::CgState<C>* states,
                                   const ReductionWorkspace workspace) {
  __shared__ typename ColumnUpdateSums<C>::Scratch scratch;
  const OwnColumn own(v.shape);
  const bool runs = states[own.column].stop == 0;
  const C alpha = states[own.column].alpha;
  if (!__any_sync(~0u, runs)) return;
  const bool steps = !detail::is_zero(alpha);
  ColumnUpdateSums<C> sums;
  if (runs)
    own.for_each_row(v.shape.n, [&](offset_t, offset_t i) {
      C r = v.r[i];
      if (steps) {
        r -= alpha * v.q[i];
        v.r[i] = r;
      }
      sums.add(r, r);
    });
  sums.finish(own, states, workspace, scratch);
}

template <class C>
__global__ void __launch_bounds__(columns_policy.threads)
    cg_columns_direction_factor_kernel(const BundleVectors<C> v, detail::CgState<C>* states,
                                       const ReductionWorkspace workspace) {
  __shared__ typename ColumnUpdateSums<C>::Scratch scratch;
  const OwnColumn own(v.shape);
  const bool runs = states[own.column].stop == 0;
  if (!__any_sync(~0u, runs)) return;
  ColumnUpdateSums<C> sums;
  if (runs) own.for_each_row(v.shape.n, [&](offset_t, offset_t i) { sums.add(v.r[i], v.z[i]); });
  sums.finish(own, states, workspace, scratch);
}

}  // namespace

CgUpdatePolicy cg_columns_update_policy(ScalarType scalar, int n, const CgUpdateCase& given) {
  return cg_columns_update_policy(current_device(), scalar, n, given);
}

template <class C>
void cg_columns_update(const BlockBatchView<const C>& inverse, const BundleVectors<C>& v, detail::CgState<C>* states,
                       const ReductionWorkspace& workspace, CUstream_st* stream) {
  constexpr offset_t warps = columns_policy.threads / 32;
  const BlockTasks<C> tasks = tasks_of(inverse);
  launch_dependent(
      cg_columns_update_kernel<C>, "cg_columns_update_kernel",
      {columns_ctas(columns_update_policy<C>, v.shape, (tasks.warps + warps - 1) / warps), columns_policy.threads},
      stream, tasks, v, states, workspace);
}

template <class C>
void cg_columns_plain_update(const BundleVectors<C>& v, detail::CgState<C>* states, const ReductionWorkspace& workspace,
                             CUstream_st* stream) {
  cg_columns_plain_update_kernel<<<columns_ctas(v.shape), columns_policy.threads, 0, stream>>>(v, states, workspace);
  check_launch("cg_columns_plain_update_kernel");
}

template <class C>
void cg_columns_direction_factor(const BundleVectors<C>& v, detail::CgState<C>* states,
                                 const ReductionWorkspace& workspace, CUstream_st* stream) {
  cg_columns_direction_factor_kernel<<<columns_ctas(v.shape), columns_policy.threads, 0, stream>>>(v, states,
                                                                                                   workspace);
  check_launch("cg_columns_direction_factor_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                   \
  template void cg_columns_update(const BlockBatchView<const C>&, const BundleVectors<C>&, detail::CgState<C>*,      \
                                  const ReductionWorkspace&, CUstream_st*);                                          \
  template void cg_columns_plain_update(const BundleVectors<C>&, detail::CgState<C>*, const ReductionWorkspace&,     \
                                        CUstream_st*);                                                               \
  template void cg_columns_direction_factor(const BundleVectors<C>&, detail::CgState<C>*, const ReductionWorkspace&, \
                                            CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
