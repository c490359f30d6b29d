#pragma once

#include "core/shared/cg_recurrence.hpp"
#include "core/shared/krylov_vectors.hpp"
#include "kernels/krylov/policy.hpp"

#include <blockjacobi/views.hpp>

struct CUstream_st;

// Conventions of launchers: kernels/launch.hpp. Layout and states of several columns: src/backend/columns_ops.hpp.
namespace blockjacobi::kernels {

using detail::BundleVectors;

struct ReductionWorkspace;

// Any solver.

/// Columns `first` .. first + from.count - 1 of the bundles.
template <class C>
void to_bundles(const detail::Bundles& shape, const detail::ColumnsView<const C>& from, index_t first, C* to,
                CUstream_st* stream);
template <class C>
void from_bundles(const detail::Bundles& shape, const C* from, index_t first, const detail::ColumnsView<C>& to,
                  CUstream_st* stream);

/// Y = A X; the matrix has fewer than csr_entries_limit entries.
template <class C>
void bundles_product(const CsrView<C, std::int32_t>& matrix, const detail::Bundles& shape, const C* x, C* y,
                     CUstream_st* stream);

/// R = B - A X, products and sums in double.
template <class C>
void bundles_residual(const CsrView<C, std::int32_t>& matrix, const detail::Bundles& shape,
                      const detail::ColumnsView<const C>& b, const C* x, C* r, CUstream_st* stream);

/// norms[c] = ||x_c||, padded_columns() of them.
template <class C>
void bundles_norms(const detail::Bundles& shape, const C* x, double* norms, const ReductionWorkspace& workspace,
                   CUstream_st* stream);

// Conjugate gradients. A column is masked by its state->stop.

/// The sums over B and R, begin_solve, and x = 0 if b = 0. `failure` may be null.
template <class C>
void cg_columns_begin(const detail::Bundles& shape, const detail::ColumnsView<const C>& b, const C* r, C* x,
                      const detail::StoppingRule& rule, const int* failure, detail::CgState<C>* states,
                      const ReductionWorkspace& workspace, CUstream_st* stream);

/// history_size = 0.
template <class C>
void cg_columns_forget(const detail::Bundles& shape, detail::CgState<C>* states, CUstream_st* stream);

/// x += alpha p; p = z + beta p, if `turns`.
template <class C>
void cg_columns_direction(const BundleVectors<C>& v, bool turns, const detail::CgState<C>* states, CUstream_st* stream);

/// q = A p, pq = p^H q, cg_step_length.
template <class C>
void cg_columns_product(const CsrView<C, std::int32_t>& matrix, const BundleVectors<C>& v, detail::CgState<C>* states,
                        const ReductionWorkspace& workspace, CUstream_st* stream);

/// pq = p^H q, cg_step_length.
template <class C>
void cg_columns_step_length(const BundleVectors<C>& v, detail::CgState<C>* states, const ReductionWorkspace& workspace,
                            CUstream_st* stream);

/// That of the device in use.
CgUpdatePolicy cg_columns_update_policy(ScalarType scalar, int n, const CgUpdateCase& given);

/// r -= alpha q, z = X r block by block for orders up to 32, rr = ||r||^2, rho_new = r^H z, cg_direction_factor.
template <class C>
void cg_columns_update(const BlockBatchView<const C>& inverse, const BundleVectors<C>& v, detail::CgState<C>* states,
                       const ReductionWorkspace& workspace, CUstream_st* stream);

/// The same without a preconditioner: z is r.
template <class C>
void cg_columns_plain_update(const BundleVectors<C>& v, detail::CgState<C>* states, const ReductionWorkspace& workspace,
                             CUstream_st* stream);

/// r -= alpha q.
template <class C>
void cg_columns_residual(const BundleVectors<C>& v, const detail::CgState<C>* states, CUstream_st* stream);

/// rr = ||r||^2, rho_new = r^H z, cg_direction_factor.
template <class C>
void cg_columns_direction_factor(const BundleVectors<C>& v, detail::CgState<C>* states,
                                 const ReductionWorkspace& workspace, CUstream_st* stream);

}  // namespace blockjacobi::kernels
