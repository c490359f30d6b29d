#pragma once

#include "core/shared/position_map.hpp"
#include "kernels/device.hpp"

#include <blockjacobi/views.hpp>

#include <cstddef>
#include <cstdint>

struct CUstream_st;

/// The detection of blocks and the analysis of patterns. Conventions of launchers: kernels/launch.hpp. Sets of rows are
/// bits: row i is bit i % 32 of word i / 32, bits from `rows` on are 0.
namespace blockjacobi::kernels {

constexpr std::size_t row_set_words(index_t rows) { return (static_cast<std::size_t>(rows) + 31) / 32; }

/// Zero before check_pattern(), which adds.
struct PatternCounts {
  unsigned long long fingerprint;
  unsigned long long unsorted;  ///< entries of a row whose columns are not above those before them
  unsigned int faults;          ///< what validate() would not admit
};
template <Offset O>
void check_pattern(const CsrView<const void, O>& pattern, PatternCounts* counts, CUstream_st* stream);

/// starts = the rows that differ from the row before them by more than BlockPartition::detect tolerates, and row 0.
/// `undecided` is scratch of the same size. With `check`, on the device, all rows of a pattern that has faults by it:
/// nobody has to wait for that before.
template <Offset O>
void find_run_starts(const CsrView<const void, O>& pattern, double tolerance, const PatternCounts* check,
                     std::uint32_t* starts, std::uint32_t* undecided, CUstream_st* stream);

/// cut = `starts`, and the rows at which runs of more than max_size rows are cut.
void cut_runs(index_t rows, index_t max_size, const std::uint32_t* starts, std::uint32_t* cut, CUstream_st* stream);

/// merged = those of `starts` that remain when blocks are merged greedily into blocks of up to max_size rows.
/// Scratch: merge_scratch_bytes().
std::size_t merge_scratch_bytes(index_t rows, index_t max_size);
void merge_greedily(index_t rows, index_t max_size, const std::uint32_t* starts, std::uint32_t* merged, void* scratch,
                    CUstream_st* stream);

/// lengths[i] = rows of the block that Merge::coupled makes if it begins one at row i, for each row i of `starts`. The
/// pattern is valid and its rows are sorted. Scratch: coupling_scratch_bytes().
std::size_t coupling_scratch_bytes(index_t rows);
template <class C, Offset O>
void measure_coupled(const CsrView<const C, O>& matrix, index_t max_size, double threshold, const std::uint32_t* starts,
                     std::uint16_t* lengths, void* scratch, CUstream_st* stream);

/// As merge_greedily(), with blocks of these lengths.
void merge_coupled(index_t rows, index_t max_size, const std::uint32_t* starts, const std::uint16_t* lengths,
                   std::uint32_t* merged, void* scratch, CUstream_st* stream);

/// What the blocks of one order amount to. Zero before count_orders(), which adds.
struct OrderCount {
  index_t count;
  index_t rows_behind;  ///< from the first row of the first of them to the last row of the matrix
  index_t last_row;     ///< the first row of the last of them
};
/// counts[n] = that of the blocks of n rows, for n = 0 .. max_block_size, from the rows at which blocks begin.
void count_orders(index_t rows, const std::uint32_t* starts, OrderCount* counts, CUstream_st* stream);

/// The rows of the set by number, and `rows` behind them. Scratch: offsets_scratch_bytes().
std::size_t offsets_scratch_bytes(index_t rows);
void list_offsets(index_t rows, index_t blocks, const std::uint32_t* starts, index_t* offsets, void* scratch,
                  CUstream_st* stream);

/// The slots of blocks of `order` rows, the last one shorter if need be, as BlockLayout has them; those of the whole
/// blocks count from element `start`.
void place_uniform(index_t rows, index_t order, offset_t start, BlockSlot* slots, CUstream_st* stream);

/// Where the blocks of an order begin in the storage.
struct FirstPlace {
  index_t slot;
  offset_t start;
};
/// The slots of blocks of any orders, as BlockLayout has them; places[n] is that of order n. Scratch:
/// place_scratch_bytes().
std::size_t place_scratch_bytes(index_t blocks);
void place_sorted(index_t blocks, const index_t* offsets, const FirstPlace* places, BlockSlot* slots, void* scratch,
                  CUstream_st* stream);

/// Not zero if some entry of a matrix differs from the one opposite of it, or from its conjugate.
struct UnequalCounts {
  int symmetric;
  int hermitian;
};
/// Sets what is not zero, of a canonical square matrix.
template <class C, Offset O>
void count_unequal(const CsrView<const C, O>& matrix, double tolerance, UnequalCounts* counts, CUstream_st* stream);

/// Slots are on the device, and not read if there is one group alone.
using MappedBlocks = BlockBatchView<const double>;

/// Zero before measure_map(), which adds.
struct MapCounts {
  unsigned long long entries;
  unsigned long long words;
  unsigned int wide;  ///< blocks that need wide words
};

/// Slots of the position map of a pattern that is valid and whose rows are sorted, with the number of its words as
/// `begin` of each; with l1 of what append_l1_entries() makes of it. Does nothing if `check`, on the device, says of
/// the pattern that it is not.
template <Offset O>
void measure_map(const CsrView<const void, O>& pattern, bool l1, const MappedBlocks& blocks, const PatternCounts* check,
                 detail::MapSlot* slots, MapCounts* counts, CUstream_st* stream);

/// Numbers of words to where they begin; in maps of wide words all sources count from 0.
std::size_t map_scratch_bytes(index_t blocks);
void sum_map_words(index_t blocks, bool narrow, detail::MapSlot* slots, offset_t* scratch, CUstream_st* stream);

template <class Word, Offset O>
void fill_map(const CsrView<const void, O>& pattern, bool l1, const MappedBlocks& blocks, const detail::MapSlot* slots,
              Word* words, CUstream_st* stream);

/// Of each row what append_l1_entries() reads: the pattern from 0, and the rows of its block.
template <Offset O>
void list_l1_rows(const CsrView<const void, O>& pattern, const MappedBlocks& blocks, offset_t* row_offsets,
                  index_t* columns, index_t* block_begin, index_t* block_end, CUstream_st* stream);

/// extended = the values with the entry of l1 block-Jacobi behind each row.
template <class C>
void append_l1_entries(const C* values, const offset_t* row_offsets, const index_t* columns, const index_t* block_begin,
                       const index_t* block_end, index_t rows, C* extended, CUstream_st* stream);

/// *sum = the fingerprint of a pattern.
template <Offset O>
void fingerprint(const CsrView<const void, O>& pattern, unsigned long long* sum, CUstream_st* stream);

}  // namespace blockjacobi::kernels
