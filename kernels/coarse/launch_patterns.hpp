#pragma once

#include "core/shared/coarse_sums.hpp"
#include "core/shared/sort_key.hpp"

#include <blockjacobi/views.hpp>

#include <cstddef>
#include <cstdint>

struct CUstream_st;

// What Z and the pattern of a canonical matrix make of each other. Conventions of launchers: kernels/launch.hpp.
namespace blockjacobi::kernels {

using detail::CoarseSide;
using detail::SortKey;

/// Rows i of A to the column (aggregate, i mod components) of Z: `taken` gets a 1 for each column that has rows, zero
/// before, and, summed up to each, becomes its number from 1.
void mark_columns(index_t rows, const index_t* aggregate, index_t components, std::int32_t* taken, CUstream_st* stream);
void number_columns(index_t rows, const index_t* aggregate, index_t components, const std::int32_t* numbers,
                    index_t* group, CUstream_st* stream);

/// Keys sort entries and segments; those with the key `limit` and above drop out.
/// keys[k] of each entry k of A by its segment: (group of the row, column), or (row, group of the column). rows[k] =
/// the row of Z that it meets, unless null.
template <Offset O>
void key_entries(const CsrView<const void, O>& pattern, CoarseSide side, index_t groups, const index_t* group,
                 SortKey* keys, std::int32_t* entries, index_t* rows, CUstream_st* stream);
/// keys[i] of each row of Z by its group.
void key_rows(index_t rows, index_t groups, const index_t* group, SortKey* keys, std::int32_t* numbers,
              CUstream_st* stream);
/// keys[s] of each segment by its pair, (group of the row of E, of the column).
void key_segments(index_t segments, CoarseSide side, index_t groups, const index_t* group, const index_t* of_segment,
                  const index_t* other, SortKey* keys, index_t* numbers, CUstream_st* stream);

/// Of sorted keys.
struct KeyRuns {
  std::int32_t runs;  ///< of equal keys, below the limit
  std::int32_t end;   ///< of these
};
/// begin[r] = the first of run r of equal keys, and where the last ends; room for count + 1. Scratch:
/// coarse_run_bytes().
std::size_t coarse_run_bytes(offset_t count);
void find_runs(offset_t count, SortKey limit, const SortKey* keys, std::int32_t* begin, KeyRuns* found, void* scratch,
               CUstream_st* stream);
/// high[r] = key / divisor and low[r] = key mod divisor, of run r.
void split_keys(std::int32_t runs, const std::int32_t* begin, const SortKey* keys, SortKey divisor, index_t* high,
                index_t* low, CUstream_st* stream);
/// gathered[k] = values[places[k]].
void gather(std::int32_t count, const std::int32_t* places, const index_t* values, index_t* gathered,
            CUstream_st* stream);

/// bounds[g] = the first of `count` ascending numbers that is not below g, for g = 0 .. groups.
void find_bounds(std::int32_t count, const index_t* numbers, index_t groups, std::int32_t* bounds, CUstream_st* stream);
void find_bounds(std::int32_t count, const SortKey* numbers, index_t groups, std::int32_t* bounds, CUstream_st* stream);

/// Rows of a pattern by groups: as many for each as it has columns of Z, all alike. `first` is null where that is one.
/// stride[g] = elements of a row: bounds[g + 1] - bounds[g], or the difference of before[] at these; begin[g] = the
/// first element; the row offsets; *total, of all elements.
void lay_out_rows(index_t groups, const index_t* first, const std::int32_t* bounds, const std::int32_t* before,
                  std::int32_t* stride, std::int32_t* begin, std::int32_t* offsets, offset_t* total,
                  CUstream_st* stream);
/// columns[k] = those of the group number[k], 1 without `first`; count + 1, the last of which is 0.
void count_columns(std::int32_t count, const index_t* number, const index_t* first, std::int32_t* columns,
                   CUstream_st* stream);
/// Elements of rows that were laid out: item k stands at place[k] = begin[g] + k - bounds[g] of the first row of its
/// group g, and in each further one; columns there = other[k]. `place` may be null.
void place_items(std::int32_t items, const index_t* group, const index_t* other, const index_t* first,
                 const std::int32_t* bounds, const std::int32_t* begin, const std::int32_t* stride, std::int32_t* place,
                 index_t* columns, CUstream_st* stream);
/// The same of the rows of Z, sorted by group, of which keys has the groups.
void place_items(std::int32_t items, const SortKey* group, const index_t* other, const index_t* first,
                 const std::int32_t* bounds, const std::int32_t* begin, const std::int32_t* stride, index_t* columns,
                 CUstream_st* stream);
/// Of A Z: offsets[i] = place of the first segment of row i or behind it, for i = 0 .. rows; columns of the segments.
void place_by_rows(index_t rows, std::int32_t segments, const index_t* row, const index_t* group, const index_t* first,
                   const std::int32_t* place, std::int32_t* offsets, index_t* columns, CUstream_st* stream);
/// place[p] of a pair in E, and the columns of its elements; before[p] counts the columns of pairs before it.
void place_pairs(std::int32_t pairs, const index_t* row, const index_t* column, const index_t* first,
                 const std::int32_t* bounds, const std::int32_t* before, const std::int32_t* begin,
                 const std::int32_t* stride, std::int32_t* place, index_t* columns, CUstream_st* stream);

/// The vectors, rows x count, row by row, made orthonormal on the members of each group, into `values` there: the
/// columns that depend on no others first, ranks[g] of them, then zeros. Scratch: count of `most`. 1 <= count <=
/// max_block_size.
template <class C>
void coarse_orthonormal(index_t rows, index_t count, const C* vectors, index_t groups, const std::int32_t* members,
                        const std::int32_t* bounds, unsigned long long* most, C* values, std::int32_t* ranks,
                        CUstream_st* stream);

/// values of the restriction: conj(z) where it has an element.
template <class C>
void coarse_restriction(const CsrView<const C, std::int32_t>& restriction, const detail::CoarseBasisArrays<C>& z,
                        C* values, CUstream_st* stream);
/// The product with Z, and then E, from the values of A.
template <class C>
void coarse_product(const detail::CoarseSums& sums, const detail::CoarseBasisArrays<C>& z, const C* values, C* product,
                    CUstream_st* stream);
template <class C>
void coarse_galerkin(const detail::CoarseSums& sums, const detail::CoarseBasisArrays<C>& z, const C* product, C* e,
                     CUstream_st* stream);

}  // namespace blockjacobi::kernels
