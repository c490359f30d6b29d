#pragma once

#include "core/shared/scratch_view.hpp"

#include <blockjacobi/views.hpp>

#include <omp.h>

#include <algorithm>

namespace blockjacobi::detail {

/// Elements of scratch that a thread has for a block of order n.
constexpr offset_t scratch_of_thread(index_t n) { return offset_t{2} * n * n; }

/// visit(slot, s, scratch) for the slots of a batch, by as many threads as have scratch; by all if there is none.
template <class C, class Visit>
void for_each_slot(const BlockBatchView<C>& work, const ScratchView<C>& scratch, [[maybe_unused]] int threads,
                   Visit visit) {
  for (const BlockGroup& group : work.groups) {
    const offset_t own = scratch.size > 0 ? scratch_of_thread(group.size) : 0;
    [[maybe_unused]] const int workers =
        own > 0 ? static_cast<int>(std::clamp<offset_t>(scratch.size / own, 1, threads)) : threads;
    const offset_t end = static_cast<offset_t>(group.first_slot) + group.count;
#pragma omp parallel for num_threads(workers) schedule(dynamic, group.size > 32 ? 1 : 64) if (group.count > 64)
    for (offset_t s = group.first_slot; s < end; ++s)
      visit(work.slots[s], s, scratch.data + omp_get_thread_num() * own);
  }
}

}  // namespace blockjacobi::detail
