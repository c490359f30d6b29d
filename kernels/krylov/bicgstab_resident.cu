#include "core/shared/bicgstab_recurrence.hpp"
#include "kernels/collectives/grid_sum.cuh"
#include "kernels/krylov/launch_resident.cuh"
#include "kernels/krylov/staged_state.cuh"
#include "kernels/krylov/vector.cuh"

// BiCGSTAB as resident.cuh says, with three exchanges of sums; before each of its products the thread blocks wait for
// elements of M^-1 p and M^-1 s from their neighbours.

namespace blockjacobi::kernels {

namespace {

template <class C>
struct BicgstabArguments {
  CsrRows<C> matrix;
  BicgstabVectors<C> v;
  Message<C>* y;
  Message<C>* z;
  ResidentBlocks<C> blocks;
  detail::BicgstabState<C>* state;
  GridExchange::Slot* slots;
  int iterations;
  int bytes;  ///< of shared memory
};

template <class C>
__global__ void __launch_bounds__(resident_policy.threads, 1)
    bicgstab_resident_kernel(const __grid_constant__ BicgstabArguments<C> a) {
  constexpr int threads = resident_policy.threads;
  constexpr int width = sum_width<C>;
  extern __shared__ __align__(16) char memory[];
  __shared__ StagedState<detail::BicgstabState<C>> staged;
  __shared__ GridExchange::Scratch scratch;

  if (a.state->stop != 0) return;
  detail::BicgstabState<C>& state = staged.load(a.state);
  GridExchange exchange(a.slots);
  const int thread = static_cast<int>(threadIdx.x);
  const int row0 = share_begin(a.matrix, a.blocks, blockIdx.x, resident_row_weight);
  const int own_rows = share_begin(a.matrix, a.blocks, blockIdx.x + 1, resident_row_weight) - row0;

  SharedRoom shared(memory, a.bytes);
  // The numbers of the columns, and once all have theirs, seven vectors.
  const int vectors = max(7 * own_rows * static_cast<int>(sizeof(C)), ColumnNumbers::bytes(a.matrix.rows));
  C* const r = reinterpret_cast<C*>(shared.take<char>(vectors));  // and s
  C* const shadow = r + own_rows;
  C* const p = shadow + own_rows;
  C* const v = p + own_rows;
  C* const t = v + own_rows;
  C* const y = t + own_rows;
  C* const z = y + own_rows;
  ResidentInverse<C> inverse(a.blocks, row0, own_rows, shared);
  ResidentRows<C> rows(a.matrix, row0, own_rows, r, shared);
  inverse.load(shared);
  for (int i = thread; i < own_rows; i += threads) {
    r[i] = a.v.r[row0 + i];
    shadow[i] = a.v.shadow[row0 + i];
    p[i] = a.v.p[row0 + i];
    v[i] = a.v.v[row0 + i];
  }

  double none[1] = {};
  exchange.run(none, scratch);  // no message is of the round before the first

  const int lanes = lanes_for(own_rows, rows.entries(), threads);
  const int lanes_of_block = inverse.lanes(threads);
  // to = M^-1 from, told to the others and brought to where the product reads it.
  const auto precondition = [&](const C* from, C* to, Message<C>* told) {
    for_each_row(own_rows, lanes_of_block, [&](int row, int rank, bool exists) {
      const C sum = sum_of_lanes(exists ? inverse.product(row, from, rank, lanes_of_block) : C{}, lanes_of_block);
      if (!exists || rank != 0) return;
      to[row] = sum;
      put(told[row0 + row], exchange.round(), sum);
    });
    __syncthreads();
    rows.take(to, told, exchange.round());
  };
  // to = A times what was taken; add(row) sees it.
  const auto multiply = [&](C* to, const Message<C>* told, auto add) {
    const auto remote = [&](int column) { return receive(told[column], exchange.round()); };
    for_each_row(own_rows, lanes, [&](int row, int rank, bool exists) {
      const int begin = exists ? rows.begin(row) + rank : 0, end = exists ? rows.begin(row + 1) : 0;
      const C sum = sum_of_lanes(rows.product(begin, end, lanes, remote), lanes);
      if (!exists || rank != 0) return;
      to[row] = sum;
      add(row);
    });
  };
  for (int iteration = 0; iteration < a.iterations; ++iteration) {
    const C beta = state.beta, last_omega = state.omega;
    for (int i = thread; i < own_rows; i += threads) p[i] = r[i] + beta * (p[i] - last_omega * v[i]);
    __syncthreads();
    precondition(p, y, a.y);
    double rv[width] = {};
    multiply(v, a.y, [&](int row) { accumulate_dot(rv, shadow[row], v[row]); });
    exchange.run(rv, scratch);
    if (thread == 0) {
      state.rv = to_accumulator<C>(rv);
      detail::bicgstab_first_step(state);
    }
    __syncthreads();
    if (state.stop != 0) break;

    const C alpha = state.alpha;
    for (int i = thread; i < own_rows; i += threads) r[i] -= alpha * v[i];
    __syncthreads();
    precondition(r, z, a.z);
    double second[width + 2] = {};  // t^H s, ||t||^2, ||s||^2
    multiply(t, a.z, [&](int row) {
      accumulate_dot(second, t[row], r[row]);
      accumulate_square(second[width], t[row]);
      accumulate_square(second[width + 1], r[row]);
    });
    exchange.run(second, scratch);
    if (thread == 0) {
      state.ts = to_accumulator<C>(second);
      state.tt = second[width];
      state.ss = second[width + 1];
      detail::bicgstab_second_step(state);
    }
    __syncthreads();
    if (state.stop != 0) break;

    const C omega = state.omega;
    const bool has_second = !detail::is_zero(omega);
    double sums[width + 1] = {};  // r~^H r, ||r||^2
    for (int i = thread; i < own_rows; i += threads) {
      C step = alpha * y[i];
      if (has_second) {
        step += omega * z[i];
        r[i] -= omega * t[i];
      }
      a.v.x[row0 + i] += step;
      accumulate_dot(sums, shadow[i], r[i]);
      accumulate_square(sums[width], r[i]);
    }
    exchange.run(sums, scratch);
    if (thread == 0) {
      state.rho_new = to_accumulator<C>(sums);
      state.rr = sums[width];
      detail::bicgstab_direction_factor(state);
    }
    __syncthreads();
    if (state.stop != 0) break;
  }

  for (int i = thread; i < own_rows; i += threads) {
    a.v.r[row0 + i] = r[i];
    a.v.p[row0 + i] = p[i];
    a.v.v[row0 + i] = v[i];
  }
  if (blockIdx.x == 0) staged.store(a.state);
}

}  // namespace

template <class C>
void bicgstab_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse,
                       const BicgstabVectors<C>& v, C* messages, int iterations, detail::BicgstabState<C>* state,
                       const ReductionWorkspace& workspace, CUstream_st* stream, int shared_bytes) {
  auto* const told = reinterpret_cast<Message<C>*>(messages);
  BicgstabArguments<C> arguments{rows_of(matrix, static_cast<const C*>(v.y)),
                                 v,
                                 told,
                                 told + matrix.rows,
                                 resident_blocks(inverse),
                                 state,
                                 static_cast<GridExchange::Slot*>(workspace.exchange),
                                 iterations,
                                 shared_bytes > 0 ? shared_bytes : resident_shared_bytes};
  launch_resident(bicgstab_resident_kernel<C>, "bicgstab_resident_kernel", arguments, stream);
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                 \
  template void bicgstab_resident(const CsrView<C, std::int32_t>&, const BlockBatchView<const C>&, \
                                  const BicgstabVectors<C>&, C*, int, detail::BicgstabState<C>*,   \
                                  const ReductionWorkspace&, CUstream_st*, int)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
