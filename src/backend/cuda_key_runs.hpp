#pragma once

#include "backend/cuda_context.hpp"
#include "kernels/coarse/launch_patterns.hpp"
#include "kernels/partition/launch_sort.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace blockjacobi::detail {

/// Memory of a step of a set-up.
template <class V>
class StepMemory {
 public:
  StepMemory(CudaContext& context, offset_t count) : memory_(context, static_cast<std::size_t>(count) * sizeof(V)) {}
  operator V*() const { return static_cast<V*>(memory_.data()); }

 private:
  CudaMemory memory_;
};

/// Sorted keys with the runs of equal ones.
struct SortedKeys {
  StepMemory<kernels::SortKey> keys;
  StepMemory<std::int32_t> numbers, begin;
  kernels::KeyRuns found;
};

/// fill(keys, numbers) enqueues what makes them; keys from `limit` on belong to no run. Waits.
template <class Fill>
SortedKeys sorted_keys(CudaContext& context, offset_t count, kernels::SortKey limit, Fill fill) {
  SortedKeys sorted{StepMemory<kernels::SortKey>(context, count),
                    StepMemory<std::int32_t>(context, count),
                    StepMemory<std::int32_t>(context, count + 1),
                    {}};
  const StepMemory<kernels::SortKey> keys(context, count);
  const StepMemory<std::int32_t> numbers(context, count);
  fill(keys, numbers);
  const StepMemory<std::byte> scratch(
      context, static_cast<offset_t>(std::max(kernels::sort_bytes(count, limit), kernels::coarse_run_bytes(count))));
  const StepMemory<kernels::KeyRuns> found(context, 1);
  kernels::sort_keys(count, limit, keys, sorted.keys, numbers, sorted.numbers, scratch, context.stream());
  context.zero(found, sizeof(kernels::KeyRuns));
  kernels::find_runs(count, limit, sorted.keys, sorted.begin, found, scratch, context.stream());
  sorted.found = context.read(static_cast<const kernels::KeyRuns*>(found));
  return sorted;
}

}  // namespace blockjacobi::detail
