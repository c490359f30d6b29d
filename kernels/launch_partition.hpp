#pragma once

#include <blockjacobi/views.hpp>

#include <cstddef>
#include <cstdint>

struct CUstream_st;

/// The launchers of the detection of blocks; conventions as in launch.hpp. Sets of rows are bits: row i is bit i % 32
/// of word i / 32, bits from `rows` on are 0.
namespace blockjacobi::kernels {

constexpr std::size_t row_set_words(index_t rows) { return (static_cast<std::size_t>(rows) + 31) / 32; }

/// starts = the rows that differ from the row before them by more than BlockPartition::detect tolerates, and row 0.
/// `undecided` is scratch of the same size.
template <Offset O>
void find_run_starts(const CsrView<const void, O>& pattern, double tolerance, std::uint32_t* starts,
                     std::uint32_t* undecided, CUstream_st* stream);

/// Adds the rows at which runs of more than max_size rows are cut. Scratch: run_scratch_words().
std::size_t run_scratch_words(index_t rows);
void cut_runs(index_t rows, index_t max_size, std::uint32_t* starts, index_t* scratch, CUstream_st* stream);

/// merged = those of `starts` that remain when blocks are merged greedily into blocks of up to max_size rows.
/// Scratch: merge_scratch_bytes().
std::size_t merge_scratch_bytes(index_t rows, index_t max_size);
void merge_greedily(index_t rows, index_t max_size, const std::uint32_t* starts, std::uint32_t* merged, void* scratch,
                    CUstream_st* stream);

}  // namespace blockjacobi::kernels
