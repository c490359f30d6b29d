#include "kernels/apply/block_tasks.cuh"
#include "kernels/krylov/columns.cuh"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/launch/check.hpp"

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

/// Element (i, column) of X r for a block of `order` rows; r points to the column in its first row. Some columns of X
/// are on their way at once.
template <class C>
__device__ C block_row_product(const C* x, int order, int i, const C* r) {
  constexpr int K = columns_entries<C>;
  C sum{};
  for (int first = 0; first < order; first += K) {
    C elements[K];
#pragma unroll
    for (int k = 0; k < K; ++k) elements[k] = first + k < order ? load_again(x + (first + k) * order + i) : C{};
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (first + k < order) sum += elements[k] * r[(first + k) * bundle_width];
  }
  return sum;
}

/// For M of blocks that fit a warp: it has up to 32 rows of whole blocks, as in the update of one column, all columns
/// of four rows at a time; r stands in shared memory meanwhile.
template <class C>
__global__ void __launch_bounds__(columns_policy.threads, columns_policy.per_multiprocessor)
    cg_columns_update_kernel(const BlockTasks<C> tasks, const BundleVectors<C> v, detail::CgState<C>* states,
                             const ReductionWorkspace workspace) {
  constexpr int warps = columns_policy.threads / 32, at_once = 32 / bundle_width;
  __shared__ typename ColumnUpdateSums<C>::Scratch scratch;
  __shared__ C residuals[warps][32 * bundle_width];
  const OwnColumn own(v.shape);
  const bool runs = states[own.column].stop == 0;
  const C alpha = states[own.column].alpha;
  if (!__any_sync(~0u, runs)) return;
  const bool steps = !detail::is_zero(alpha);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int place = lane % bundle_width;
  C* const residual = residuals[warp] + place;
  ColumnUpdateSums<C> sums;
  const offset_t stride = static_cast<offset_t>(own.workers) * warps;
  for (offset_t task = static_cast<offset_t>(own.worker) * warps + warp; task < tasks.warps; task += stride) {
    const OwnRow mine = own_row(tasks, task);  // of lane l row l of the task
    const int row_of_lane = mine.exists ? static_cast<int>(mine.row) : -1;
#pragma unroll 4
    for (int t = 0; t < bundle_width; ++t) {
      const int l = t * at_once + lane / bundle_width;
      const int row = __shfl_sync(~0u, row_of_lane, l);
      C r{};
      if (row >= 0 && runs) {
        const offset_t i = own.first + offset_t{row} * bundle_width;
        r = v.r[i];
        if (steps) {
          r -= alpha * v.q[i];
          v.r[i] = r;
        }
      }
      residual[l * bundle_width] = r;
    }
    __syncwarp();
#pragma unroll 1
    for (int t = 0; t < bundle_width; ++t) {
      const int l = t * at_once + lane / bundle_width;
      const int row = __shfl_sync(~0u, row_of_lane, l);
      const int order = __shfl_sync(~0u, mine.order, l), rank = __shfl_sync(~0u, mine.rank, l);
      const auto start = __shfl_sync(~0u, static_cast<long long>(mine.start), l);
      if (row < 0 || !runs) continue;
      const C z = block_row_product(tasks.inverse + start, order, rank, residual + (l - rank) * bundle_width);
      v.z[own.first + offset_t{row} * bundle_width] = z;
      sums.add(residual[l * bundle_width], z);
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
  cg_columns_update_kernel<<<columns_ctas(v.shape, (tasks.warps + warps - 1) / warps), columns_policy.threads, 0,
                             stream>>>(tasks, v, states, workspace);
  check_launch("cg_columns_update_kernel");
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
