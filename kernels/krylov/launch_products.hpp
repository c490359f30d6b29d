#pragma once

#include "core/shared/bsr_pattern.hpp"
#include "core/shared/scalar.hpp"
#include "kernels/krylov/policy.hpp"

#include <blockjacobi/views.hpp>

struct CUstream_st;

// Conventions of launchers: kernels/launch.hpp.
namespace blockjacobi::kernels {

// Products with a CSR matrix.

/// y = A x; the matrix has fewer than csr_entries_limit entries; deterministic.
template <class C>
void csr_rows_product(const CsrView<C, std::int32_t>& matrix, const C* x, C* y, CUstream_st* stream);

/// r = b - A x with the bits of csr_rows_product(), for double and Complex<double>.
template <class C>
void csr_rows_residual(const CsrView<C, std::int32_t>& matrix, const C* b, const C* x, C* r, CUstream_st* stream);

/// y = A x for any nnz; deterministic.
template <class C, Offset O>
void csr_product(const CsrView<C, O>& matrix, const C* x, C* y, CUstream_st* stream);

/// r = b - A x, products and sums in double, for float and Complex<float>, any nnz and the design of y = A x;
/// deterministic.
template <class C, Offset O>
void csr_residual(const CsrView<C, O>& matrix, CsrProductDesign design, const C* b, const C* x, C* r,
                  CUstream_st* stream);

/// *longest = max(*longest, entries of the longest row).
void longest_row(const CsrView<const void, std::int32_t>& pattern, int* longest, CUstream_st* stream);

/// destination[i] = source[i], i < count; every value fits.
void narrow_offsets(const std::int64_t* source, offset_t count, std::int32_t* destination, CUstream_st* stream);

/// y = A x in block rows; deterministic.
template <class C>
void bsr_product(const detail::BsrView<C>& matrix, const C* x, C* y, CUstream_st* stream);

/// r = b - A x in block rows, products and sums in double; deterministic.
template <class C>
void bsr_residual(const detail::BsrView<C>& matrix, const C* b, const C* x, C* r, CUstream_st* stream);

/// elements[e] = sum of values[k] over the chain of sources of element e.
template <class C>
void bsr_fill(const detail::BsrSources& sources, const C* values, C* elements, CUstream_st* stream);

}  // namespace blockjacobi::kernels
