#pragma once

#include "core/shared/tiny_order.hpp"

#include <blockjacobi/types.hpp>

#include <cstddef>

namespace blockjacobi::kernels {

using detail::largest_tiny_order;

/// The largest order that a thread block works on.
inline constexpr int largest_order = max_block_size;

/// What policies ask of a device.
struct Device {
  int architecture;  ///< compute capability: 90 is 9.0
  int multiprocessors;
  std::size_t shared_bytes;  ///< that a thread block may have, beside what the system takes
  bool operator==(const Device&) const = default;
};
inline constexpr Device h200{90, 132, 227 << 10};

/// The device that kernels are compiled for: what bounds their registers is fixed then.
inline constexpr Device compiled_device = h200;

/// A number of a policy with its name, for tables.
struct PolicyNumber {
  const char* name;
  int value;  ///< 0: of no concern to the design
};

}  // namespace blockjacobi::kernels
