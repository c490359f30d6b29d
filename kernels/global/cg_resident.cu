#include "core/shared/cg_recurrence.hpp"
#include "kernels/block/grid_exchange.cuh"
#include "kernels/block/grid_sum.cuh"
#include "kernels/block/staged_state.cuh"
#include "kernels/global/block_tasks.cuh"
#include "kernels/global/csr_rows.cuh"
#include "kernels/global/vector.cuh"

// Iterations of CG in one launch, for systems that live in L2: a thread block keeps its rows of the matrix in shared
// memory, and two exchanges of sums are all that an iteration waits for. The direction p = z + beta p is not written
// before the product but computed for every element that the product reads, so that p needs no third exchange; it
// alternates between two vectors, since other thread blocks still read the old one. The scalar steps run in every
// thread block.

namespace blockjacobi::kernels {

namespace {

template <class C>
struct ResidentArguments {
  CsrRows<C> matrix;
  CgVectors<C> v;
  C* spare;  ///< for p
  BlockTasks<C> tasks;
  detail::CgState<C>* state;
  ExchangeSlot* slots;
  int iterations;
  int capacity;  ///< entries that the shared memory holds
};

/// The first row of the share of a thread block: shares have about as many entries, and few enough rows.
template <class C>
__device__ int first_row_of(const CsrRows<C>& a, unsigned block) {
  const offset_t nnz = a.offsets[a.rows] - a.base;
  const offset_t target = (nnz + offset_t{resident_row_weight} * a.rows) * block / gridDim.x;
  int low = 0, high = a.rows;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (a.offsets[middle] - a.base + offset_t{resident_row_weight} * middle < target)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// As many lanes for each of the rows as there are, but not more than have something to do.
__device__ inline int lanes_for(int rows, int entries) {
  int lanes = 1;
  while (lanes < 32 && 2 * lanes * rows <= resident_policy.threads && 2 * lanes * rows <= entries) lanes *= 2;
  return lanes;
}

/// The rows of a thread block in shared memory; entries that find no room there stay where they are.
template <class C>
struct ResidentRows {
  const CsrRows<C>& a;
  const C* values;
  const int* columns;
  const int* offsets;  ///< by row of the thread block, counted from its first entry
  int first;           ///< entry
  int held;            ///< entries in shared memory

  __device__ C value(int entry) const { return entry < held ? values[entry] : a.values[first + entry]; }
  __device__ int column(int entry) const { return entry < held ? columns[entry] : a.columns[first + entry] - a.base; }

  /// The share of a lane in the product of the entries begin .. end - 1 with z + beta p, or with p alone.
  template <bool turned>
  __device__ C product(int begin, int end, int stride, const C* z, C beta, const C* p) const {
    constexpr int K = sizeof(C) > 8 ? 4 : 8;  // on the way at once
    C sum{};
    for (int entry = begin; entry < end; entry += K * stride) {
      C old[K], turn[K];
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const bool exists = entry + k * stride < end;
        const int j = exists ? column(entry + k * stride) : 0;
        old[k] = exists ? p[j] : C{};
        if constexpr (!turned) turn[k] = exists ? z[j] : C{};
      }
#pragma unroll
      for (int k = 0; k < K; ++k) {
        if (entry + k * stride >= end) continue;
        if constexpr (turned)
          sum += value(entry + k * stride) * old[k];
        else
          sum += value(entry + k * stride) * (turn[k] + beta * old[k]);
      }
    }
    return sum;
  }
};

template <class C>
__global__ void __launch_bounds__(resident_policy.threads, 1) cg_resident_kernel(const ResidentArguments<C> a) {
  constexpr int threads = resident_policy.threads;
  constexpr int width = sum_width<C>;
  extern __shared__ __align__(16) char memory[];
  __shared__ StagedState<detail::CgState<C>> staged;
  __shared__ GridExchange::Scratch scratch;

  if (a.state->stop != 0) {
    if (blockIdx.x == 0 && threadIdx.x == 0) a.state->alpha = C{};
    return;
  }
  detail::CgState<C>& state = staged.load(a.state);
  GridExchange exchange(a.slots);

  const int thread = static_cast<int>(threadIdx.x);
  const int row0 = first_row_of(a.matrix, blockIdx.x), row1 = first_row_of(a.matrix, blockIdx.x + 1);
  const int first = a.matrix.offsets[row0] - a.matrix.base, last = a.matrix.offsets[row1] - a.matrix.base;
  const int held = min(last - first, a.capacity);
  C* const values = reinterpret_cast<C*>(memory);
  int* const columns = reinterpret_cast<int*>(values + a.capacity);
  int* const offsets = columns + a.capacity;
  for (int k = thread; k < held; k += threads) {
    values[k] = a.matrix.values[first + k];
    columns[k] = a.matrix.columns[first + k] - a.matrix.base;
  }
  for (int i = thread; i <= row1 - row0; i += threads) offsets[i] = a.matrix.offsets[row0 + i] - a.matrix.base - first;
  const ResidentRows<C> rows{a.matrix, values, columns, offsets, first, held};
  __syncthreads();

  const int lanes = lanes_for(row1 - row0, last - first);
  const int rank = thread & (lanes - 1), group = thread / lanes, groups = threads / lanes;
  const offset_t warps = static_cast<offset_t>(gridDim.x) * (threads / 32);
  const offset_t first_task = static_cast<offset_t>(blockIdx.x) + static_cast<offset_t>(gridDim.x) * (thread / 32);
  OwnRow first_row{};  // most warps have no other
  if (first_task < a.tasks.warps) first_row = own_row(a.tasks, first_task);
  C* p = a.v.p;
  C* next = a.spare;
  bool turned = true;  // p is the direction already
  for (int iteration = 0; iteration < a.iterations; ++iteration) {
    const C step = state.alpha, beta = state.beta;
    double pq[width] = {};
    for (int base = row0; base < row1; base += groups) {  // whole warps stay together
      const int row = base + group;
      const bool exists = row < row1;
      const int begin = exists ? offsets[row - row0] + rank : 0, end = exists ? offsets[row - row0 + 1] : 0;
      const bool owns = exists && rank == 0;
      C own = owns ? p[row] : C{};
      const C turn = owns && !turned ? a.v.z[row] : C{};
      C sum = turned ? rows.template product<true>(begin, end, lanes, a.v.z, beta, p)
                     : rows.template product<false>(begin, end, lanes, a.v.z, beta, p);
      for (int half = lanes / 2; half > 0; half /= 2) sum += broadcast_within(sum, (thread % 32) ^ half, 32);
      if (!owns) continue;
      if (!turned) {
        a.v.x[row] += step * own;
        own = turn + beta * own;
        next[row] = own;
      }
      a.v.q[row] = sum;
      accumulate_dot(pq, own, sum);
    }
    if (!turned) {
      C* const old = p;
      p = next;
      next = old;
    }
    turned = false;
    exchange.run(pq, scratch);
    if (thread == 0) {
      state.pq = to_accumulator<C>(pq);
      detail::cg_step_length(state);
    }
    __syncthreads();
    if (state.stop != 0) break;

    const C alpha = state.alpha;
    double sums[width + 1] = {};
    for (offset_t task = first_task; task < a.tasks.warps; task += warps) {
      const OwnRow own = task == first_task ? first_row : own_row(a.tasks, task);
      const C r = own.exists ? a.v.r[own.row] - alpha * a.v.q[own.row] : C{};
      const C z = own.product(a.tasks.inverse, r);
      if (!own.exists) continue;
      a.v.r[own.row] = r;  // after the product, the loads of which need not wait for it
      a.v.z[own.row] = z;
      accumulate_dot(sums, r, z);
      accumulate_square(sums[width], r);
    }
    exchange.run(sums, scratch);
    if (thread == 0) {
      state.rho_new = to_accumulator<C>(sums);
      state.rr = sums[width];
      detail::cg_direction_factor(state);
    }
    __syncthreads();
    if (state.stop != 0) break;
  }

  // What cg_direction() would do, and p where others look for it.
  const C alpha = state.alpha, beta = state.beta;
  for (int row = row0 + thread; row < row1; row += threads) {
    const C own = p[row];
    if (!detail::is_zero(alpha)) a.v.x[row] += alpha * own;  // after a stop p may hold what is not finite
    a.v.p[row] = state.stop == 0 ? a.v.z[row] + beta * own : own;
  }
  __syncthreads();
  if (thread == 0) state.alpha = C{};  // x has taken the step
  if (blockIdx.x == 0) staged.store(a.state);
}

int attribute(cudaDeviceAttr name) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, name, device), "cudaDeviceGetAttribute");
  return value;
}

/// Rows of a thread block at most, and the entries that find room beside their offsets.
template <class C>
struct ResidentSize {
  ResidentSize(index_t rows, offset_t nnz, int blocks)
      : most_rows(static_cast<int>((rows + nnz / resident_row_weight) / blocks + 2)),
        capacity(std::max(0, (resident_shared_bytes - (most_rows + 1) * static_cast<int>(sizeof(int))) /
                                 static_cast<int>(sizeof(C) + sizeof(int)))) {}
  int most_rows;
  int capacity;
};

}  // namespace

std::size_t exchange_bytes() noexcept { return 2 * sizeof(ExchangeSlot) * resident_policy.threads; }

template <class C>
bool cg_can_reside(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse) {
  if (matrix.rows == 0 || !are_tiny(inverse) || attribute(cudaDevAttrCooperativeLaunch) == 0) return false;
  const int blocks = attribute(cudaDevAttrMultiProcessorCount);
  if (blocks > resident_policy.threads) return false;
  if (attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) < resident_shared_bytes + resident_static_bytes) return false;
  const ResidentSize<C> size(matrix.rows, matrix.nnz, blocks);
  return matrix.rows <= resident_rows_per_block * blocks && matrix.nnz <= offset_t{size.capacity} * blocks;
}

template <class C>
void cg_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse, const CgVectors<C>& v,
                 C* spare, int iterations, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                 CUstream_st* stream) {
  const int blocks = attribute(cudaDevAttrMultiProcessorCount);
  const ResidentSize<C> size(matrix.rows, matrix.nnz, blocks);
  ResidentArguments<C> arguments{
      rows_of(matrix, static_cast<const C*>(v.p)),    v,          spare,        tasks_of(inverse), state,
      static_cast<ExchangeSlot*>(workspace.exchange), iterations, size.capacity};
  void* pointers[] = {&arguments};
  const auto kernel = cg_resident_kernel<C>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, resident_shared_bytes),
        "cudaFuncSetAttribute(cg_resident_kernel)");
  check(cudaLaunchCooperativeKernel(kernel, dim3(static_cast<unsigned>(blocks)), dim3(resident_policy.threads),
                                    pointers, resident_shared_bytes, stream),
        "cg_resident_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                    \
  template bool cg_can_reside(const CsrView<C, std::int32_t>&, const BlockBatchView<const C>&);                       \
  template void cg_resident(const CsrView<C, std::int32_t>&, const BlockBatchView<const C>&, const CgVectors<C>&, C*, \
                            int, detail::CgState<C>*, const ReductionWorkspace&, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
