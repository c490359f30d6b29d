#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include <cstdint>
#include <vector>

namespace blockjacobi::matrices {

enum class BlockFamily {
  random,               ///< U S V^H, singular values spaced logarithmically from 1 to 1 / condition
  spd,                  ///< U S U^H, Hermitian positive definite, the same values
  permuted_triangular,  ///< rows of a triangle in one cycle: no row is its own pivot row
  graded,               ///< D R D with a `random` R; D falls from 1 to grading^-1/2
  zero_row,             ///< one row of stored zeros
  duplicate_row,        ///< two equal rows
  rank_deficient        ///< one row is exactly the sum of the others
};

struct BlockFamilyOptions {
  BlockFamily family = BlockFamily::random;
  std::vector<index_t> sizes = {4};  ///< in 1..max_block_size, repeated in turn
  index_t blocks = 16;               ///< >= 1
  double condition = 100.0;          ///< >= 1: random, spd, graded
  double grading = 1e6;              ///< >= 1: graded
  /// Singular families: the blocks 0, k, 2 k, ... are singular, the others `random`.
  index_t singular_every = 1;
  /// In [0, 0.5), relative to 1 / condition: entry i of a block is coupled with entry i of the next one. Below 0.5 it
  /// leaves `random` regular and `spd` positive definite.
  double coupling = 0.1;
  std::uint64_t seed = 1;
};

/// Block-diagonal matrix of dense blocks with known properties, and a weak coupling of neighbouring blocks. A singular
/// block of order 1 is a stored zero. Hermitian for BlockFamily::spd only. Without coupling the blocks are exact
/// supervariables, with it they are not.
/// Throws InvalidArgument for options out of range or more than 2^31 - 1 rows.
template <Scalar T>
[[nodiscard]] CsrMatrix<T> block_family(const BlockFamilyOptions& options);

/// First rows of the blocks, and the number of rows: what BlockPartition::from_offsets takes.
[[nodiscard]] std::vector<index_t> block_family_offsets(const BlockFamilyOptions& options);

}  // namespace blockjacobi::matrices
