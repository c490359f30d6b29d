#pragma once

#include "kernels/launch/policy.hpp"

#include <blockjacobi/types.hpp>

#include <algorithm>

namespace blockjacobi::kernels {

/// Rows, blocks and words of sets: 8 of 256 threads fill a multiprocessor.
inline constexpr PersistentPolicy striding_policy{256, 8};

/// Entries of a pattern, for its fingerprint and the sums of l1: as many thread blocks on every device.
inline constexpr int pattern_threads = 256, pattern_ctas = 1024;

/// The check of a pattern, which mixes four columns at a time: 64 registers a thread.
inline constexpr PersistentPolicy check_policy{256, 4};

/// Lists of neighbours, whose lengths differ: eight times as many as fit.
inline constexpr PersistentPolicy lists_policy{256, 64};

/// Lists that a thread block takes at a time where it picks some of them: one for each of its groups of lanes at least,
/// and work for each multiprocessor.
constexpr int list_stretch(const Device& device, index_t lists, int lane_groups) {
  const index_t ctas = striding_policy.ctas(device);
  return std::clamp((lists / ctas + 31) / 32 * 32, lane_groups, lists_policy.threads);
}

/// Thread blocks for the lists that are too long for a warp. Not by the device in use: each may have a hash table of
/// its own, and as many are made before the launch.
inline constexpr unsigned list_table_ctas = 2 * compiled_device.multiprocessors;

}  // namespace blockjacobi::kernels
