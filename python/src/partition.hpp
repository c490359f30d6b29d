#pragma once

#include "backend.hpp"

#include <blockjacobi/block_partition.hpp>

#include <optional>
#include <vector>

namespace blockjacobi::python {

/// Blocks, and where they are not of neighbouring rows the numbering in which they are.
struct PythonPartition {
  BlockPartition blocks;
  std::optional<Permutation> permutation;

  /// The rows of a block in the user's numbering. Throws InvalidArgument if there is no such block.
  std::vector<index_t> rows_of(index_t block) const;
};

void bind_partition(nb::module_& module);

}  // namespace blockjacobi::python
