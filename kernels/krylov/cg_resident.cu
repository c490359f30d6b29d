#include "core/shared/cg_recurrence.hpp"
#include "kernels/apply/block_tasks.cuh"
#include "kernels/collectives/grid_exchange.cuh"
#include "kernels/collectives/grid_sum.cuh"
#include "kernels/krylov/column_numbers.cuh"
#include "kernels/krylov/csr_rows.cuh"
#include "kernels/krylov/staged_state.cuh"
#include "kernels/krylov/vector.cuh"
#include "kernels/launch/check.hpp"
#include "kernels/launch/grid.hpp"

// Iterations of CG in one launch, for systems that live in L2: a thread block keeps its rows of the matrix in shared
// memory, with the elements of the direction that they multiply, and two exchanges of sums are all that an iteration
// waits for. Every thread block computes p = z + beta p for all the elements that it needs, so that p needs no third
// exchange and z is read once for each of them, whatever the number of entries. The scalar steps run in every thread
// block. Where the elements find no room in shared memory, those left over are computed from z and p for each entry;
// for these p is also written, to two vectors in turn, since other thread blocks still read the old one.

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
  int bytes;  ///< of shared memory
};

/// The first row of the share of a thread block: shares have about as many entries, and few enough rows.
template <class C>
__device__ int first_row_of(const CsrRows<C>& a, unsigned block) {
  const offset_t nnz = a.offsets[a.rows] - a.base;
  const offset_t target = (nnz + offset_t{cg_resident_row_weight} * a.rows) * block / gridDim.x;
  int low = 0, high = a.rows;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (a.offsets[middle] - a.base + offset_t{cg_resident_row_weight} * middle < target)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Lanes for each of the rows: so many that a lane has few entries, and as many as there are, but not more than have
/// something to do.
__device__ inline int lanes_for(int rows, int entries) {
  int lanes = 1;
  while (lanes < 32 && 2 * lanes * rows <= entries &&
         (2 * lanes * rows <= cg_resident_policy.threads || cg_resident_lane_entries * lanes * rows < entries))
    lanes *= 2;
  return lanes;
}

/// The rows of a thread block in shared memory, with the elements of the direction that they multiply. Entries and
/// elements that find no room there stay where they are.
template <class C>
class ResidentRows {
 public:
  __device__ ResidentRows(const ResidentArguments<C>& a, char* memory)
      : a_(a.matrix),
        row0_(first_row_of(a_, blockIdx.x)),
        rows_(first_row_of(a_, blockIdx.x + 1) - row0_),
        first_(a_.offsets[row0_] - a_.base),
        entries_(a_.offsets[row0_ + rows_] - a_.base - first_) {
    constexpr int element = sizeof(C) + sizeof(int);
    const int room = (a.bytes - ColumnNumbers::bytes(a_.rows) - (rows_ + 1) * static_cast<int>(sizeof(int))) / element;
    held_ = max(0, min(entries_, room - rows_));
    room_ = room - held_;
    values_ = reinterpret_cast<C*>(memory);
    directions_ = values_ + held_;
    columns_ = reinterpret_cast<int*>(directions_ + room_);
    list_ = columns_ + held_;
    offsets_ = list_ + room_;
    numbers_memory_ = offsets_ + rows_ + 1;
  }

  __device__ void load() {
    constexpr int threads = cg_resident_policy.threads;
    const int thread = static_cast<int>(threadIdx.x);
    ColumnNumbers numbers(numbers_memory_, a_.rows, row0_, rows_);
    for (int k = thread; k < entries_; k += threads) {
      const int column = a_.columns[first_ + k] - a_.base;
      numbers.insert(column);
      if (k >= held_) continue;
      values_[k] = a_.values[first_ + k];
      columns_[k] = column;
    }
    for (int i = thread; i <= rows_; i += threads) offsets_[i] = a_.offsets[row0_ + i] - a_.base - first_;
    numbers.finish();
    count_ = min(numbers.count(), room_);
    is_complete_ = held_ == entries_ && numbers.count() <= room_;
    for (int k = thread; k < held_; k += threads) {
      const int number = numbers.number(columns_[k]);
      columns_[k] = number < room_ ? number : ~columns_[k];
    }
    numbers.for_each([&](int number, int column) {
      if (number < room_) list_[number] = column;
    });
    __syncthreads();
  }

  __device__ int first_row() const { return row0_; }
  __device__ int rows() const { return rows_; }
  __device__ int entries() const { return entries_; }
  __device__ int begin(int row) const { return offsets_[row]; }
  /// Of the thread block's own row `row`.
  __device__ C direction(int row) const { return directions_[row]; }

  /// The direction as it is.
  __device__ void fetch(const C* p) {
    for (int i = static_cast<int>(threadIdx.x); i < count_; i += cg_resident_policy.threads)
      directions_[i] = p[list_[i]];
    __syncthreads();
  }

  /// x += step p, p = z + beta p; the rows of the thread block go to `next` as well.
  __device__ void turn(const C* z, C step, C beta, C* x, C* next) {
    constexpr int threads = cg_resident_policy.threads;
    constexpr int K = sizeof(C) > 8 ? 4 : 8;  // on the way at once
    for (int base = static_cast<int>(threadIdx.x); base < count_; base += K * threads) {
      C turned[K], position[K];
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const int i = base + k * threads;
        turned[k] = i < count_ ? z[list_[i]] : C{};
        position[k] = i < rows_ ? x[row0_ + i] : C{};
      }
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const int i = base + k * threads;
        if (i >= count_) continue;
        const C old = directions_[i];
        const C own = turned[k] + beta * old;
        directions_[i] = own;
        if (i >= rows_) continue;
        x[row0_ + i] = position[k] + step * old;
        next[row0_ + i] = own;
      }
    }
    __syncthreads();
  }

  /// The share of a lane in the product of the entries begin .. end - 1 with the direction, which where it is not held
  /// is z + beta p, or p if z is null.
  __device__ C product(int begin, int end, int stride, const C* z, C beta, const C* p) const {
    return is_complete_ ? product_of_held(begin, end, stride) : product_of_all(begin, end, stride, z, beta, p);
  }

 private:
  __device__ C product_of_held(int begin, int end, int stride) const {
    constexpr int K = sizeof(C) > 8 ? 4 : 8;  // on the way at once
    C sum{};
    for (int entry = begin; entry < end; entry += K * stride) {
      C value[K], direction[K];
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const bool exists = entry + k * stride < end;
        value[k] = exists ? values_[entry + k * stride] : C{};
        direction[k] = exists ? directions_[columns_[entry + k * stride]] : C{};
      }
#pragma unroll
      for (int k = 0; k < K; ++k)
        if (entry + k * stride < end) sum += value[k] * direction[k];
    }
    return sum;
  }

  __device__ C product_of_all(int begin, int end, int stride, const C* z, C beta, const C* p) const {
    C sum{};
    for (int entry = begin; entry < end; entry += stride) {
      const bool is_held = entry < held_;
      const int place = is_held ? columns_[entry] : ~(a_.columns[first_ + entry] - a_.base);
      const C value = is_held ? values_[entry] : a_.values[first_ + entry];
      C direction = place >= 0 ? directions_[place] : p[~place];
      if (place < 0 && z != nullptr) direction = z[~place] + beta * direction;
      sum += value * direction;
    }
    return sum;
  }

  const CsrRows<C>& a_;
  int row0_, rows_;
  int first_, entries_;
  int held_;   ///< entries
  int room_;   ///< for elements of the direction
  int count_;  ///< of them
  bool is_complete_;
  C* values_;
  C* directions_;  ///< by number of the column
  int* columns_;   ///< number; the complement of the column, if its element is not held
  int* list_;      ///< column by number
  int* offsets_;   ///< by row of the thread block, counted from its first entry
  void* numbers_memory_;
};

template <class C>
__global__ void __launch_bounds__(cg_resident_policy.threads, 1) cg_resident_kernel(const ResidentArguments<C> a) {
  constexpr int threads = cg_resident_policy.threads;
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
  ResidentRows<C> rows(a, memory);
  rows.load();
  rows.fetch(a.v.p);

  const int thread = static_cast<int>(threadIdx.x);
  const int row0 = rows.first_row();
  const int lanes = lanes_for(rows.rows(), rows.entries());
  const int rank = thread & (lanes - 1), group = thread / lanes, groups = threads / lanes;
  const offset_t warps = static_cast<offset_t>(gridDim.x) * (threads / 32);
  const offset_t first_task = static_cast<offset_t>(blockIdx.x) + static_cast<offset_t>(gridDim.x) * (thread / 32);
  OwnRow first_row{};  // most warps have no other
  if (first_task < a.tasks.warps) first_row = own_row(a.tasks, first_task);
  C* p = a.v.p;
  C* next = a.spare;
  for (int iteration = 0; iteration < a.iterations; ++iteration) {
    const bool turned = iteration == 0;  // p is the direction already
    const C beta = state.beta;
    if (!turned) rows.turn(a.v.z, state.alpha, beta, a.v.x, next);
    double pq[width] = {};
    for (int base = 0; base < rows.rows(); base += groups) {  // whole warps stay together
      const int row = base + group;
      const bool exists = row < rows.rows();
      const int begin = exists ? rows.begin(row) + rank : 0, end = exists ? rows.begin(row + 1) : 0;
      C sum = rows.product(begin, end, lanes, turned ? nullptr : a.v.z, beta, p);
      for (int half = lanes / 2; half > 0; half /= 2) sum += broadcast_within(sum, (thread % 32) ^ half, 32);
      if (!exists || rank != 0) continue;
      a.v.q[row0 + row] = sum;
      accumulate_dot(pq, rows.direction(row), sum);
    }
    if (!turned) {
      C* const old = p;
      p = next;
      next = old;
    }
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
  for (int i = thread; i < rows.rows(); i += threads) {
    const int row = row0 + i;
    const C own = rows.direction(i);
    if (!detail::is_zero(alpha)) a.v.x[row] += alpha * own;  // after a stop p may hold what is not finite
    a.v.p[row] = state.stop == 0 ? a.v.z[row] + beta * own : own;
  }
  __syncthreads();
  if (thread == 0) state.alpha = C{};  // x has taken the step
  if (blockIdx.x == 0) staged.store(a.state);
}

/// As large as cg_resident_kernel at its largest.
__global__ void __launch_bounds__(cg_resident_policy.threads, 1) resident_probe_kernel() {}

template <class Kernel>
cudaError_t launch_resident(Kernel kernel, int blocks, void** arguments, CUstream_st* stream) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, cg_resident_shared_bytes),
        "cudaFuncSetAttribute(resident kernel)");
  return cudaLaunchCooperativeKernel(kernel, dim3(static_cast<unsigned>(blocks)), dim3(cg_resident_policy.threads),
                                     arguments, cg_resident_shared_bytes, stream);
}

/// Whether a thread block for each multiprocessor of the device finds its place: streams may have a part of them.
bool fits_stream(int blocks, CUstream_st* stream) {
  const cudaError_t status = launch_resident(resident_probe_kernel, blocks, nullptr, stream);
  if (status == cudaErrorCooperativeLaunchTooLarge) {
    static_cast<void>(cudaGetLastError());  // no later launch takes it for its own error
    return false;
  }
  check(status, "resident_probe_kernel");
  return true;
}

}  // namespace

std::size_t exchange_bytes() noexcept { return 2 * sizeof(ExchangeSlot) * cg_resident_policy.threads; }

bool blocks_can_reside(std::span<const BlockGroup> groups, index_t rows) {
  if (rows == 0 || !are_tiny(groups) || device_attribute(cudaDevAttrCooperativeLaunch) == 0) return false;
  const int blocks = device_attribute(cudaDevAttrMultiProcessorCount);
  if (blocks > cg_resident_policy.threads) return false;
  if (device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) < cg_resident_shared_bytes + cg_resident_static_bytes)
    return false;
  return rows <= cg_resident_rows * blocks;
}

template <class C>
bool cg_can_reside(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse,
                   CUstream_st* stream) {
  if (!blocks_can_reside(inverse.groups, matrix.rows)) return false;
  const int blocks = device_attribute(cudaDevAttrMultiProcessorCount);
  constexpr offset_t entries_per_block = cg_resident_entry_bytes / (sizeof(C) + sizeof(int));
  return matrix.nnz <= entries_per_block * blocks && fits_stream(blocks, stream);
}

template <class C>
void cg_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse, const CgVectors<C>& v,
                 C* spare, int iterations, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                 CUstream_st* stream, int shared_bytes) {
  ResidentArguments<C> arguments{rows_of(matrix, static_cast<const C*>(v.p)),
                                 v,
                                 spare,
                                 tasks_of(inverse),
                                 state,
                                 static_cast<ExchangeSlot*>(workspace.exchange),
                                 iterations,
                                 shared_bytes > 0 ? shared_bytes : cg_resident_shared_bytes};
  void* pointers[] = {&arguments};
  check(launch_resident(cg_resident_kernel<C>, device_attribute(cudaDevAttrMultiProcessorCount), pointers, stream),
        "cg_resident_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                    \
  template bool cg_can_reside(const CsrView<C, std::int32_t>&, const BlockBatchView<const C>&, CUstream_st*);         \
  template void cg_resident(const CsrView<C, std::int32_t>&, const BlockBatchView<const C>&, const CgVectors<C>&, C*, \
                            int, detail::CgState<C>*, const ReductionWorkspace&, CUstream_st*, int)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
