#pragma once

#include "kernels/tiny.hpp"

#include <array>

// The LU factorization with partial pivoting. Chosen by time per matrix on an H200.

namespace blockjacobi::kernels {

enum class LuDesign {
  straight,        ///< matrices of a thread, which go straight between global memory and its registers
  shuffled,        ///< a matrix a lane, rearranged by shuffles of the warp
  thread,          ///< a matrix a thread, staged through shared memory
  team_rows,       ///< a matrix a team, by rows in its registers
  team_panels,     ///< a matrix a team in shared memory, of which panels of columns go through the registers
  cta_shared,      ///< a matrix a thread block, as a whole in shared memory
  cta_left,        ///< a matrix a thread block in global memory, by panels from left to right
  cta_left_ahead,  ///< the same; asks for columns ahead of time, as of matrices that leave the L2 cache meanwhile
  cta_plain,       ///< a matrix a thread block in global memory, where shared memory has no room for panels
};

constexpr const char* name(LuDesign design) {
  constexpr const char* names[] = {"straight",   "shuffled", "thread",         "team_rows", "team_panels",
                                   "cta_shared", "cta_left", "cta_left_ahead", "cta_plain"};
  return names[static_cast<int>(design)];
}

struct LuPolicy {
  LuDesign design;
  int lanes = 0;               ///< of a team
  int rows = 0;                ///< in the registers of a lane or thread
  int warps = 0;               ///< of a thread block; of cta_left* at most
  int per_multiprocessor = 0;  ///< thread blocks that it shall hold; 0 leaves the registers to the compiler

  bool operator==(const LuPolicy&) const = default;
  constexpr std::array<PolicyNumber, 4> numbers() const {
    return {{{"lanes", lanes}, {"rows", rows}, {"warps", warps}, {"per multiprocessor", per_multiprocessor}}};
  }
};

/// The teams for matrices that are not contiguous, or of different orders up to n.
constexpr LuPolicy lu_class_policy(Device, ScalarType scalar, int n) {
  const auto team = [](TeamShape s) {
    return LuPolicy{LuDesign::team_rows, s.lanes, s.rows, s.warps, s.per_multiprocessor};
  };
  const bool fp64 = scalar == ScalarType::d, fp32 = scalar == ScalarType::s;
  // Teams that are no power of two can leave fewer lanes of a warp without a row: 6 lanes with 3 rows each have orders
  // 17 and 18, five matrices a warp, of which 8 lanes have four.
  if (fp64 && n == 9) return team({3, 3, 2});
  if (fp64 && n == 17) return team({6, 3, 1, 12});
  if (fp32 && n == 17) return team({6, 3, 1, 16});
  if (fp32 && n == 18) return team({6, 3, 1, 20});
  if (fp32 && n == 21) return team({7, 3, 1, 16});
  // Two rows of complex doubles spill from 20 on.
  if (scalar == ScalarType::z && n > 18) return team({32, 1, 2});
  TeamShape shape = team_shape(scalar, n);
  if (n > 8 && n <= 12 && !is_complex(scalar)) {
    shape.warps = 2;
    shape.per_multiprocessor = fp64 ? 8 : 1;
  }
  return team(shape);
}

/// Orders up to which (and single ones at which) a thread of its own has each matrix.
constexpr bool lu_by_thread(ScalarType scalar, int n) {
  if (scalar == ScalarType::s) return n <= 8 || n == 10 || n == 12;
  return n <= (scalar == ScalarType::d ? 8 : scalar == ScalarType::c ? 6 : 5);
}

/// Lanes of a team where a matrix stays in shared memory; 0 at other orders. Sixteen leave room for more warps where
/// matrices are large.
constexpr int lu_panel_lanes(ScalarType scalar, int n) {
  switch (scalar) {
    case ScalarType::z: return n < 13 ? 0 : n <= 24 ? 8 : 16;
    case ScalarType::c: return n >= 25 && n % 2 != 0 ? 16 : n == 12 || n == 14 || n == 16 || n >= 18 ? 8 : 0;
    case ScalarType::s: return n == 16 || n == 19 || n == 20 || n >= 23 ? 8 : 0;
    case ScalarType::d: break;
  }
  return n == 14 || n == 16 || n >= 18 ? 8 : 0;
}

/// Up to this order the whole matrix is in shared memory, where a multiprocessor holds several of them. Above it, by
/// time, panels from left to right are faster.
constexpr int largest_shared_lu_order(ScalarType scalar) { return scalar == ScalarType::s ? 88 : 48; }
/// Warps that share it, and rows of a panel that a lane of the first has in its registers: all of them.
inline constexpr int most_shared_lu_warps = 3;
constexpr int shared_lu_warps(int n) { return n <= 48 ? 1 : n <= 80 ? 2 : 3; }
constexpr int shared_lu_rows(ScalarType scalar, int n) { return scalar == ScalarType::s && n > 64 ? 3 : 2; }
constexpr bool fits_a_warp(ScalarType scalar) {
  const int largest = largest_shared_lu_order(scalar);
  return largest <= 32 * shared_lu_rows(scalar, largest);
}
static_assert(fits_a_warp(ScalarType::s) && fits_a_warp(ScalarType::d) && fits_a_warp(ScalarType::c) &&
              fits_a_warp(ScalarType::z));

/// Above this order matrices leave the L2 cache between two panels.
inline constexpr int largest_near_lu_order = 256;

/// Warps that bound the registers of LU from left to right: fewer in complex arithmetic, the products of which spill
/// with fewer registers, and in double precision where more registers cost no thread block of a multiprocessor and are
/// faster.
constexpr int left_lu_warps(ScalarType scalar, int n) {
  const bool ahead = n > largest_near_lu_order;
  if (is_complex(scalar)) return ahead ? 16 : 12;
  return scalar == ScalarType::d && ((n > 160 && n <= 192) || (ahead && n <= 384)) ? 12 : 16;
}

/// The largest order whose panels and triangles shared memory has room for.
constexpr int largest_left_lu_order(const Device& device, ScalarType scalar) {
  switch (scalar) {
    case ScalarType::s: return largest_with_room(device, 512, 352);
    case ScalarType::c: return largest_with_room(device, 512, 288);
    case ScalarType::z: return largest_with_room(device, 352, 192);
    case ScalarType::d: break;
  }
  return largest_with_room(device, 384, 224);
}
/// Threads of LuDesign::cta_plain; not measured.
inline constexpr int plain_lu_threads = 256;

/// Contiguous matrices of order n.
constexpr LuPolicy lu_policy(Device device, ScalarType scalar, int n) {
  if (n > largest_left_lu_order(device, scalar)) return {LuDesign::cta_plain, 0, 0, plain_lu_threads / 32, 0};
  if (n > largest_near_lu_order) return {LuDesign::cta_left_ahead, 0, 0, left_lu_warps(scalar, n), 0};
  if (n > largest_shared_lu_order(scalar)) return {LuDesign::cta_left, 0, 0, left_lu_warps(scalar, n), 0};
  if (n > largest_tiny_order) return {LuDesign::cta_shared, 0, shared_lu_rows(scalar, n), shared_lu_warps(n), 4};
  if (n == 1) return {LuDesign::straight, 0, 0, straight_threads / 32, 0};
  if (is_shuffled(scalar, n)) return {LuDesign::shuffled, 0, 0, shuffled_threads / 32, 0};
  if (lu_by_thread(scalar, n))
    return {LuDesign::thread, 0, 0, thread_design_threads / 32, thread_design_per_multiprocessor(scalar, n)};
  // Without a bound the compiler takes too few registers for the large ones.
  if (const int lanes = lu_panel_lanes(scalar, n); lanes > 0)
    return {LuDesign::team_panels, lanes, 0, 1, is_complex(scalar) || (scalar == ScalarType::d && n > 24) ? 1 : 0};
  return lu_class_policy(device, scalar, n);
}

/// Columns that a team eliminates between two reductions of the number of registers in use: of all rows, of a panel.
BLOCKJACOBI_HD constexpr int lu_phase(int n) { return n <= 16 ? 2 : 4; }
inline constexpr int lu_panel_phase = 4;

}  // namespace blockjacobi::kernels
