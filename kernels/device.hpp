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

/// Devices with less shared memory: as compute capability 8.0 and 8.7 have, and 8.6, 8.9 and 12.0.
inline constexpr Device a100{80, 108, 163 << 10}, l40{89, 142, 99 << 10};

/// The largest order that a design has room for in shared memory, if it has it for all orders on the H200. Multiples of
/// 32, which with_large_policy() relies on.
constexpr int largest_with_room(const Device& device, int on_a100, int on_l40) {
  if (device.shared_bytes >= h200.shared_bytes) return largest_order;
  return device.shared_bytes >= a100.shared_bytes ? on_a100 : on_l40;
}

/// The device that kernels are compiled for: what bounds their registers is fixed then.
inline constexpr Device compiled_device = h200;

/// A number of a policy with its name, for tables.
struct PolicyNumber {
  const char* name;
  int value;  ///< 0: of no concern to the design
};

}  // namespace blockjacobi::kernels
