#pragma once

#include "kernels/inverse/policy.hpp"

#include <array>
#include <stdexcept>

// The set-up of BlockJacobi: extraction, equilibration and inversion of the diagonal blocks. Chosen by time on an H200.

namespace blockjacobi::kernels {

enum class SetupDesign {
  thread,        ///< a block a thread; the warp extracts and stores them
  team,          ///< a block a team
  cta_whole,     ///< a block a thread block, as InverseDesign::cta_whole
  cta_resident,  ///< as InverseDesign::cta_resident
  cta_streamed,  ///< as InverseDesign::cta_streamed
  cta_plain,     ///< a block a thread block in its place, where shared memory has no room for a panel
  clusters,      ///< as InverseDesign::clusters
  cta_definite,  ///< as InverseDesign::cta_definite, and the others for blocks that turn out not to be definite
};

constexpr const char* name(SetupDesign design) {
  constexpr const char* names[] = {"thread",       "team",      "cta_whole", "cta_resident",
                                   "cta_streamed", "cta_plain", "clusters",  "cta_definite"};
  return names[static_cast<int>(design)];
}

struct SetupPolicy {
  SetupDesign design;
  int lanes = 0;               ///< of a team
  int rows = 0;                ///< in the registers of a lane
  int warps = 0;               ///< of a thread block; of cta_* at most
  int per_multiprocessor = 0;  ///< thread blocks that it shall hold
  int stages = 0;              ///< pieces of a panel that each warp has under way from global memory
  bool alone = false;          ///< a kernel of its own where all blocks of a launch have the order
  int ctas = 0;                ///< of a cluster

  bool operator==(const SetupPolicy&) const = default;
  constexpr std::array<PolicyNumber, 6> numbers() const {
    return {{{"lanes", lanes},
             {"rows", rows},
             {"warps", warps},
             {"per multiprocessor", per_multiprocessor},
             {"stages", stages},
             {"thread blocks", ctas}}};
  }
};

/// Orders up to which a thread of its own inverts each block. From 5 on it needs so many registers that too few warps
/// hide the latency of the extraction: 54 against 63 % of the copy bandwidth at order 8 in fp64.
inline constexpr int largest_setup_by_thread = 4;

/// Orders with a kernel of their own, as the multiples of 4 have: orders at which the kernel of the next multiple is
/// furthest from what the order allows.
constexpr bool is_setup_alone(ScalarType scalar, int n) {
  if (n % 4 == 0) return true;
  if (is_complex(scalar)) return false;
  if (n <= 3 || n == 5 || n == 9 || n == 17 || n == 18 || n == 21) return true;
  return scalar == ScalarType::s && (n == 13 || n >= 25);
}

/// Warps that a multiprocessor shall hold where a team inverts a block of order n. They limit the registers to what the
/// elimination needs.
constexpr int setup_warps(ScalarType scalar, int n) {
  if (scalar == ScalarType::z) return 8;
  if (scalar == ScalarType::c && n <= 16) return 12;
  if (n <= 8 && scalar == ScalarType::s) return 36;
  if (n <= 16) return scalar == ScalarType::s ? 20 : 16;
  if (scalar == ScalarType::c && n > 28) return 16;
  if (words(scalar) == 2 && n <= 24) return 8;
  return n <= 20 ? 16 : 12;
}

/// Extraction and inversion in one kernel: two rows of complex numbers a lane spill.
constexpr TeamShape setup_team(ScalarType scalar, int n) {
  if (is_complex(scalar) && n > 16) return {32, 1, 2};
  if (scalar == ScalarType::z && n > 12) return {16, 1, 2};
  return team_shape(scalar, n);
}

/// Threads of SetupDesign::cta_plain, and where a block is repaired in its place.
inline constexpr int repair_threads = 256;

/// Above largest_tiny_order as the inverse of packed matrices.
constexpr SetupDesign large_setup_design(InverseDesign inverse) {
  switch (inverse) {
    case InverseDesign::cta_whole: return SetupDesign::cta_whole;
    case InverseDesign::cta_resident: return SetupDesign::cta_resident;
    case InverseDesign::cta_streamed: return SetupDesign::cta_streamed;
    case InverseDesign::cta_plain: return SetupDesign::cta_plain;
    case InverseDesign::clusters: return SetupDesign::clusters;
    case InverseDesign::straight:
    case InverseDesign::shuffled:
    case InverseDesign::thread:
    case InverseDesign::team_rows:
    case InverseDesign::cta_definite:
    case InverseDesign::factorized: break;
  }
  throw std::logic_error("large_setup_design: a design of tiny orders");
}
constexpr SetupPolicy large_setup_policy(const InversePolicy& inverse) {
  return {large_setup_design(inverse.design),
          0,
          0,
          inverse.warps,
          inverse.per_multiprocessor,
          inverse.stages,
          false,
          inverse.ctas};
}

/// The largest order for which shared memory has room for a panel beside the scales.
constexpr int largest_setup_panel_order(const Device& device, ScalarType scalar) {
  const bool fp64 = scalar == ScalarType::d || scalar == ScalarType::z;
  return largest_with_room(device, 512, fp64 ? 320 : 512);
}

constexpr SetupPolicy setup_policy(Device device, ScalarType scalar, int n) {
  if (n > largest_setup_panel_order(device, scalar)) return {SetupDesign::cta_plain, 0, 0, repair_threads / 32};
  if (n > largest_tiny_order) return large_setup_policy(inverse_policy(device, scalar, n));
  const bool alone = is_setup_alone(scalar, n);
  if (n <= largest_setup_by_thread)
    return {
        SetupDesign::thread, 0, 0, thread_design_threads / 32, thread_design_per_multiprocessor(scalar, n), 0, alone};
  const TeamShape team = setup_team(scalar, n);
  return {SetupDesign::team, team.lanes, team.rows, team.warps, setup_warps(scalar, n) / team.warps, 0, alone};
}

/// Bytes of shared memory beside CtaDefinite, at most: a number a warp, and an exponent a row.
inline constexpr std::size_t definite_scales_bytes =
    most_definite_warps * sizeof(double) + largest_order * sizeof(short);
/// Where the matrix is Hermitian. Tiny blocks wait for memory whatever is done with them.
constexpr SetupPolicy definite_setup_policy(Device device, ScalarType scalar, int n) {
  if (n <= largest_tiny_order || n > largest_definite_order(device, scalar, definite_scales_bytes))
    return setup_policy(device, scalar, n);
  return {SetupDesign::cta_definite, 0, 0, definite_warps(scalar, n)};
}

/// `count` blocks of orders up to n, as few_inverse_policy().
template <class AtATime>
constexpr SetupPolicy few_setup_policy(Device device, ScalarType scalar, int n, offset_t count, AtATime at_a_time) {
  const InversePolicy inverse = few_inverse_policy(device, scalar, n, count, at_a_time);
  return inverse.design == InverseDesign::clusters ? large_setup_policy(inverse) : setup_policy(device, scalar, n);
}

/// Whether blocks of one order are worth a launch of their own beside others of their class: what the kernel of the
/// order, or shared memory and threads for it alone, save then is more than a launch costs.
constexpr bool is_setup_apart(Device device, ScalarType scalar, int n, offset_t count) {
  if (n > largest_tiny_order) return count >= device.multiprocessors;
  return is_setup_alone(scalar, n) && count * n * n >= 1 << 18;
}
/// Other large orders up to these bounds share a launch, and with it the shared memory of the largest among them, if
/// they have the same policy.
inline constexpr int large_setup_bounds[] = {48, 64, 96, 128, 192, 256, 384, largest_order};
constexpr int large_setup_bound(int n) {
  int k = 0;
  while (large_setup_bounds[k] < n) ++k;
  return large_setup_bounds[k];
}
/// Whether blocks of the orders n and m > n, if they are few, share a launch.
constexpr bool share_setup(Device device, ScalarType scalar, int n, int m) {
  if (m <= largest_tiny_order) return tiny_class(n) == tiny_class(m);
  return n > largest_tiny_order && large_setup_bound(n) == large_setup_bound(m) &&
         setup_policy(device, scalar, n) == setup_policy(device, scalar, m);
}

/// Warps of a thread block, and most thread blocks a multiprocessor, for the tiny blocks that the fast kernels leave
/// undecided.
inline constexpr int careful_tiny_warps = 4;
inline constexpr int careful_tiny_ctas = 8;

/// Columns that a thread block eliminates together where it repairs a block in its place.
inline constexpr int repair_panel = 16;

}  // namespace blockjacobi::kernels
