#pragma once

#include "kernels/device.hpp"

#include <algorithm>

namespace blockjacobi::kernels {

/// That there are partial sums for; if a device has more, the others have no part in what strides over its work.
inline constexpr int most_multiprocessors = 256;

/// Thread blocks of `threads` that stride over their work, so many for a multiprocessor at most; where it holds all of
/// them at once they stay on the device.
struct PersistentPolicy {
  int threads;
  int per_multiprocessor;
  constexpr int ctas(const Device& device) const {
    return per_multiprocessor * std::min(device.multiprocessors, most_multiprocessors);
  }
  constexpr int most_ctas() const { return per_multiprocessor * most_multiprocessors; }
};

}  // namespace blockjacobi::kernels
