#pragma once

#include <cstddef>

namespace blockjacobi::kernels {

/// Vector kernels and reductions over n elements.
struct VectorPolicy {
  int threads;
  int reduction_blocks;  ///< most blocks of a reduction: 8 blocks of 256 threads fill each of an H200's 132 SMs
};
inline constexpr VectorPolicy vector_policy{256, 1056};

/// Products of the Krylov basis with a vector: a thread block handles `columns` columns, a launch `groups` such groups.
struct BasisPolicy {
  int columns;
  int groups;
};
inline constexpr BasisPolicy basis_policy{8, 32};

/// Lanes that share a row in the product with a CSR matrix.
inline constexpr int csr_lanes = 16;
inline constexpr int csr_threads = 256;

/// Threads of the kernels for matrices in block rows, a warp a block row.
inline constexpr int bsr_threads = 256;

/// Partial sums of one reduction: one double a block and real number summed.
inline constexpr std::size_t reduction_partials =
    static_cast<std::size_t>(vector_policy.reduction_blocks) * 2 * static_cast<std::size_t>(basis_policy.columns);
inline constexpr std::size_t reduction_tickets = static_cast<std::size_t>(basis_policy.groups);

}  // namespace blockjacobi::kernels
