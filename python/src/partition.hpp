#pragma once

#include "backend.hpp"

#include <blockjacobi/block_partition.hpp>

#include <optional>
#include <span>
#include <vector>

namespace blockjacobi::python {

/// Blocks, and where they are not of neighbouring rows the numbering in which they are.
struct PythonPartition {
  BlockPartition blocks;
  std::optional<Permutation> permutation;
  /// Of what a device found, and keeps until somebody asks for it: that uses this backend, so in a turn on it.
  std::optional<PythonBackend> finder{};

  /// Those of blocks, in their turn.
  std::span<const index_t> offsets() const;
  /// That of permutation, in its turn; there has to be one.
  std::span<const index_t> order() const;
  /// Fetches what somebody in a turn on another backend could ask for.
  void prepare_for(const PythonBackend& user) const;
  /// In their turns.
  friend bool operator==(const PythonPartition& a, const PythonPartition& b);
  /// The rows of a block in the user's numbering. Throws InvalidArgument if there is no such block.
  std::vector<index_t> rows_of(index_t block) const;
};

void bind_partition(nb::module_& module);

}  // namespace blockjacobi::python
