#pragma once

#include "matrices/generators.hpp"
#include "support/petsc.hpp"

#include <array>

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

/// A cube of `elements` along each edge, three rows a node.
inline System elasticity(index_t elements = 6) {
  matrices::ElasticityOptions options;
  options.elements = {elements, elements, elements};
  System system{matrices::elasticity<PetscScalar>(options), {}};
  system.partition = BlockPartition::uniform(system.matrix.rows(), 3);
  return system;
}

/// The 7-point stencil of points^3 rows, whose coupling along each axis is given; neighbours along x have neighbouring
/// rows.
inline System seven_points(index_t points, std::array<double, 3> anisotropy) {
  matrices::StencilOptions options;
  options.grid = {points, points, points};
  options.anisotropy = anisotropy;
  options.phase = 0;  // of complex numbers: multigrid takes it that ones are smooth
  System system{matrices::stencil<PetscScalar>(options), {}};
  system.partition = BlockPartition::uniform(system.matrix.rows(), 1);
  return system;
}

}  // namespace blockjacobi::test
