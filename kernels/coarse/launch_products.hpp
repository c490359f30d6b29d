#pragma once

#include "core/shared/coarse_basis.hpp"
#include "core/shared/sort_key.hpp"
#include "kernels/coarse/policy.hpp"

#include <blockjacobi/views.hpp>

#include <cstdint>

struct CUstream_st;

// Products of sparse matrices for a Multigrid. Conventions of launchers: kernels/launch.hpp. Patterns other than that
// of A are those of rows from 0, with offsets of 32 bits.
namespace blockjacobi::kernels {

using detail::SortKey;

/// On the device in use.
int sparse_pattern_lanes(const SparseProductCase& given);
/// What count_columns() and count_left() found, zero before.
struct ColumnCounts {
  unsigned long long columns;  ///< of all rows that were counted
  unsigned int left;           ///< not zero if the lanes had no room for a row: it is counted by count_left()
  unsigned int too_many;       ///< not zero if a thread block had no room either
};
/// lengths[i] = elements of row i of A B, one more, which is 0, and negative for a row that is left.
template <Offset O>
void count_columns(int lanes, const CsrView<const void, O>& a, const CsrView<const void, std::int32_t>& b,
                   std::int32_t* lengths, ColumnCounts* counts, CUstream_st* stream);
/// Those of the rows that are left, a thread block each.
template <Offset O>
void count_left(const CsrView<const void, O>& a, const CsrView<const void, std::int32_t>& b, std::int32_t* lengths,
                ColumnCounts* counts, CUstream_st* stream);
/// The columns of each row from offsets[i] on, ascending, where the lanes have room for them.
template <Offset O>
void list_columns(int lanes, const CsrView<const void, O>& a, const CsrView<const void, std::int32_t>& b,
                  const std::int32_t* offsets, index_t* columns, CUstream_st* stream);
/// Those of the other rows, for which a thread block has room.
template <Offset O>
void list_left(int lanes, const CsrView<const void, O>& a, const CsrView<const void, std::int32_t>& b,
               const std::int32_t* offsets, index_t* columns, CUstream_st* stream);

/// terms[k] = elements of the row of B that entry k of A meets; one more, which is 0. *all += their number.
template <Offset O>
void count_terms(const CsrView<const void, O>& a, const std::int32_t* b_offsets, std::int32_t* terms,
                 unsigned long long* all, CUstream_st* stream);
/// keys[t] = (row of A, column of B) of each term t, those of entry k from before[k] on; numbers[t] = t.
template <Offset O>
void key_terms(const CsrView<const void, O>& a, const CsrView<const void, std::int32_t>& b, const std::int32_t* before,
               SortKey* keys, std::int32_t* numbers, CUstream_st* stream);
/// keys[k] = (column, row) of each entry; numbers[k] = k.
void key_transposed(const CsrView<const void, std::int32_t>& a, SortKey* keys, std::int32_t* numbers,
                    CUstream_st* stream);

/// Elements of row i of Z; one more, which is 0.
template <class C>
void count_basis(const detail::CoarseBasisArrays<C>& z, std::int32_t* lengths, CUstream_st* stream);
template <class C>
void fill_basis(const detail::CoarseBasisArrays<C>& z, const std::int32_t* offsets, index_t* columns, C* values,
                CUstream_st* stream);

/// On the device in use.
int sparse_product_lanes(const SparseProductCase& given);
/// The values of A B, by rows with these offsets and columns: sums in the order of the entries of A. `lanes` have a
/// row, as sparse_product_lanes() has them.
template <class C, Offset O>
void sparse_product(int lanes, const CsrView<C, O>& a, const CsrView<C, std::int32_t>& b, const std::int32_t* offsets,
                    const index_t* columns, C* values, CUstream_st* stream);
/// The values of P = Z - relaxation D^-1 (A Z), see CoarseOps::smooth().
template <class C, Offset O>
void smooth_basis(const CsrView<C, O>& a, const detail::CoarseBasisArrays<C>& z,
                  detail::arithmetic_real_t<C> relaxation, const std::int32_t* offsets, const index_t* columns,
                  C* values, CUstream_st* stream);
/// to[k] = conj(from[order[k]]).
template <class C>
void conjugate(std::int32_t count, const std::int32_t* order, const C* from, C* to, CUstream_st* stream);

/// rounding_scales[i] = |a_ii|.
template <class C, Offset O>
void rounding_scales(const CsrView<C, O>& a, detail::arithmetic_real_t<C>* rounding_scales, CUstream_st* stream);
/// See CoarseOps::restrict_rounding_scales().
template <class C>
void restrict_rounding_scales(const CsrView<C, std::int32_t>& adjoint, const detail::arithmetic_real_t<C>* fine,
                              detail::arithmetic_real_t<C>* coarse, CUstream_st* stream);

/// x += a c, a thread a row.
template <class C>
void add_product(const CsrView<C, std::int32_t>& a, const C* c, C* x, CUstream_st* stream);

}  // namespace blockjacobi::kernels
