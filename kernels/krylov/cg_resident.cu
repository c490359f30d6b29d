#include "core/shared/cg_recurrence.hpp"
#include "kernels/collectives/grid_sum.cuh"
#include "kernels/krylov/launch_resident.cuh"
#include "kernels/krylov/staged_state.cuh"
#include "kernels/krylov/vector.cuh"

// CG as resident.cuh says, with two exchanges of sums. Every thread block computes p = z + beta p for all the elements
// that it needs, so that p needs no third exchange and z is read once for each of them, whatever the number of entries.

namespace blockjacobi::kernels {

namespace {

template <class C>
struct ResidentArguments {
  CsrRows<C> matrix;
  CgVectors<C> v;
  Message<C>* z;
  Message<C>* p;  ///< told only if a thread block has no room for all that it needs
  ResidentBlocks<C> blocks;
  detail::CgState<C>* state;
  GridExchange::Slot* slots;
  int iterations;
  int bytes;  ///< of shared memory
};

template <class C>
__global__ void __launch_bounds__(resident_policy.threads, 1)
    cg_resident_kernel(const __grid_constant__ ResidentArguments<C> a) {
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
  const int row0 = share_begin(a.matrix, a.blocks, blockIdx.x, resident_row_weight);
  const int own_rows = share_begin(a.matrix, a.blocks, blockIdx.x + 1, resident_row_weight) - row0;

  SharedRoom shared(memory, a.bytes);
  // The numbers of the columns, and once all have theirs, r, z and q.
  const int vectors = max(3 * own_rows * static_cast<int>(sizeof(C)), ColumnNumbers::bytes(a.matrix.rows));
  C* const r = reinterpret_cast<C*>(shared.take<char>(vectors));
  C* const z = r + own_rows;
  C* const q = z + own_rows;
  ResidentInverse<C> inverse(a.blocks, row0, own_rows, shared);
  ResidentRows<C> rows(a.matrix, row0, own_rows, r, shared);
  inverse.load(shared);
  rows.fetch(a.v.p);
  for (int i = thread; i < own_rows; i += threads) {
    r[i] = a.v.r[row0 + i];
    z[i] = a.v.z[row0 + i];
  }
  double incomplete[1] = {thread == 0 && !rows.is_complete() ? 1.0 : 0.0};
  exchange.run(incomplete, scratch);
  const bool tells = incomplete[0] != 0.0;

  const int lanes = lanes_for(own_rows, rows.entries(), threads);
  const int lanes_of_block = inverse.lanes(threads);
  unsigned told = 0;  // round of the messages with z
  for (int iteration = 0; iteration < a.iterations; ++iteration) {
    const bool turned = iteration == 0;  // p is the direction already
    if (!turned) {
      rows.turn(z, a.z, told, state.alpha, state.beta, a.v.x + row0);
      if (tells) rows.tell(a.p, exchange.round());
    }
    const auto remote = [&](int column) { return turned ? a.v.p[column] : receive(a.p[column], exchange.round()); };
    double pq[width] = {};
    for_each_row(own_rows, lanes, [&](int row, int rank, bool exists) {
      const int begin = exists ? rows.begin(row) + rank : 0, end = exists ? rows.begin(row + 1) : 0;
      const C sum = sum_of_lanes(rows.product(begin, end, lanes, remote), lanes);
      if (!exists || rank != 0) return;
      q[row] = sum;
      accumulate_dot(pq, rows.direction(row), sum);
    });
    exchange.run(pq, scratch);
    if (thread == 0) {
      state.pq = to_accumulator<C>(pq);
      detail::cg_step_length(state);
    }
    __syncthreads();
    if (state.stop != 0) break;

    const C alpha = state.alpha;
    told = exchange.round();
    for (int i = thread; i < own_rows; i += threads) r[i] -= alpha * q[i];
    __syncthreads();
    double sums[width + 1] = {};
    for_each_row(own_rows, lanes_of_block, [&](int row, int rank, bool exists) {
      const C sum = sum_of_lanes(exists ? inverse.product(row, r, rank, lanes_of_block) : C{}, lanes_of_block);
      if (!exists || rank != 0) return;
      z[row] = sum;
      put(a.z[row0 + row], told, sum);
      accumulate_dot(sums, r[row], sum);
      accumulate_square(sums[width], r[row]);
    });
    exchange.run(sums, scratch);
    if (thread == 0) {
      state.rho_new = to_accumulator<C>(sums);
      state.rr = sums[width];
      detail::cg_direction_factor(state);
    }
    __syncthreads();
    if (state.stop != 0) break;
  }

  // What cg_direction() would do, and r, z and p where others look for them.
  const C alpha = state.alpha, beta = state.beta;
  for (int i = thread; i < own_rows; i += threads) {
    const int row = row0 + i;
    const C own = rows.direction(i);
    if (!detail::is_zero(alpha)) a.v.x[row] += alpha * own;  // after a stop p may hold what is not finite
    a.v.p[row] = state.stop == 0 ? z[i] + beta * own : own;
    a.v.r[row] = r[i];
    a.v.z[row] = z[i];
  }
  __syncthreads();
  if (thread == 0) state.alpha = C{};  // x has taken the step
  if (blockIdx.x == 0) staged.store(a.state);
}

}  // namespace

template <class C>
void cg_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse, const CgVectors<C>& v,
                 C* messages, int iterations, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                 CUstream_st* stream, int shared_bytes) {
  auto* const told = reinterpret_cast<Message<C>*>(messages);
  ResidentArguments<C> arguments{rows_of(matrix, static_cast<const C*>(v.p)),
                                 v,
                                 told,
                                 told + matrix.rows,
                                 resident_blocks(inverse),
                                 state,
                                 static_cast<GridExchange::Slot*>(workspace.exchange),
                                 iterations,
                                 shared_bytes > 0 ? shared_bytes : resident_shared_bytes};
  launch_resident(cg_resident_kernel<C>, "cg_resident_kernel", arguments, stream);
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                    \
  template void cg_resident(const CsrView<C, std::int32_t>&, const BlockBatchView<const C>&, const CgVectors<C>&, C*, \
                            int, detail::CgState<C>*, const ReductionWorkspace&, CUstream_st*, int)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
