#pragma once

#include "kernels/tiny.hpp"

#include <algorithm>
#include <array>

// The inverse: of a matrix with partial pivoting, of a definite one without, from its LU factorization, and the
// pseudo-inverse. Chosen by time on an H200.

namespace blockjacobi::kernels {

enum class InverseDesign {
  straight,      ///< matrices of a thread, which go straight between global memory and its registers
  shuffled,      ///< a matrix a lane, rearranged by shuffles of the warp
  thread,        ///< a matrix a thread, staged through shared memory
  team_rows,     ///< a matrix a team, by rows in its registers
  cta_whole,     ///< a matrix a thread block, in shared memory as one panel
  cta_resident,  ///< a matrix a thread block, in shared memory and registers as several panels
  cta_streamed,  ///< a matrix a thread block, in global memory but for the panel at work
  cta_plain,     ///< the same in its place, by narrow panels, where shared memory has no room for wider ones
  clusters,      ///< a matrix a cluster of thread blocks, in their shared memory
  cta_definite,  ///< a definite matrix a thread block, in shared memory by tiles, on the tensor cores
  factorized,    ///< a definite matrix by its Cholesky factorization: cholesky/launch.cuh
};

constexpr const char* name(InverseDesign design) {
  constexpr const char* names[] = {"straight",     "shuffled",  "thread",   "team_rows",    "cta_whole", "cta_resident",
                                   "cta_streamed", "cta_plain", "clusters", "cta_definite", "factorized"};
  return names[static_cast<int>(design)];
}

struct InversePolicy {
  InverseDesign design;
  int lanes = 0;               ///< of a team
  int rows = 0;                ///< in the registers of a lane
  int warps = 0;               ///< of a thread block; of cta_* at most
  int per_multiprocessor = 0;  ///< thread blocks that it shall hold; 0 leaves the registers to the compiler
  int stages = 0;              ///< pieces of a panel that each warp has under way from global memory
  int ctas = 0;                ///< of a cluster

  bool operator==(const InversePolicy&) const = default;
  constexpr std::array<PolicyNumber, 6> numbers() const {
    return {{{"lanes", lanes},
             {"rows", rows},
             {"warps", warps},
             {"per multiprocessor", per_multiprocessor},
             {"stages", stages},
             {"thread blocks", ctas}}};
  }
};

/// The teams for matrices that are not contiguous, or of different orders up to n.
constexpr InversePolicy inverse_class_policy(Device, ScalarType scalar, int n) {
  const auto team = [](TeamShape s) {
    return InversePolicy{InverseDesign::team_rows, s.lanes, s.rows, s.warps, s.per_multiprocessor};
  };
  // Teams that are no power of two: as for the LU factorization.
  if (scalar == ScalarType::d && (n == 17 || n == 18)) return team({6, 3, 1, 12});
  if (scalar == ScalarType::s) {
    if (n == 13 || n == 15 || n == 16) return team({4, 4, 1, 20});
    if (n == 17) return team({6, 3, 1, 20});
    if (n == 24) return team({8, 3, 2, 8});
    if (n == 25 || n >= 31) return team({8, 4, 1, 12});
  }
  return team(team_shape(scalar, n));
}

/// Orders up to which (and single ones at which) a thread of its own has each matrix.
constexpr bool inverse_by_thread(ScalarType scalar, int n) {
  if (scalar == ScalarType::s) return n <= 8 || n == 10;
  return n <= (scalar == ScalarType::d ? 8 : scalar == ScalarType::c ? 6 : 5);
}

/// Columns of an inner panel of Gauss-Jordan elimination that a thread has in its registers.
constexpr int gauss_jordan_width(ScalarType scalar) { return scalar == ScalarType::s ? 16 : 8; }

constexpr int largest_whole_order(ScalarType scalar) {
  return scalar == ScalarType::s ? 80 : scalar == ScalarType::z ? 32 : 60;
}
/// The orders that are resident if nothing but the elimination is in the multiprocessor's memory.
struct OrderRange {
  int least, largest;
};
constexpr OrderRange resident_orders(ScalarType scalar) {
  switch (scalar) {
    case ScalarType::c: return {41, 56};
    case ScalarType::z: return {33, 64};
    case ScalarType::s: return {65, 96};
    case ScalarType::d: break;
  }
  return {49, 96};
}
constexpr int gauss_jordan_stages(int n) { return n <= 96 ? 2 : 3; }
/// In several panels up to this order, among four warps, steps are shorter.
inline constexpr int largest_four_warp_order = 128;

/// Warps that have a row a thread.
constexpr int warps_for_rows(int n) { return (n + 31) / 32; }

/// The largest order for which shared memory has room for a panel, in double precision with less than on the H200.
constexpr int largest_panel_order(const Device& device, ScalarType scalar) {
  const bool fp64 = scalar == ScalarType::d || scalar == ScalarType::z;
  return largest_with_room(device, 512, fp64 ? 352 : 512);
}
/// Threads of InverseDesign::cta_plain, and columns that they eliminate together; not measured.
inline constexpr int plain_inverse_threads = 256;
constexpr int plain_inverse_panel(ScalarType scalar) { return scalar == ScalarType::z ? 4 : 8; }

/// Contiguous matrices of order n. Few large ones of real scalars are for clusters first: few_inverse_policy().
constexpr InversePolicy inverse_policy(Device device, ScalarType scalar, int n) {
  using enum InverseDesign;
  const int stages = gauss_jordan_stages(n);
  if (n > largest_panel_order(device, scalar)) return {cta_plain, 0, 0, plain_inverse_threads / 32};
  if (n > largest_tiny_order) {
    const OrderRange range = resident_orders(scalar);
    if (n >= range.least && n <= range.largest) {
      const int warps = n <= 64 ? 2 : warps_for_rows(range.largest);
      return {cta_resident, 0, 0, warps, warps > 2 ? 4 : is_complex(scalar) ? 6 : 8, stages};
    }
    if (n <= largest_whole_order(scalar))
      return {cta_whole, 0, 0, warps_for_rows(largest_whole_order(scalar)), scalar == ScalarType::d ? 12 : 8, stages};
    if (n <= largest_four_warp_order) return {cta_streamed, 0, 0, largest_four_warp_order / 32, 4, stages};
    return {cta_streamed, 0, 0, largest_order / 32, 1, stages};
  }
  if (n == 1 || (n == 2 && scalar == ScalarType::s)) return {straight, 0, 0, straight_threads / 32, 0, 0};
  if (is_shuffled(scalar, n)) return {shuffled, 0, 0, shuffled_threads / 32, 0, 0};
  if (inverse_by_thread(scalar, n))
    return {thread, 0, 0, thread_design_threads / 32, thread_design_per_multiprocessor(scalar, n), 0};
  return inverse_class_policy(device, scalar, n);
}

/// Orders up to which a thread of its own has each definite matrix, of which one triangle is in its registers.
constexpr int largest_spd_thread_order(ScalarType scalar) {
  switch (scalar) {
    case ScalarType::s: return 14;
    case ScalarType::c: return 8;
    case ScalarType::z: return 7;
    case ScalarType::d: break;
  }
  return 10;
}

/// Bytes of shared memory of InverseDesign::cta_definite: a tile for V, two for each pair of rows of tiles, in fp64,
/// and the rows of tiles of the matrix.
constexpr std::size_t definite_bytes(ScalarType scalar, int n) {
  constexpr std::size_t tile = 64, progress = 16;
  const std::size_t pairs = static_cast<std::size_t>(n + 15) / 16;
  const std::size_t wide = is_complex(scalar) ? 16 : 8, own = scalar == ScalarType::s   ? 4
                                                              : scalar == ScalarType::z ? 16
                                                                                        : 8;
  return progress + tile * ((1 + 2 * pairs) * wide + 2 * pairs * (pairs + 1) * own);
}
/// The largest order for InverseDesign::cta_definite: a thread block has room for it beside `others` bytes. In s it
/// would have up to 304, which was not measured; at 333 the factorization is faster.
constexpr int largest_definite_order(const Device& device, ScalarType scalar, std::size_t others = 0) {
  int n = scalar == ScalarType::s ? 256 : largest_order;
  while (n > 0 && definite_bytes(scalar, n) + others > device.shared_bytes) n -= 16;
  return n;
}
inline constexpr int most_definite_warps = 8;
/// Fewer leave room for more matrices a multiprocessor, as long as they are small.
constexpr int definite_warps(ScalarType scalar, int n) {
  if (n <= largest_tiny_order) return 1;
  const bool fp64 = scalar == ScalarType::d || scalar == ScalarType::z;
  if (n <= (fp64 ? 48 : 64)) return 2;
  return n <= (fp64 ? 80 : 112) ? 4 : most_definite_warps;
}
/// Orders up to which matrices of a batch share a launch.
inline constexpr int definite_bounds[] = {largest_tiny_order, 64, 128, largest_order};
constexpr InversePolicy definite_policy(Device device, ScalarType scalar, int n) {
  if (n > largest_definite_order(device, scalar)) return {InverseDesign::factorized};
  return {InverseDesign::cta_definite, 0, 0, definite_warps(scalar, n)};
}

/// Definite matrices of order n, contiguous, with full results; others go by definite_policy(). The teams are those of
/// inverse_class_policy(), but that what loads a triangle leaves room for as many warps as have the elements: 16 with
/// up to 72 words a lane, 12 with up to 108 or a row, by counts of registers.
constexpr InversePolicy spd_inverse_policy(Device device, ScalarType scalar, int n) {
  using enum InverseDesign;
  if (n > largest_tiny_order) return definite_policy(device, scalar, n);
  if (n <= largest_spd_thread_order(scalar)) {
    const InversePolicy policy = inverse_policy(device, scalar, n);
    if (policy.design == straight || policy.design == shuffled) return policy;
    return {thread, 0, 0, thread_design_threads / 32, thread_design_per_multiprocessor(scalar, n)};
  }
  if (is_complex(scalar)) return definite_policy(device, scalar, n);
  InversePolicy policy = inverse_class_policy(device, scalar, n);
  const int held = policy.rows * n * words(scalar);
  const int warps = held <= 72 ? 16 : held <= 108 || policy.rows == 1 ? 12 : 0;
  policy.per_multiprocessor = std::max(policy.per_multiprocessor, warps / policy.warps);
  return policy;
}

/// Where Gauss-Jordan elimination by a thread block has a matrix: see InverseDesign::cta_*.
enum class GaussJordanPlace { whole, resident, streamed };
struct GaussJordanPolicy {
  GaussJordanPlace place;
  int stages;
};
/// As a part of another kernel, beside which nothing is resident.
constexpr GaussJordanPolicy gauss_jordan_policy(ScalarType scalar, int n) {
  return {n <= largest_whole_order(scalar) ? GaussJordanPlace::whole : GaussJordanPlace::streamed,
          gauss_jordan_stages(n)};
}

/// Real matrices from this order on, if they are few, are inverted by a cluster of thread blocks each.
inline constexpr int least_cluster_order = 97;
/// Thread blocks of a cluster, no more than the matrix has panels, for at most so many matrices and so many turns of
/// clusters that the device needs for all of them, up to the largest order of s and d for which they have room.
struct ClusterPolicy {
  int ctas, matrices, turns;
  int largest_s, largest_d;
  bool operator==(const ClusterPolicy&) const = default;
  constexpr int largest(ScalarType scalar) const { return scalar == ScalarType::s ? largest_s : largest_d; }
};
/// The first that is possible. Beyond 14 matrices 8 thread blocks for each would have to share multiprocessors; 16 are
/// for matrices that 8 have no memory for.
inline constexpr ClusterPolicy cluster_policies[] = {
    {8, 14, 1, 512, 320}, {4, 64, 1, 384, 256}, {4, 64, 2, 384, 256}, {8, 32, 2, 512, 320}, {16, 14, 2, 512, 512}};
/// Up to this order a second turn costs more than it saves.
inline constexpr int largest_one_turn_order = 300;
inline constexpr int cluster_panel = 32;  ///< columns

/// `count` matrices of order n. at_a_time(ctas): how many clusters of so many thread blocks the device runs at a time;
/// 0 where it has none, or no room for them.
template <class AtATime>
constexpr InversePolicy few_inverse_policy(Device device, ScalarType scalar, int n, offset_t count, AtATime at_a_time) {
  if (!is_complex(scalar) && n >= least_cluster_order)
    for (const ClusterPolicy& policy : cluster_policies) {
      if (count > policy.matrices || n > policy.largest(scalar)) continue;
      if (policy.turns > 1 && n <= largest_one_turn_order) continue;
      const int ctas = std::min(policy.ctas, (n + cluster_panel - 1) / cluster_panel);
      if (count <= offset_t{at_a_time(ctas)} * policy.turns) return {InverseDesign::clusters, 0, 0, 0, 0, 0, ctas};
    }
  return inverse_policy(device, scalar, n);
}

/// The inverse from the LU factorization.
enum class InverseFromLuDesign {
  lanes,      ///< a matrix a group of lanes, in shared memory
  cta,        ///< a matrix a thread block, by panels from global memory
  cta_plain,  ///< a matrix a thread block in global memory, where shared memory has no room for panels
};
constexpr const char* name(InverseFromLuDesign design) {
  constexpr const char* names[] = {"lanes", "cta", "cta_plain"};
  return names[static_cast<int>(design)];
}

struct InverseFromLuPolicy {
  InverseFromLuDesign design;
  int columns = 0;             ///< of a panel
  int warps = 0;               ///< of a thread block, at most
  int per_multiprocessor = 0;  ///< thread blocks that it shall hold
  int stages = 0;              ///< pieces of the matrix that each warp has under way

  bool operator==(const InverseFromLuPolicy&) const = default;
  constexpr std::array<PolicyNumber, 4> numbers() const {
    return {{{"columns", columns}, {"warps", warps}, {"per multiprocessor", per_multiprocessor}, {"stages", stages}}};
  }
};

/// The largest order for which shared memory has room for panels and one stage, and for as many stages as are faster.
struct InverseFromLuRoom {
  int one_stage, all_stages;
};
constexpr InverseFromLuRoom inverse_from_lu_room(const Device& device, ScalarType scalar) {
  switch (scalar) {
    case ScalarType::s: return {largest_with_room(device, 480, 288), largest_with_room(device, 384, 224)};
    case ScalarType::c: return {largest_with_room(device, 448, 256), largest_with_room(device, 352, 224)};
    case ScalarType::z: return {largest_with_room(device, 416, 224), largest_with_room(device, 352, 192)};
    case ScalarType::d: break;
  }
  return {largest_with_room(device, 448, 256), largest_with_room(device, 352, 192)};
}

/// Panels of 16 columns in complex arithmetic are not measured yet.
constexpr InverseFromLuPolicy inverse_from_lu_policy(Device device, ScalarType scalar, int n) {
  using enum InverseFromLuDesign;
  if (n <= largest_tiny_order) return {lanes};
  const InverseFromLuRoom room = inverse_from_lu_room(device, scalar);
  if (n > room.one_stage) return {cta_plain, 0, plain_inverse_threads / 32};
  const auto stages = [&](int faster) { return n <= room.all_stages ? faster : 1; };
  if (scalar == ScalarType::c) return {cta, 16, largest_order / 32, 1, stages(3)};
  if (scalar == ScalarType::z) return {cta, 16, largest_order / 32, 1, stages(n <= 480 ? 2 : 1)};
  if (n <= largest_four_warp_order) return {cta, 16, largest_four_warp_order / 32, 6, stages(2)};
  return {cta, 32, largest_order / 32, 1, stages(scalar == ScalarType::s || n <= 224 ? 3 : 2)};
}

/// The pseudo-inverse from the QR factorization with column pivoting.
enum class PseudoInverseDesign {
  lanes,  ///< a matrix a group of lanes, in shared memory
  cta,    ///< matrices one after the other a thread block, in scratch of its own
};
constexpr const char* name(PseudoInverseDesign design) {
  return design == PseudoInverseDesign::lanes ? "lanes" : "cta";
}

struct PseudoInversePolicy {
  PseudoInverseDesign design;
  int warps = 0;

  bool operator==(const PseudoInversePolicy&) const = default;
  constexpr std::array<PolicyNumber, 1> numbers() const { return {{{"warps", warps}}}; }
};
/// Of a thread block, here and where BlockJacobi repairs blocks.
inline constexpr int pseudo_inverse_warps = 8;
constexpr PseudoInversePolicy pseudo_inverse_policy(Device, ScalarType, int n) {
  if (n <= largest_tiny_order) return {PseudoInverseDesign::lanes};
  return {PseudoInverseDesign::cta, pseudo_inverse_warps};
}

}  // namespace blockjacobi::kernels
