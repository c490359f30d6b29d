#pragma once

#include "core/shared/coarse_basis.hpp"

#include <blockjacobi/views.hpp>

struct CUstream_st;

// Conventions of launchers: kernels/launch.hpp. Where `stop` is not null, nothing is done once *stop is not 0.
namespace blockjacobi::kernels {

/// partials[c pieces + p] = the part p of row c of a x - b y; without b where y is null. The values of a may be null:
/// they are ones then.
template <class C>
void coarse_restrict(const CsrView<C, std::int32_t>& a, const C* x, const CsrView<C, std::int32_t>& b, const C* y,
                     index_t pieces, C* partials, const int* stop, CUstream_st* stream);

/// c = E^-1 s, s_i being the sum of the i-th `pieces` partials. S is C or its single precision.
template <class C, class S>
void coarse_solve(const detail::CoarseInverseArrays<C, S>& inverse, index_t pieces, const C* partials, C* c,
                  const int* stop, CUstream_st* stream);

/// z = in + Z c, in being zero if null; z may be in.
template <class C>
void coarse_prolong(const detail::CoarseBasisArrays<C>& basis, const C* c, const C* in, C* z, CUstream_st* stream);

/// out = in - a c; out may be in.
template <class C>
void coarse_subtract_product(const CsrView<C, std::int32_t>& a, const C* c, const C* in, C* out, CUstream_st* stream);

// The steps of an inversion around a factorization of a whole order x order matrix.

/// scale_i = 1 / sqrt|e_ii|, 1 where that is none; dense = D E D + shift I, column-major.
template <class C>
void coarse_equilibrate(const CsrView<C, std::int32_t>& e, detail::arithmetic_real_t<C> shift,
                        detail::arithmetic_real_t<C>* scale, C* dense, CUstream_st* stream);

/// sums[j] = sum of |a_ij| over i.
template <class C>
void coarse_column_sums(index_t order, const C* dense, detail::arithmetic_real_t<C>* sums, CUstream_st* stream);

template <class C>
void coarse_identity(index_t order, C* dense, CUstream_st* stream);

/// From the column sums of a matrix and of its inverse: *rcond; *info as the factorization left it, or -1 if a sum is
/// not finite; *is_single, which is 1 where *rcond >= smallest.
template <class R>
void coarse_outcome(index_t order, const R* sums, const R* inverse_sums, int* info, double* rcond, double smallest,
                    int* is_single, CUstream_st* stream);

/// single = the inverse if *is_single; the inverse = 0 if *info is not 0.
template <class C, class S>
void coarse_finish(index_t order, C* inverse, const int* info, const int* is_single, S* single, CUstream_st* stream);

}  // namespace blockjacobi::kernels
