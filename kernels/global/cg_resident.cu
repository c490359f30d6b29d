#include "core/shared/cg_recurrence.hpp"
#include "kernels/block/grid_exchange.cuh"
#include "kernels/block/grid_sum.cuh"
#include "kernels/block/reduce.cuh"
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

/// L1 may hold what another thread block has overwritten.
__device__ inline float load_fresh(const float* p) { return __ldcg(p); }
__device__ inline double load_fresh(const double* p) { return __ldcg(p); }
template <class R>
__device__ detail::Complex<R> load_fresh(const detail::Complex<R>* p) {
  const R* parts = reinterpret_cast<const R*>(p);
  return {__ldcg(parts), __ldcg(parts + 1)};
}

template <class C>
struct ResidentArguments {
  CsrRows<C> matrix;
  CgVectors<C> v;
  C* spare;  ///< for p
  BlockTasks<C> tasks;
  detail::CgState<C>* state;
  ExchangeSlot* slots;
  int iterations;
  int lanes;     ///< that share a row, a power of two
  int capacity;  ///< entries that the shared memory holds
};

/// The entries of the rows of a thread block: the first ones in shared memory, others, if any, where they are.
template <class C>
struct ResidentRows {
  const CsrRows<C>& a;
  const C* values;
  const int* columns;
  int first;  ///< entry
  int held;   ///< entries in shared memory

  __device__ C value(int entry) const { return entry - first < held ? values[entry - first] : a.values[entry]; }
  __device__ int column(int entry) const {
    return entry - first < held ? columns[entry - first] : a.columns[entry] - a.base;
  }
};

/// Sums of the thread block, in every thread.
template <int K>
__device__ void sum_up(double (&sums)[K], ReduceScratch<K, double>& scratch) {
  block_reduce(sums, scratch, [](double a, double b) { return a + b; });
}

template <class C>
__global__ void __launch_bounds__(resident_policy.threads, 1) cg_resident_kernel(const ResidentArguments<C> a) {
  constexpr int threads = resident_policy.threads;
  constexpr int width = sum_width<C>;
  extern __shared__ __align__(16) char memory[];
  __shared__ StagedState<detail::CgState<C>> staged;
  __shared__ ReduceScratch<width, double> product_scratch;
  __shared__ ReduceScratch<width + 1, double> update_scratch;
  __shared__ double exchange_scratch[width + 1][32];
  __shared__ double product_exchange[width][32];

  if (a.state->stop != 0) {
    if (blockIdx.x == 0 && threadIdx.x == 0) a.state->alpha = C{};
    return;
  }
  detail::CgState<C>& state = staged.load(a.state);
  GridExchange exchange(a.slots);

  const int thread = static_cast<int>(threadIdx.x);
  const auto share = [&](offset_t count, unsigned block) { return static_cast<int>(count * block / gridDim.x); };
  const int row0 = share(a.v.n, blockIdx.x), row1 = share(a.v.n, blockIdx.x + 1);
  const int first = a.matrix.offsets[row0] - a.matrix.base, last = a.matrix.offsets[row1] - a.matrix.base;
  const int held = min(last - first, a.capacity);
  C* const values = reinterpret_cast<C*>(memory);
  int* const columns = reinterpret_cast<int*>(values + a.capacity);
  for (int k = thread; k < held; k += threads) {
    values[k] = a.matrix.values[first + k];
    columns[k] = a.matrix.columns[first + k] - a.matrix.base;
  }
  const ResidentRows<C> rows{a.matrix, values, columns, first, held};
  __syncthreads();

  const int rank = thread & (a.lanes - 1), group = thread / a.lanes, groups = threads / a.lanes;
  const offset_t warps = static_cast<offset_t>(gridDim.x) * (threads / 32);
  C* p = a.v.p;
  C* next = a.spare;
  bool turned = true;  // p is the direction already
  for (int iteration = 0; iteration < a.iterations; ++iteration) {
    const C step = state.alpha, beta = state.beta;
    double pq[width] = {};
    for (int base = row0; base < row1; base += groups) {  // whole warps stay together
      const int row = base + group;
      const bool exists = row < row1;
      const int end = exists ? a.matrix.offsets[row + 1] - a.matrix.base : 0;
      C sum{};
      for (int k = exists ? a.matrix.offsets[row] - a.matrix.base + rank : 0; k < end; k += a.lanes) {
        const int j = rows.column(k);
        const C old = load_fresh(p + j);
        sum += rows.value(k) * (turned ? old : load_fresh(a.v.z + j) + beta * old);
      }
      for (int half = a.lanes / 2; half > 0; half /= 2) sum += broadcast_within(sum, (thread % 32) ^ half, 32);
      if (!exists || rank != 0) continue;
      C own = load_fresh(p + row);
      if (!turned) {
        a.v.x[row] += step * own;
        own = load_fresh(a.v.z + row) + beta * own;
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
    sum_up(pq, product_scratch);
    exchange.run(pq, product_exchange);
    if (thread == 0) {
      state.pq = to_accumulator<C>(pq);
      detail::cg_step_length(state);
    }
    __syncthreads();
    if (state.stop != 0) break;

    const C alpha = state.alpha;
    double sums[width + 1] = {};
    for (offset_t task = static_cast<offset_t>(blockIdx.x) + static_cast<offset_t>(gridDim.x) * (thread / 32);
         task < a.tasks.warps; task += warps) {
      const OwnRow own = own_row(a.tasks, task);
      C r{};
      if (own.exists) {
        r = a.v.r[own.row] - alpha * load_fresh(a.v.q + own.row);
        a.v.r[own.row] = r;
      }
      const C z = own.product(a.tasks.inverse, r);
      if (!own.exists) continue;
      a.v.z[own.row] = z;
      accumulate_dot(sums, r, z);
      accumulate_square(sums[width], r);
    }
    sum_up(sums, update_scratch);
    exchange.run(sums, exchange_scratch);
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
    const C own = load_fresh(p + row);
    a.v.x[row] += alpha * own;
    a.v.p[row] = state.stop == 0 ? load_fresh(a.v.z + row) + beta * own : own;
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

template <class C>
constexpr int bytes_per_entry = static_cast<int>(sizeof(C) + sizeof(int));
template <class C>
constexpr int resident_capacity = resident_shared_bytes / bytes_per_entry<C>;

/// As many lanes as there are for a row, but not more than have something to do.
int lanes_for(index_t rows, offset_t nnz, int blocks) {
  const offset_t share = std::max<offset_t>(1, rows / blocks), length = nnz / std::max(rows, 1);
  int lanes = 1;
  while (lanes < 32 && 2 * lanes * share <= resident_policy.threads && 2 * lanes <= length) lanes *= 2;
  return lanes;
}

}  // namespace

std::size_t exchange_bytes() noexcept { return 2 * sizeof(ExchangeSlot) * resident_policy.threads; }

template <class C>
bool cg_can_reside(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse) {
  if (matrix.rows == 0 || !are_tiny(inverse) || attribute(cudaDevAttrCooperativeLaunch) == 0) return false;
  const int blocks = attribute(cudaDevAttrMultiProcessorCount);
  if (blocks > resident_policy.threads) return false;
  if (attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) < resident_shared_bytes + resident_static_bytes) return false;
  return matrix.rows <= resident_rows_per_block * blocks && matrix.nnz <= offset_t{resident_capacity<C>} * blocks;
}

template <class C>
void cg_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse, const CgVectors<C>& v,
                 C* spare, int iterations, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                 CUstream_st* stream) {
  const int blocks = attribute(cudaDevAttrMultiProcessorCount);
  ResidentArguments<C> arguments{rows_of(matrix, static_cast<const C*>(v.p)),
                                 v,
                                 spare,
                                 tasks_of(inverse),
                                 state,
                                 static_cast<ExchangeSlot*>(workspace.exchange),
                                 iterations,
                                 lanes_for(matrix.rows, matrix.nnz, blocks),
                                 resident_capacity<C>};
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
