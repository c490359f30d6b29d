#pragma once

#include "matrices/generators.hpp"
#include "support/petsc.hpp"

namespace blockjacobi::test {

inline constexpr const char* cg_options =
    "-ksp_type cg -ksp_norm_type unpreconditioned -ksp_rtol 1e-8 -ksp_max_it 5000 -ksp_divtol 1e30 ";
inline constexpr const char* ours = "-pc_type blockjacobi ";

struct System {
  CsrMatrix<PetscScalar> matrix;
  BlockPartition partition;
};

inline System family(matrices::BlockFamily kind, std::vector<index_t> sizes, index_t blocks, std::uint64_t seed = 1) {
  matrices::BlockFamilyOptions options;
  options.family = kind;
  options.sizes = std::move(sizes);
  options.blocks = blocks;
  options.coupling = 0.4;
  options.singular_every = blocks;
  options.seed = seed;
  return {matrices::block_family<PetscScalar>(options),
          BlockPartition::from_offsets(matrices::block_family_offsets(options))};
}

inline System elasticity() {
  matrices::ElasticityOptions options;
  options.elements = {6, 6, 6};
  System system{matrices::elasticity<PetscScalar>(options), {}};
  system.partition = BlockPartition::uniform(system.matrix.rows(), 3);
  return system;
}

}  // namespace blockjacobi::test
