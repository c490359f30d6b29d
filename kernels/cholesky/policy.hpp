#pragma once

#include "core/shared/macros.hpp"
#include "kernels/device.hpp"
#include "kernels/scalar.hpp"

#include <array>

// The Cholesky factorization and the inverse from it. Chosen by time per matrix on an H200. Memory moves more than the
// triangle needs, so that a mere copy of it is hardly faster for most orders. What else matters is that no registers
// spill, and that the matrices under way stay in the cache until they are written.

namespace blockjacobi::kernels {

enum class CholeskyDesign {
  thread,  ///< a matrix a thread, staged through shared memory
  warp,    ///< matrices a warp, on the tensor cores
  cta,     ///< a matrix a thread block, by pieces in registers, on the tensor cores
};

constexpr const char* name(CholeskyDesign design) {
  constexpr const char* names[] = {"thread", "warp", "cta"};
  return names[static_cast<int>(design)];
}

struct CholeskyPolicy {
  CholeskyDesign design;
  int matrices = 0;           ///< of a warp
  int rows = 0, columns = 0;  ///< of a piece, in tiles of order 8
  int warps = 0;              ///< of a thread block
  int warps_held = 0;         ///< by a multiprocessor, which bounds the registers

  bool operator==(const CholeskyPolicy&) const = default;
  constexpr std::array<PolicyNumber, 5> numbers() const {
    return {{{"matrices", matrices},
             {"tile rows", rows},
             {"tile columns", columns},
             {"warps", warps},
             {"warps held", warps_held}}};
  }
};

/// Threads of a thread block where each has a matrix.
BLOCKJACOBI_HD constexpr int cholesky_threads(int n) { return n <= 3 ? 128 : 32; }

/// Orders up to which (and single ones at which) a thread of its own has each matrix.
constexpr bool cholesky_by_thread(ScalarType scalar, int n) {
  switch (scalar) {
    case ScalarType::s: return n <= 13;
    case ScalarType::c: return n <= 10;
    case ScalarType::z: return n <= 8;
    case ScalarType::d: break;
  }
  return n <= 6 || n == 9;
}

/// How warps share matrices of an order up to 32 that are not contiguous, or of different orders up to n.
constexpr CholeskyPolicy cholesky_class_policy(Device, ScalarType scalar, int n) {
  const auto warp = [](int matrices, int held) {
    return CholeskyPolicy{CholeskyDesign::warp, matrices, 0, 0, 1, held};
  };
  const bool complex = is_complex(scalar);
  if (n <= 8) return warp(8, complex ? 12 : 20);
  if (complex && n <= 16) return warp(4, 8);
  if (complex) return n <= 24 ? warp(2, 8) : warp(1, 12);
  if (n <= 16) return scalar == ScalarType::d && n > 13 ? warp(2, 24) : warp(4, 16);
  if (scalar == ScalarType::s) return n <= 20 ? warp(4, 12) : warp(2, n <= 24 ? 20 : 16);
  if (n <= 20) return warp(2, 16);
  return warp(1, n <= 24 ? 24 : 20);
}

/// Warps of a thread block that looks through matrices for those of its class.
inline constexpr int cholesky_class_warps = 4;

/// Warps of CholeskyDesign::cta, at most.
inline constexpr int cholesky_cta_warps = 4;

/// While the first warps factorize the diagonal the others wait, so that more thread blocks of fewer warps are faster
/// as long as their matrices stay in the cache; wide pieces read less.
constexpr CholeskyPolicy cholesky_cta_policy(ScalarType scalar, int n) {
  // Thread blocks of cholesky_cta_warps that a multiprocessor shall hold.
  const auto held = [scalar](int rows, int columns) {
    if (is_complex(scalar)) return columns == 2 ? 4 : 3;
    if (rows == 2) return columns == 4 ? 4 : scalar == ScalarType::s ? 6 : 5;
    return columns == 4 ? 3 : 2;
  };
  const auto cta = [held](int rows, int columns, int warps) {
    return CholeskyPolicy{CholeskyDesign::cta, 0, rows, columns, warps, cholesky_cta_warps * held(rows, columns)};
  };
  if (is_complex(scalar)) {
    if (n > 176) return cta(2, 4, 2);
    return cta(2, 2, n <= 96 ? 1 : scalar == ScalarType::z ? 4 : n <= 144 ? 2 : 3);
  }
  if (scalar == ScalarType::s) {
    if (n <= 176) return n <= 80 ? cta(2, 2, 1) : cta(2, 4, 2);
    return n > 224 && n <= 288 ? cta(2, 4, 4) : cta(4, 4, 3);
  }
  if (n <= 64) return cta(2, 2, 1);
  return n <= 176 ? cta(4, 4, n <= 112 ? 1 : n <= 144 ? 2 : 3) : cta(4, 8, 2);
}

/// Contiguous matrices of order n.
constexpr CholeskyPolicy cholesky_policy(Device device, ScalarType scalar, int n) {
  if (n > largest_tiny_order) return cholesky_cta_policy(scalar, n);
  if (cholesky_by_thread(scalar, n)) return {CholeskyDesign::thread, 0, 0, 0, cholesky_threads(n) / 32, 0};
  return cholesky_class_policy(device, scalar, n);
}

/// The inverse from the Cholesky factorization.
enum class CholeskyInverseDesign {
  lanes,      ///< a matrix a group of lanes, in shared memory
  cta,        ///< a matrix a thread block, on the tensor cores
  cta_plain,  ///< a matrix a thread block in global memory, where shared memory has no room for panels
};
constexpr const char* name(CholeskyInverseDesign design) {
  constexpr const char* names[] = {"lanes", "cta", "cta_plain"};
  return names[static_cast<int>(design)];
}

struct CholeskyInversePolicy {
  CholeskyInverseDesign design;
  int columns = 0;  ///< of a panel, in tiles of order 8
  int warps = 0;    ///< of a thread block

  bool operator==(const CholeskyInversePolicy&) const = default;
  constexpr std::array<PolicyNumber, 2> numbers() const { return {{{"tile columns", columns}, {"warps", warps}}}; }
};

/// Warps that share a matrix, at most, with two rows of tiles each; with 16 registers spill.
inline constexpr int most_cholesky_inverse_warps = 12;

/// Threads of CholeskyInverseDesign::cta_plain; not measured.
inline constexpr int plain_cholesky_threads = 256;

/// By counts, not by time: wide panels read less of the matrices, of which an H200 has more at work than its cache
/// holds; narrow ones are fewer rows behind the last of small matrices.
constexpr CholeskyInversePolicy cholesky_inverse_policy(Device device, ScalarType scalar, int n) {
  if (n <= largest_tiny_order) return {CholeskyInverseDesign::lanes};
  if (n > largest_with_room(device, 512, 384))
    return {CholeskyInverseDesign::cta_plain, 0, plain_cholesky_threads / 32};
  const int warps = (n + 15) / 16;
  return {CholeskyInverseDesign::cta, !is_complex(scalar) && n > 96 ? 4 : 2,
          warps < most_cholesky_inverse_warps ? warps : most_cholesky_inverse_warps};
}
inline constexpr int copy_triangle_threads = 256;

}  // namespace blockjacobi::kernels
