#pragma once

#include "kernels/collectives/crew.cuh"
#include "kernels/collectives/rows.cuh"
#include "kernels/lu/pivot_offer.cuh"

namespace blockjacobi::kernels {

/// Elimination with partial pivoting of a panel of 8 columns with a row in the registers of each thread, by a crew of
/// warps with one barrier a step.
///
/// Rows stay where they are; each thread knows the position that the interchanges of LAPACK bring its row to. Each warp
/// offers its best row as the pivot row, and after the barrier all choose among the offers.
///
/// In place of the columns that are finished the same operations make the multiples of the pivot rows, as they were
/// before, that have been subtracted from a row: what is left to do in other columns is a product.
template <class C>
struct RowPanel {
  static constexpr int width = 8, most_warps = 16;
  using Real = detail::arithmetic_real_t<C>;

  /// The row that a warp proposes for a step.
  struct alignas(16) Candidate {
    C row[width];
    C inverse;  ///< of the pivot times power; 0 if it is 0
    Real power;
  };
  /// What a crew shares.
  struct Exchange {
    Candidate* candidates;  ///< two for each warp
    PivotOffer* offers;     ///< two for each warp
    unsigned* magnitudes;   ///< most_warps twice: their upper words
    int* pivots;            ///< of each step: the position of the pivot row before it
  };

  C x[width];    ///< at the end the multiples of the pivot rows, if there were `width` steps
  int position;  ///< -1 if there is no row

  /// Steps first..first + count - 1 by `crew` warps, of which this has number `rank`; finish(c, x) for this row's
  /// element of the factors in column c.
  template <class Finish>
  __device__ void eliminate(const Exchange& exchange, int rank, int crew, int first, int count, const Finish& finish) {
    // The loop stays rolled, since its code would not stay in the instruction cache: what is eliminated is x[0], and
    // element c becomes element c - 1.
#pragma unroll 1
    for (int c = 0; c < count; ++c) finish(c, step(exchange, rank, crew, first + c, c));
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x % 32); }

  __device__ C step(const Exchange& exchange, int rank, int crew, int step, int column) {
    const int buffer = step % 2 * crew;
    unsigned* const magnitudes = exchange.magnitudes + step % 2 * most_warps;
    const PivotOffer own = offer(step);
    const unsigned high = __reduce_max_sync(full_warp, own.high);
    const Divisor<C> divisor(x[0]);
    if (is_best_of_warp(own, high)) {
      Candidate& candidate = exchange.candidates[buffer + rank];
      Rows<C, width>::write(candidate.row, x);
      candidate.inverse = own.is_zero() ? C{} : divisor.inverse;
      candidate.power = divisor.power;
      exchange.offers[buffer + rank] = own;
      magnitudes[rank] = own.high;
    }
    sync_crew(crew);
    const int best = crew == 1 ? 0 : best_of_team(magnitudes, exchange.offers + buffer, crew);
    const Candidate chosen = loaded(exchange.candidates[buffer + best]);
    const int p = static_cast<int>(exchange.offers[buffer + best].position);
    if (rank == 0 && lane() == 0) exchange.pivots[column] = p;
    position = position == p ? step : position == step ? p : position;
    const bool below = position > step;
    const C factor = below ? scaled(x[0], chosen.power) * chosen.inverse : C{};
    const C finished = below ? factor : x[0];
#pragma unroll
    for (int c = 1; c < width; ++c) x[c - 1] = fused_subtract(x[c], factor, chosen.row[c]);
    x[width - 1] = factor;
    return finished;
  }

  /// All of it before any of it is used: one wait instead of one for each part.
  __device__ static Candidate loaded(const Candidate& from) {
    Candidate to;
    auto* const parts = reinterpret_cast<uint4*>(&to);
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(&from));
#pragma unroll
    for (unsigned p = 0; p < sizeof(Candidate) / sizeof(uint4); ++p)
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(parts[p].x), "=r"(parts[p].y), "=r"(parts[p].z), "=r"(parts[p].w)
                   : "r"(address + 16 * p)
                   : "memory");
    return to;
  }

  __device__ static int best_of_team(const unsigned* magnitudes, const PivotOffer* offers, int crew) {
    if (crew <= 4) {
      uint4 m = *reinterpret_cast<const uint4*>(magnitudes);
      m.z = crew > 2 ? m.z : 0;
      m.w = crew > 3 ? m.w : 0;
      const unsigned high = max(max(m.x, m.y), max(m.z, m.w));
      const bool is_best[4] = {m.x == high, m.y == high, m.z == high, m.w == high};
      if (is_best[0] + is_best[1] + is_best[2] + is_best[3] == 1)
        return is_best[1] ? 1 : is_best[2] ? 2 : 3 * is_best[3];
    } else {
      const unsigned own = lane() < crew ? magnitudes[lane()] : 0u;
      const unsigned best = __ballot_sync(full_warp, own == __reduce_max_sync(full_warp, own));
      if ((best & (best - 1)) == 0) return __ffs(static_cast<int>(best)) - 1;
    }
    const PivotOffer own = lane() < crew ? offers[lane()] : PivotOffer::none(0);
    const bool is_best = is_best_of_warp(own, __reduce_max_sync(full_warp, own.high));
    return __ffs(static_cast<int>(__ballot_sync(full_warp, is_best))) - 1;
  }

  __device__ PivotOffer offer(int step) const {
    const PivotOffer own = pivot_offer(magnitude(), position, 0);
    const PivotOffer none = PivotOffer::none(threadIdx.x);
    const bool candidate = position >= step;
    return {candidate ? own.high : none.high, candidate ? own.low : none.low, candidate ? own.position : none.position,
            0};
  }
  /// |x|_1, but for the sign.
  __device__ Real magnitude() const {
    if constexpr (detail::Arithmetic<C>::is_complex)
      return detail::abs1(x[0]);
    else
      return x[0];
  }
};

}  // namespace blockjacobi::kernels
