#pragma once

#include "kernels/setup/policy.hpp"
#include "kernels/slots.hpp"

namespace blockjacobi::kernels {

/// Calls launch(run) for the runs of neighbouring groups of order lower < N <= upper that share a launch of the set-up:
/// many blocks of one order have one of their own, so that a few others beside them do not take its kernel from them.
template <class Launch>
void for_each_setup_run(Device device, ScalarType scalar, std::span<const BlockGroup> groups, index_t lower,
                        index_t upper, Launch launch) {
  const auto is_apart = [&](index_t n, offset_t count) { return is_setup_apart(device, scalar, n, count); };
  SlotRange run;
  for (const BlockGroup& group : groups) {
    if (group.size <= lower || group.size > upper || group.count == 0) continue;
    const bool joins = run.count > 0 && share_setup(device, scalar, run.smallest, group.size) &&
                       !is_apart(group.size, group.count) &&
                       !(run.smallest == run.largest && is_apart(run.largest, run.count));
    if (run.count > 0 && !joins) launch(run);
    if (!joins) run = {group.first_slot, 0, group.size, group.size};
    run.count += group.count;
    run.largest = group.size;
  }
  if (run.count > 0) launch(run);
}

}  // namespace blockjacobi::kernels
