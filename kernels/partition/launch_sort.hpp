#pragma once

#include "core/shared/sort_key.hpp"

#include <blockjacobi/views.hpp>

#include <cstddef>
#include <cstdint>

struct CUstream_st;

// Sorting and sums over whole arrays. Conventions of launchers: kernels/launch.hpp.
namespace blockjacobi::kernels {

using detail::SortKey;

/// Sorts keys of at most `limit`, equal ones in the order in which they stand, and what goes with them. Scratch:
/// sort_bytes().
std::size_t sort_bytes(offset_t count, SortKey limit);
void sort_keys(offset_t count, SortKey limit, const SortKey* keys, SortKey* sorted, const std::int32_t* numbers,
               std::int32_t* sorted_numbers, void* scratch, CUstream_st* stream);

/// sums[k] = all counts up to that of k, or before it; sums may be counts. Scratch: scan_bytes().
std::size_t scan_bytes(index_t count);
void sum_up_to(index_t count, const std::int32_t* counts, std::int32_t* sums, void* scratch, CUstream_st* stream);
void sum_before(index_t count, const std::int32_t* counts, std::int32_t* sums, void* scratch, CUstream_st* stream);

/// inverse[order[k]] = k.
void invert_order(index_t count, const index_t* order, index_t* inverse, CUstream_st* stream);
/// keys[k] of each entry k by its row and column in the new numbering, and lengths[i] of the rows there; rows + 1, the
/// last of which is 0.
template <Offset O>
void key_renumbered(const CsrView<const void, O>& pattern, const index_t* order, const index_t* inverse, SortKey* keys,
                    std::int32_t* entries, std::int32_t* lengths, CUstream_st* stream);
/// columns[k] and source[k] of sorted entries.
void split_renumbered(offset_t count, index_t cols, const SortKey* keys, const std::int32_t* entries, index_t* columns,
                      offset_t* source, CUstream_st* stream);

}  // namespace blockjacobi::kernels
