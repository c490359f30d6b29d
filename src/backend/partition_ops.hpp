#pragma once

#include "core/shared/position_map.hpp"

#include <blockjacobi/array.hpp>
#include <blockjacobi/block_batch.hpp>
#include <blockjacobi/permutation.hpp>
#include <blockjacobi/sparse_matrix.hpp>

#include <optional>
#include <span>

namespace blockjacobi::detail {

/// What makes rows neighbours in a block; see BlockPartition::detect.
struct SupervariableRule {
  index_t max_size = 32;
  double tolerance = 0.0;
  bool merge_greedily = true;
};

/// Which of the neighbours are merged by their values; see BlockPartition::detect.
struct CouplingRule {
  SupervariableRule supervariables;
  double threshold = 0.0;
};

/// A pattern as a whole.
struct PatternCheck {
  bool is_valid = false;          ///< what validate() demands
  bool is_sorted = false;         ///< columns increase strictly in every row
  std::uint64_t fingerprint = 0;  ///< as host_fingerprint()
};

/// The blocks of a layout: slots in backend memory, which nobody reads where there is one group alone.
struct BlockTable {
  std::span<const BlockGroup> groups;
  const BlockSlot* slots = nullptr;
  index_t blocks = 0;
  index_t rows = 0;
};

/// The arrays of L1PatternView, to be written.
struct L1Arrays {
  offset_t* row_offsets;
  index_t* columns;
  index_t* block_begin;
  index_t* block_end;
};

/// Of P A P^T, in backend memory: its k-th entry is the source[k]-th of A.
struct RenumberedPattern {
  Array<std::int32_t> offsets;
  Array<index_t> columns;
  Array<offset_t> source;
};

/// Strengths of all couplings of a matrix (core/shared/cluster_rules.hpp), and of their positive real parts.
struct CouplingTotals {
  double all = 0.0, positive = 0.0;
};

/// The size of a position map.
struct MapExtent {
  offset_t entries = 0;  ///< of the matrix inside blocks
  offset_t words = 0;
  bool narrow = true;
};

/// Both of a pattern; the extent counts for one that is valid and sorted alone.
struct CheckedExtent {
  PatternCheck check;
  MapExtent extent;
};

/// What a backend does with sparsity patterns in its memory.
class PartitionOps {
 public:
  virtual ~PartitionOps() = default;
  /// Supervariables, as supervariables() of partition/supervariables.hpp and merge_greedily() of
  /// partition/agglomerate.hpp give them; `backend` is that of these operations, in whose memory the blocks may stay.
  /// Waits.
  virtual BlockPartition detect(const Backend& backend, const CsrView<const void, std::int32_t>& pattern,
                                const SupervariableRule& rule) = 0;
  virtual BlockPartition detect(const Backend& backend, const CsrView<const void, std::int64_t>& pattern,
                                const SupervariableRule& rule) = 0;
  /// The same of a pattern that is not known to be valid; none if it is not.
  virtual std::optional<BlockPartition> detect_checked(const Backend&, const CsrView<const void, std::int32_t>&,
                                                       const SupervariableRule&) {
    return std::nullopt;
  }
  virtual std::optional<BlockPartition> detect_checked(const Backend&, const CsrView<const void, std::int64_t>&,
                                                       const SupervariableRule&) {
    return std::nullopt;
  }
  /// By Merge::coupled, as merge_coupled() of partition/agglomerate.hpp gives them; the matrix has values of
  /// that scalar. None where the host does it, from a copy: if rows are not sorted or have duplicates.
  virtual std::optional<BlockPartition> detect_coupled(const Backend&, const CsrView<const void, std::int32_t>&,
                                                       ScalarType, const CouplingRule&) {
    return std::nullopt;
  }
  virtual std::optional<BlockPartition> detect_coupled(const Backend&, const CsrView<const void, std::int64_t>&,
                                                       ScalarType, const CouplingRule&) {
    return std::nullopt;
  }

  /// BlockPartition::clusters, as clusters() of partition/clusters.hpp and from_labels() give them for the graph of
  /// strength_graph(); the blocks may stay in backend memory. The matrix is canonical and has values of that scalar, no
  /// node more than max_size rows. None where the host does it, from a copy. Waits.
  virtual std::optional<PermutedPartition> cluster(const Backend&, const CsrView<const void, std::int32_t>&, ScalarType,
                                                   const BlockPartition&, index_t) {
    return std::nullopt;
  }
  virtual std::optional<PermutedPartition> cluster(const Backend&, const CsrView<const void, std::int64_t>&, ScalarType,
                                                   const BlockPartition&, index_t) {
    return std::nullopt;
  }

  /// As find_symmetry() of a canonical square matrix with values of that scalar. None where the host does it, from a
  /// copy. Waits.
  virtual std::optional<Symmetry> symmetry(const CsrView<const void, std::int32_t>&, ScalarType, double) {
    return std::nullopt;
  }
  virtual std::optional<Symmetry> symmetry(const CsrView<const void, std::int64_t>&, ScalarType, double) {
    return std::nullopt;
  }

  /// Of a canonical square matrix with values of that scalar. None where the host does it, from a copy. Waits.
  virtual std::optional<CouplingTotals> sum_couplings(const CsrView<const void, std::int32_t>&, ScalarType) {
    return std::nullopt;
  }
  virtual std::optional<CouplingTotals> sum_couplings(const CsrView<const void, std::int64_t>&, ScalarType) {
    return std::nullopt;
  }

  /// The pattern of a canonical square matrix in another numbering. None where the host does it, from a copy.
  virtual std::optional<RenumberedPattern> renumber(const Backend&, const CsrView<const void, std::int32_t>&,
                                                    const Permutation&) {
    return std::nullopt;
  }
  virtual std::optional<RenumberedPattern> renumber(const Backend&, const CsrView<const void, std::int64_t>&,
                                                    const Permutation&) {
    return std::nullopt;
  }

  /// host_fingerprint(); waits.
  virtual std::uint64_t fingerprint(const CsrView<const void, std::int32_t>& pattern) = 0;
  virtual std::uint64_t fingerprint(const CsrView<const void, std::int64_t>& pattern) = 0;

  /// The slots of a layout that has some, as BlockLayout::slots() gives them, in backend memory. `offsets` are those of
  /// its blocks there, null if they are not; waits where blocks are not uniform.
  virtual void place(const BlockLayout& layout, const index_t* offsets, BlockSlot* slots) = 0;

  /// Whether measure_map() and fill_map() make position maps; else the host does, from a copy.
  virtual bool makes_maps() const { return false; }
  /// Reads no column where the offsets are not valid; waits.
  virtual PatternCheck inspect(const CsrView<const void, std::int32_t>&) { return {}; }
  virtual PatternCheck inspect(const CsrView<const void, std::int64_t>&) { return {}; }
  /// The slots of the position map, blocks + 1, of a valid and sorted pattern as build_position_map() gives them, with
  /// l1 of the L1Pattern of it; waits.
  virtual MapExtent measure_map(const CsrView<const void, std::int32_t>&, bool, const BlockTable&, MapSlot*) {
    return {};
  }
  virtual MapExtent measure_map(const CsrView<const void, std::int64_t>&, bool, const BlockTable&, MapSlot*) {
    return {};
  }
  /// inspect(), and measure_map() where it may be; waits once.
  virtual CheckedExtent check_and_measure(const CsrView<const void, std::int32_t>&, bool, const BlockTable&, MapSlot*) {
    return {};
  }
  virtual CheckedExtent check_and_measure(const CsrView<const void, std::int64_t>&, bool, const BlockTable&, MapSlot*) {
    return {};
  }
  /// Its words, if there are any, narrow or wide as measure_map() said; enqueued.
  virtual void fill_map(const CsrView<const void, std::int32_t>&, bool, const BlockTable&, const MapSlot*,
                        std::uint32_t*, std::uint64_t*) {}
  virtual void fill_map(const CsrView<const void, std::int64_t>&, bool, const BlockTable&, const MapSlot*,
                        std::uint32_t*, std::uint64_t*) {}
  /// Of a valid pattern what L1PatternView shows; enqueued.
  virtual void list_l1_rows(const CsrView<const void, std::int32_t>&, const BlockTable&, const L1Arrays&) {}
  virtual void list_l1_rows(const CsrView<const void, std::int64_t>&, const BlockTable&, const L1Arrays&) {}
};

}  // namespace blockjacobi::detail
