#pragma once

#include "core/shared/gmres_recurrence.hpp"
#include "kernels/collectives/grid_exchange_wide.cuh"
#include "kernels/collectives/grid_sum.cuh"
#include "kernels/krylov/launch_resident.cuh"
#include "kernels/krylov/resident_basis.cuh"
#include "kernels/krylov/resident_coarse.cuh"
#include "kernels/krylov/staged_state.cuh"
#include "kernels/krylov/vector.cuh"

// Cycles of GMRES as resident.cuh says. A step waits for elements of M^-1 v from the neighbours and for two exchanges
// of sums, V^H w of the first pass of classical Gram-Schmidt, V^H w and ||w||^2 of the second. What that leaves has the
// norm
// ||w - V h||^2 = ||w||^2 - ||h||^2, since V is orthonormal: exact but for rounding unless the two nearly cancel, which
// the second pass only meets where nothing but rounding is left of w; then the norm takes an exchange of its own.
//
// With a coarse level there are three more messages in M^-1, see resident_coarse.cuh; what it is applied to may change.
//
// The rotation of a step is left to one thread in the next exchange, where all others wait: a cycle that ends before
// its last column has multiplied once more than needed then.

namespace blockjacobi::kernels {

template <class C, class Coarse>
struct GmresResidentArguments {
  CsrRows<C> matrix;
  C* basis;
  const C* b;
  C* x;
  Message<C>* told;  ///< M^-1 v, and x between the cycles
  WideGridExchange::Slot* slots;
  ResidentBlocks<C> blocks;
  detail::GmresState* state;
  int restart;
  int cycles;
  int bytes;      ///< of shared memory
  Coarse coarse;  ///< ResidentCoarseArrays, or NoResidentCoarse
};

/// In each exchange.
template <class C>
__host__ __device__ constexpr int most_sums(int restart) {
  return (restart + 1) * sum_width<C>;
}

template <class C>
__device__ detail::GmresSmall<C> take_small(int m, SharedRoom& shared) {
  return {shared.take<C>((m + 1) * m), nullptr, shared.take<double>(m), shared.take<C>(m), shared.take<C>(m + 1),
          shared.take<C>(m),           m};
}

template <class C, class Coarse>
__global__ void __launch_bounds__(resident_policy.threads, 1)
    gmres_resident_kernel(const __grid_constant__ GmresResidentArguments<C, Coarse> a) {
  using R = detail::arithmetic_real_t<C>;
  using Wide = detail::accumulator_t<C>;
  constexpr int threads = resident_policy.threads;
  constexpr int width = sum_width<C>;
  extern __shared__ __align__(16) char memory[];
  __shared__ StagedState<detail::GmresState> staged;

  if (a.state->stop != 0) return;
  detail::GmresState& state = staged.load(a.state);
  WideGridExchange exchange(a.slots, most_sums<C>(a.restart));
  const int thread = static_cast<int>(threadIdx.x);
  const int row0 = share_begin(a.matrix, a.blocks, blockIdx.x, resident_row_weight);
  const int own_rows = share_begin(a.matrix, a.blocks, blockIdx.x + 1, resident_row_weight) - row0;

  SharedRoom shared(memory, a.bytes);
  // The numbers of the columns, and once all have theirs, three vectors.
  const int vectors = max(3 * own_rows * static_cast<int>(sizeof(C)), ColumnNumbers::bytes(a.matrix.rows));
  C* const v = reinterpret_cast<C*>(shared.take<char>(vectors));
  C* const z = v + own_rows;
  C* const w = z + own_rows;
  double* const totals = shared.take<double>(most_sums<C>(a.restart));
  const detail::GmresSmall<C> small = take_small<C>(a.restart, shared);
  ResidentInverse<C> inverse(a.blocks, row0, own_rows, shared);
  typename Coarse::Part coarse(a.coarse, shared);
  ResidentRows<C> rows(a.matrix, row0, own_rows, v, shared);
  inverse.load(shared);
  coarse.load(shared);
  const ResidentBasis<C> basis(a.basis, a.matrix.rows, row0, own_rows, a.restart, shared);
  const int lanes = lanes_for(own_rows, rows.entries(), threads);
  const int lanes_of_block = inverse.lanes(threads);

  const auto multiply_blocks = [&](const C* from, auto visit) {
    for_each_row(own_rows, lanes_of_block, [&](int row, int rank, bool exists) {
      const C sum = sum_of_lanes(exists ? inverse.product(row, from, rank, lanes_of_block) : C{}, lanes_of_block);
      if (!exists || rank != 0) return;
      z[row] = sum;
      visit(row);
    });
  };
  // z = M^-1 `from`, of which a coarse level may leave something else; visit(row) for each element.
  const auto precondition = [&](C* from, auto visit) {
    if constexpr (Coarse::exists) {
      const unsigned round = exchange.round();
      const bool before = !coarse.has_left_product();  // c does not ask for what the blocks make
      if (before)
        for (int i = thread; i < own_rows; i += threads) coarse.tell(row0 + i, round, from[i], C{});
      else
        multiply_blocks(from, [&](int row) { coarse.tell(row0 + row, round, from[row], z[row]); });
      coarse.solve(round);
      if (coarse.has_right_product()) {
        for (int i = thread; i < own_rows; i += threads) from[i] -= coarse.right_product(row0 + i, round);
        __syncthreads();
      }
      if (before) multiply_blocks(from, [](int) {});
      __syncthreads();
      for (int i = thread; i < own_rows; i += threads) {
        z[i] += coarse.prolonged(row0 + i, round);
        visit(i);
      }
    } else {
      multiply_blocks(from, visit);
    }
  };
  // visit(row, (A z)_row as S), where z was told to the others in this round.
  const auto multiply = [&]<class S>(S, auto visit) {
    __syncthreads();
    rows.take(z, a.told, exchange.round());
    const auto remote = [&](int column) { return receive(a.told[column], exchange.round()); };
    for_each_row(own_rows, lanes, [&](int row, int rank, bool exists) {
      const int begin = exists ? rows.begin(row) + rank : 0, end = exists ? rows.begin(row + 1) : 0;
      const S sum = sum_of_lanes(rows.template product<S>(begin, end, lanes, remote), lanes);
      if (exists && rank == 0) visit(row, sum);
    });
    __syncthreads();
  };
  const auto square_of = [&](const C* vector, int lane, double& sum) {
    for (int row = lane; row < own_rows; row += 32) accumulate_square(sum, vector[row]);
  };
  const auto norm2_of = [&](const C* vector) {
    exchange.run<width>(1, totals, [&](int, int lane, double* sums) { square_of(vector, lane, sums[0]); });
    return totals[0];
  };
  const auto coefficient = [&](int k) { return detail::narrow<C>(to_accumulator<C>(totals + k * width)); };
  const auto column_of_h = [&](int j) { return small.h + j * (a.restart + 1); };
  // The next vector of the basis, `scale` times `element` in a row.
  const auto set_basis = [&](int column, int row, double scale, C element) {
    v[row] = basis.at(column, row) = static_cast<R>(scale) * element;
  };

  for (int i = thread; i < own_rows; i += threads) set_basis(0, i, 1.0, a.basis[row0 + i]);
  if (thread == 0) small.g[0] = detail::from_real<C>(static_cast<R>(state.beta));
  __syncthreads();
  exchange.run<1>(1, totals, [](int, int, double*) {});  // no message is of the round before the first
  for (int cycle = 0; cycle < a.cycles; ++cycle) {
    double norm = 0.0;  // below the diagonal of the column before
    const auto rotate = [&](int j) {
      state.norm = norm;
      detail::gmres_rotate(state, small, j);
    };
    for (int j = 0; j < a.restart; ++j) {
      const int count = j + 1;
      precondition(v, [&](int row) { put(a.told[row0 + row], exchange.round(), z[row]); });
      multiply(C{}, [&](int row, C sum) { w[row] = sum; });
      exchange.run<width>(
          count, totals, [&](int k, int lane, double* sums) { basis.add_dot(k, w, lane, sums); },
          [&] {
            if (j > 0) rotate(j - 1);
          });
      if (detail::gmres_is_idle(state)) break;
      if (thread < count) column_of_h(j)[thread] = coefficient(thread);
      basis.combine(count, coefficient, [&](int row, C sum) { w[row] -= sum; });
      __syncthreads();

      exchange.run<width>(count + 1, totals, [&](int k, int lane, double* sums) {
        if (k < count)
          basis.add_dot(k, w, lane, sums);
        else
          square_of(w, lane, sums[0]);
      });
      if (thread < count) column_of_h(j)[thread] += coefficient(thread);
      double removed = 0.0;
      for (int k = thread % 32; k < count * width; k += 32) removed += totals[k] * totals[k];
      removed = Lanes<32>::current().reduce(removed, [](double p, double q) { return p + q; });
      const double left = totals[count * width] - removed;
      const bool is_known = removed <= left;  // and neither is NaN
      norm = is_known ? sqrt(left) : 0.0;
      double scale = norm > 0.0 ? 1.0 / norm : 0.0;
      basis.combine(count, coefficient, [&](int row, C sum) {
        w[row] -= sum;
        if (is_known) set_basis(count, row, scale, w[row]);
      });
      __syncthreads();
      if (!is_known) {
        norm = sqrt(norm2_of(w));
        scale = norm > 0.0 ? 1.0 / norm : 0.0;
        for (int i = thread; i < own_rows; i += threads) set_basis(count, i, scale, w[i]);
        __syncthreads();
      }
      if (count == a.restart && thread == 0) rotate(j);
    }
    __syncthreads();

    // x += M^-1 V y, unless that is not finite.
    if (thread == 0) detail::gmres_solve_triangular(state, small);
    __syncthreads();
    basis.combine(
        state.columns, [&](int k) { return small.y[k]; }, [&](int row, C sum) { w[row] = sum; });
    __syncthreads();
    precondition(w, [](int) {});
    __syncthreads();
    const double moved = norm2_of(z);
    if (thread == 0) detail::gmres_check_correction(state, moved);
    __syncthreads();
    const bool moves = state.columns != 0;
    for (int i = thread; i < own_rows; i += threads) {
      C& x = a.x[row0 + i];
      if (moves) x += z[i];
      z[i] = x;
      put(a.told[row0 + i], exchange.round(), z[i]);
    }
    multiply(Wide{}, [&](int row, Wide sum) { w[row] = detail::narrow<C>(detail::widen(a.b[row0 + row]) - sum); });
    const double beta = sqrt(norm2_of(w));
    if (thread == 0) detail::gmres_begin_cycle(state, small, beta);
    __syncthreads();
    if (state.stop != 0) break;
    for (int i = thread; i < own_rows; i += threads) set_basis(0, i, state.scale, w[i]);
    __syncthreads();
  }

  for (int i = thread; i < own_rows; i += threads) a.basis[row0 + i] = v[i];
  if (blockIdx.x == 0) staged.store(a.state);
}

template <class C>
std::size_t count_slots(int restart) {
  return WideGridExchange::slots_for(device_attribute(cudaDevAttrMultiProcessorCount), most_sums<C>(restart));
}

/// `messages`: those of the exchange, of the vector, and of a coarse level.
template <class C, class Coarse>
void launch_gmres_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse,
                           const Coarse& coarse, C* basis, int restart, const C* b, C* x, void* messages, int cycles,
                           detail::GmresState* state, CUstream_st* stream, int shared_bytes) {
  auto* const slots = static_cast<WideGridExchange::Slot*>(messages);
  GmresResidentArguments<C, Coarse> arguments{rows_of(matrix, static_cast<const C*>(basis)),
                                              basis,
                                              b,
                                              x,
                                              reinterpret_cast<Message<C>*>(slots + count_slots<C>(restart)),
                                              slots,
                                              resident_blocks(inverse),
                                              state,
                                              restart,
                                              cycles,
                                              shared_bytes > 0 ? shared_bytes : resident_shared_bytes,
                                              coarse};
  launch_resident(gmres_resident_kernel<C, Coarse>, "gmres_resident_kernel", arguments, stream);
}

}  // namespace blockjacobi::kernels
