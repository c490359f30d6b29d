#pragma once

#include "core/shared/storage_format.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace blockjacobi::detail {

/// Inverses in a format other than the full one of BlockBatch, or in several.
struct StoredBlocksView {
  std::byte* data = nullptr;
  StoredSlot* slots = nullptr;          ///< by format, then by order, then as at set-up
  std::int16_t* exponents = nullptr;    ///< of the slots: all that an apply of blocks in sequence needs of them
  std::span<const StoredGroup> groups;  ///< on the host
  const index_t* place = nullptr;       ///< slot of BlockLayout -> slot here; null if they are the same
  Format format = Format::full;         ///< of all blocks, unless
  const Format* formats = nullptr;      ///< by slot of BlockLayout
  index_t rows = 0;
};

/// Blocks that do not suit their format: not Hermitian, with a row or column lost, or less accurate than asked for.
struct StorageStatusView {
  int* unsuited = nullptr;        ///< one counter
  int* first_from_end = nullptr;  ///< blocks - number of the first of them; 0 if there is none
  index_t blocks = 0;
};

}  // namespace blockjacobi::detail
