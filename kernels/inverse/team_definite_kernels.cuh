#pragma once

#include "kernels/inverse/policy.hpp"
#include "kernels/inverse/team_definite.cuh"
#include "kernels/launch/tiny_batch.cuh"

namespace blockjacobi::kernels {

/// Of teams with the rows of definite matrices up to order N.
template <int N, class C>
inline constexpr InversePolicy spd_team = spd_inverse_class_policy(compiled_device, scalar_of<C>, N);

/// Teams of a thread block.
template <int N, class C>
inline constexpr int spd_teams = Team<spd_team<N, C>.lanes>::per_warp* spd_team<N, C>.warps;

template <int N, class C>
using SpdRows = DefiniteRows<C, N, spd_team<N, C>.lanes, spd_team<N, C>.rows>;
template <int N, class C>
using SpdScratch = TeamScratch<C, N, spd_team<N, C>.lanes, SpdRows<N, C>::ld>;

/// Orders of one class, from anywhere; `packed`: as SpdStorage.
template <int N, class C>
__global__ void __launch_bounds__(32 * spd_team<N, C>.warps, spd_team<N, C>.per_multiprocessor)
    spd_inverse_class_kernel(const StridedBatch<const C> a, const StridedBatch<C> x, int* info, bool upper,
                             bool packed) {
  constexpr int lanes = spd_team<N, C>.lanes;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ ClassList list;
  const offset_t first = static_cast<offset_t>(blockIdx.x) * class_chunk;
  collect_class<N>(a.view, first, list);
  const auto team = Team<lanes>::current();
  const int number = team.number_in_cta();
  const SpdScratch<N, C> scratch(shared, number);
  for (int base = number - team.number; base < list.size; base += spd_teams<N, C>) {
    const bool exists = base + team.number < list.size && !team.spare();
    const offset_t k = first + (exists ? list.member[base + team.number] : 0);
    const auto source = exists ? a[k] : StridedMatrix<const C>{};
    SpdRows<N, C> rows(scratch.tile, team.rank);
    rows.load(source, upper);
    const int outcome = rows.invert(source.n);
    if (!exists) continue;
    const auto target = x.like(k, source.n);
    if (packed)
      rows.store_packed(target.data, target.n, upper);
    else
      rows.store(target);
    if (team.rank == 0) info[k] = outcome;
  }
}

}  // namespace blockjacobi::kernels
