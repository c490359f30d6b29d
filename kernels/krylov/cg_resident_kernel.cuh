#pragma once

#include "core/shared/cg_recurrence.hpp"
#include "kernels/collectives/grid_sum.cuh"
#include "kernels/krylov/launch_resident.cuh"
#include "kernels/krylov/resident_coarse.cuh"
#include "kernels/krylov/staged_state.cuh"
#include "kernels/krylov/vector.cuh"

#include <type_traits>

// CG as resident.cuh says. Every thread block computes p = z + beta p for all the elements that it needs, so that p
// needs no exchange of its own and z is read once for each of them, whatever the number of entries.
//
// With two exchanges of sums, p^H q and then r^H z, everything fits that resident.cuh takes. With one, where every
// thread block has room for z and t = M^-1 q in all those elements: q and t of a product give the next r^H z before z
// is there, and z -= alpha t, p = z + beta p follow in every thread block without a word of the others. The second half
// of an iteration as it is with two exchanges, which makes z = M^-1 r again, ends every launch, and comes where the
// forecast is not to be trusted (core/shared/cg_recurrence.hpp), and after resident_forecasts iterations without.
//
// With a coarse level (resident_coarse.cuh), which z needs M^-1 r for, there are two exchanges.

namespace blockjacobi::kernels {

template <class C, class Coarse>
struct CgResidentArguments {
  CsrRows<C> matrix;
  CgVectors<C> v;
  Message<C>* z;
  Message<C>* p;  ///< told only if a thread block has no room for all that it needs; else takes turns with z
  ResidentBlocks<C> blocks;
  detail::CgState<C>* state;
  GridExchange::Slot* slots;
  int iterations;
  int bytes;      ///< of shared memory
  Coarse coarse;  ///< ResidentCoarseArrays, or NoResidentCoarse
};

/// The share of a lane in the dots of two vectors in shared memory.
template <class C>
__device__ void add_dot(double* sum, const C* u, const C* v, int rows, int lane) {
#pragma unroll(sizeof(C) > 8 ? 4 : 8)
  for (int i = lane; i < rows; i += 32) accumulate_dot(sum, u[i], v[i]);
}

template <class C, class Coarse>
__global__ void __launch_bounds__(resident_policy.threads, 1)
    cg_resident_kernel(const __grid_constant__ CgResidentArguments<C, Coarse> a) {
  constexpr int threads = resident_policy.threads;
  constexpr int width = sum_width<C>;
  extern __shared__ __align__(16) char memory[];
  __shared__ StagedState<detail::CgState<C>> staged;
  __shared__ GridExchange::Scratch scratch;
  __shared__ bool trusted;

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
  typename Coarse::Part coarse(a.coarse, shared);
  ResidentRows<C> rows(a.matrix, row0, own_rows, r, shared);
  inverse.load(shared);
  coarse.load(shared);
  rows.fetch(a.v.p);
  for (int i = thread; i < own_rows; i += threads) {
    r[i] = a.v.r[row0 + i];
    z[i] = a.v.z[row0 + i];
  }
  const bool has_room = !Coarse::exists && rows.is_complete() &&
                        2 * rows.elements() + own_rows <= shared.room_for(sizeof(C)) - 12;  // three pieces, aligned
  double incomplete[2] = {thread == 0 && !rows.is_complete() ? 1.0 : 0.0, thread == 0 && !has_room ? 1.0 : 0.0};
  exchange.run(incomplete, scratch);
  const bool tells = incomplete[0] != 0.0;
  const bool waits_once = incomplete[1] == 0.0;

  const int lanes = lanes_for(own_rows, rows.entries(), threads);
  const int lanes_of_block = inverse.lanes(threads);
  // A loop for each way, so that neither has the other's registers and kinds of addresses.
  const auto iterate = [&](auto way) {
    constexpr bool foresees = decltype(way)::value;
    C* x = a.v.x + row0;
    C *followed = nullptr, *t = nullptr;  // z and t in all elements of the rows
    if constexpr (foresees) {
      followed = shared.take<C>(rows.elements());
      t = shared.take<C>(rows.elements());
      x = shared.take<C>(own_rows);
      for (int i = thread; i < own_rows; i += threads) x[i] = a.v.x[row0 + i];
      rows.fetch(a.v.z, followed);
    }
    // Of one round after the other in turn: with one exchange an iteration others may still wait for those before.
    const auto messages = [&](unsigned round) { return foresees && round % 2 != 0 ? a.p : a.z; };
    // to = M^-1 from by the blocks; visit(row, element) for each.
    const auto multiply_blocks = [&](const C* from, C* to, auto visit) {
      for_each_row(own_rows, lanes_of_block, [&](int row, int rank, bool exists) {
        const C sum = sum_of_lanes(exists ? inverse.product(row, from, rank, lanes_of_block) : C{}, lanes_of_block);
        if (!exists || rank != 0) return;
        to[row] = sum;
        visit(row, sum);
      });
    };
    // The same, told to the others.
    const auto precondition = [&](const C* from, C* to, unsigned round, auto visit) {
      Message<C>* const told = messages(round);
      multiply_blocks(from, to, [&](int row, C element) {
        put(told[row0 + row], round, element);
        visit(row, element);
      });
    };

    unsigned told = 0;           // round of the messages with z or t
    bool followed_last = false;  // the iteration before had one exchange
    double moved = 0.0;
    int forecasts = 0;
    for (int iteration = 0; iteration < a.iterations; ++iteration) {
      const bool turned = iteration == 0;  // p is the direction already
      if (foresees && followed_last) {
        for (int i = thread; i < own_rows; i += threads) r[i] -= state.alpha * q[i];
        rows.follow(followed, t, state.alpha, state.beta, x);
      } else if (!turned) {
        rows.turn(z, messages(told), told, state.alpha, state.beta, x, followed);
        if (tells) rows.tell(a.p, exchange.round());
      }
      const auto remote = [&](int column) { return turned ? a.v.p[column] : receive(a.p[column], exchange.round()); };
      double pq[width] = {};
      for_each_row(own_rows, lanes, [&](int row, int rank, bool exists) {
        const int begin = exists ? rows.begin(row) + rank : 0, end = exists ? rows.begin(row + 1) : 0;
        const C sum = sum_of_lanes(rows.product(begin, end, lanes, remote), lanes);
        if (!exists || rank != 0) return;
        q[row] = sum;
        if constexpr (!foresees) accumulate_dot(pq, rows.direction(row), sum);
      });
      if constexpr (foresees) {
        __syncthreads();
        told = exchange.round();
        precondition(q, t, told, [](int, C) {});
        __syncthreads();
        // p^H q, r^H z, r^H r, and for the forecast z^H q, r^H t, q^H t.
        const auto share = [&](int k, int lane) {
          const int dot = k < 2 * width ? k / width : k - 2 * width + 2;
          const C* const u = dot == 0 ? rows.directions() : dot == 3 ? followed : dot == 5 ? q : r;
          const C* const v = dot == 0 || dot == 3 ? q : dot == 1 ? followed : dot == 2 ? r : t;
          double sum[2] = {};
          add_dot(sum, u, v, own_rows, lane);
          return k < 2 * width && k % width == 1 ? sum[1] : sum[0];
        };
        double sums[2 * width + 4];
        exchange.run(sums, scratch, share, [&](int first) { rows.receive(messages(told), told, first, t); });
        if (thread == 0) {
          state.pq = to_accumulator<C>(sums);
          if (followed_last) {
            state.rho_new = to_accumulator<C>(sums + width);
            state.rr = sums[2 * width];
            detail::cg_confirm(state);
          }
          detail::cg_step_length(state);
          const double* const rest = sums + 2 * width + 1;
          detail::CgForecast forecast{rest[0] + rest[1], rest[2], moved};
          const bool is_foreseen = detail::cg_foresee(state, forecast);
          moved = forecast.moved;
          // The last iteration of a launch or of all is looked at as it ends.
          trusted = is_foreseen && forecasts < resident_forecasts && iteration + 1 < a.iterations &&
                    state.iteration + 1 < state.max_iterations;
        }
      } else {
        exchange.run(pq, scratch);
        if (thread == 0) {
          state.pq = to_accumulator<C>(pq);
          detail::cg_step_length(state);
        }
      }
      __syncthreads();
      if (state.stop != 0) break;
      if (foresees && trusted) {
        followed_last = true;
        ++forecasts;
        continue;
      }

      followed_last = false;
      forecasts = 0;
      moved = 0.0;
      const C alpha = state.alpha;
      told = exchange.round();
      for (int i = thread; i < own_rows; i += threads) r[i] -= alpha * q[i];
      __syncthreads();
      double sums[width + 1] = {};
      const auto add_dots = [&](int row, C element) {
        accumulate_dot(sums, r[row], element);
        accumulate_square(sums[width], r[row]);
      };
      if constexpr (Coarse::exists) {
        multiply_blocks(r, z, [&](int row, C element) { coarse.tell(row0 + row, told, r[row], element); });
        coarse.solve(told);
        for (int i = thread; i < own_rows; i += threads) {
          const C element = z[i] + coarse.prolonged(row0 + i, told);
          z[i] = element;
          put(a.z[row0 + i], told, element);
          add_dots(i, element);
        }
      } else {
        precondition(r, z, told, add_dots);
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

    // What cg_direction() would do, and x, r, z and p where others look for them.
    const C alpha = state.alpha, beta = state.beta;
    const bool steps = !detail::is_zero(alpha);  // after a stop p may hold what is not finite
    for (int i = thread; i < own_rows; i += threads) {
      const int row = row0 + i;
      const C own = rows.direction(i);
      if (foresees || steps) a.v.x[row] = steps ? x[i] + alpha * own : x[i];
      a.v.r[row] = r[i];
      if (foresees && followed_last) {  // and stopped: p is the direction already, see cg_confirm()
        a.v.z[row] = followed[i];
        a.v.p[row] = own - followed[i];
      } else {
        a.v.z[row] = z[i];
        a.v.p[row] = state.stop == 0 ? z[i] + beta * own : own;
      }
    }
  };
  if constexpr (Coarse::exists)
    iterate(std::false_type{});
  else if (waits_once)
    iterate(std::true_type{});
  else
    iterate(std::false_type{});
  __syncthreads();
  if (thread == 0) state.alpha = C{};  // x has taken the step
  if (blockIdx.x == 0) staged.store(a.state);
}

/// `messages`: those of z and of p.
template <class C, class Coarse>
void launch_cg_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse,
                        const Coarse& coarse, const CgVectors<C>& v, Message<C>* messages, int iterations,
                        detail::CgState<C>* state, const ReductionWorkspace& workspace, CUstream_st* stream,
                        int shared_bytes) {
  CgResidentArguments<C, Coarse> arguments{rows_of(matrix, static_cast<const C*>(v.p)),
                                           v,
                                           messages,
                                           messages + matrix.rows,
                                           resident_blocks(inverse),
                                           state,
                                           static_cast<GridExchange::Slot*>(workspace.exchange),
                                           iterations,
                                           shared_bytes > 0 ? shared_bytes : resident_shared_bytes,
                                           coarse};
  launch_resident(cg_resident_kernel<C, Coarse>, "cg_resident_kernel", arguments, stream);
}

}  // namespace blockjacobi::kernels
