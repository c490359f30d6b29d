#pragma once

#include "kernels/device.hpp"
#include "kernels/scalar.hpp"

#include <array>

// Solution of systems with the factors of LU and Cholesky. Chosen by time on an H200.

namespace blockjacobi::kernels {

enum class TriangularDesign {
  lanes,             ///< a matrix a group of lanes, in shared memory
  cta_substitution,  ///< a matrix a thread block; few right-hand sides, with the factor on its way far ahead
  cta_tensor,        ///< a matrix a thread block; more of them, by products on the tensor cores
  warp_plain,        ///< a right-hand side a warp, where shared memory has no room for more
};

constexpr const char* name(TriangularDesign design) {
  constexpr const char* names[] = {"lanes", "cta_substitution", "cta_tensor", "warp_plain"};
  return names[static_cast<int>(design)];
}

struct TriangularPolicy {
  TriangularDesign design;
  int columns = 0;             ///< right-hand sides at once
  int row_bytes = 0;           ///< of a piece of the factor
  int pieces = 0;              ///< of the factor in shared memory or on their way there
  int warps = 0;               ///< of a thread block, at most
  int per_multiprocessor = 0;  ///< thread blocks that it shall hold; 0 leaves the registers to the compiler

  bool operator==(const TriangularPolicy&) const = default;
  constexpr std::array<PolicyNumber, 5> numbers() const {
    return {{{"right-hand sides", columns},
             {"bytes a row", row_bytes},
             {"pieces", pieces},
             {"warps", warps},
             {"per multiprocessor", per_multiprocessor}}};
  }
};

/// Up to so many right-hand sides are solved for by substitution: with 4 of them getrs of 10 000 matrices of order 64
/// takes 0.12 / 0.20 ms in s / d against 0.23 / 0.28 on the tensor cores, of 2000 of order 512 1.04 / 2.09 against
/// 1.80 / 2.20.
inline constexpr int most_few_columns = 4;

/// The largest order that shared memory has room for, with `columns` right-hand sides.
constexpr int largest_cta_solve_order(const Device& device, ScalarType scalar, int columns) {
  if (columns == 1) return largest_with_room(device, 512, scalar == ScalarType::z ? 480 : 512);
  if (columns <= most_few_columns) return largest_with_room(device, 512, scalar == ScalarType::s ? 512 : 352);
  if (is_complex(scalar)) return largest_with_room(device, 320, 160);
  return largest_with_room(device, 512, columns > 16 ? 352 : 384);
}
/// Threads of TriangularDesign::warp_plain that share a matrix; not measured.
inline constexpr int plain_solve_threads = 256;

/// For `columns` right-hand sides.
constexpr TriangularPolicy triangular_policy(Device device, ScalarType scalar, int n, int columns) {
  using enum TriangularDesign;
  if (n <= largest_tiny_order) return {lanes};
  if (n > largest_cta_solve_order(device, scalar, columns)) return {warp_plain, 1, 0, 0, plain_solve_threads / 32};
  if (columns <= most_few_columns) {
    // What each warp has of its rows of the factor: with 2 of 128 / 2 of 64 / 3 of 64 / 4 of 32 bytes getrs for one
    // right-hand side takes 0.29 / 0.26 / 0.27 / 0.29 ms in s, 10 000 of order 128, and 1.53 / 1.20 / 1.26 / 1.31 in d,
    // 2000 of order 512; for four there 2.09 / 2.36 / 2.26 / 2.85. In z 2 of 64 / 3 of 64 bytes take 0.239 / 0.226 ms,
    // 10 000 of order 64, and 0.82 / 0.76 of order 128.
    const int at_once = columns == 1 ? 1 : most_few_columns, numbers = words(scalar) * at_once;
    const int pieces = scalar == ScalarType::z && at_once == 1 ? 3 : 2;
    // One of the largest order where more would spill more than a word or two.
    const int held = scalar != ScalarType::z && numbers <= 4 ? 2 : 1;
    return {cta_substitution, at_once, numbers >= 8 ? 128 : 64, pieces, largest_order / 32, held};
  }
  // With more right-hand sides at once the factors are read less often; those that keep more of them in registers would
  // spill with more threads. Not measured yet.
  if (is_complex(scalar)) return {cta_tensor, 16, 0, 0, n <= 384 ? 12 : 16, 0};
  if (n <= 384 && columns > 16) return {cta_tensor, 32, 0, 0, 12, 0};
  return {cta_tensor, 16, 0, 0, 16, 0};
}

}  // namespace blockjacobi::kernels
