#pragma once

#include <blockjacobi/types.hpp>

namespace blockjacobi::detail {

/// Largest block of a matrix in block rows: a row a lane.
inline constexpr index_t max_bsr_block = 32;

/// A matrix in block rows, in backend memory: block k has the block column columns[k] and lies column-major at
/// elements + k block^2.
template <class T>
struct BsrView {
  index_t block_rows = 0;
  index_t block = 0;  ///< rows and columns of a block
  const offset_t* row_offsets = nullptr;
  const index_t* columns = nullptr;
  const T* elements = nullptr;
};

/// Where the elements of the blocks come from: element e is the sum of values[first[e]], values[next[first[e]]], ...;
/// -1 ends the chain. `next` is null if no chain has two links.
struct BsrSources {
  offset_t elements = 0;
  const offset_t* first = nullptr;
  const offset_t* next = nullptr;
};

}  // namespace blockjacobi::detail
