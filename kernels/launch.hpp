#pragma once

#include "backend/block_ops.hpp"
#include "backend/krylov_ops.hpp"

#include <blockjacobi/views.hpp>

struct CUstream_st;

/// The launchers: all that the host side knows of the kernels. They take the public scalars, enqueue on `stream`,
/// allocate nothing, wait for nothing, can be captured, and throw CudaError if a launch is refused.
namespace blockjacobi::kernels {

/// Scratch of the reductions, in device memory: reduction_partials doubles and reduction_tickets counters (see
/// kernels/tuning/krylov.hpp). The counters are zero before the first use and after each. Work that shares it must run
/// in stream order.
struct ReductionWorkspace {
  double* partials = nullptr;
  unsigned int* tickets = nullptr;
};

/// 0 if the current device can run the kernels of this build, else a cudaError_t.
int device_status() noexcept;

// Blocks: BlockOps.

template <Scalar T>
void setup_blocks(const T* values, const detail::PositionMapView& map, const BlockBatchView<T>& inverse,
                  detail::Fallback fallback, const detail::BlockStatusView<T>& status, CUstream_st* stream);

template <Scalar T>
void apply_blocks(const BlockBatchView<const T>& inverse, const T* r, T* z, CUstream_st* stream);

// CSR: OperatorImpl.

/// y = A x for any nnz; deterministic.
template <Scalar T, Offset O>
void csr_product(const CsrView<T, O>& matrix, const T* x, T* y, CUstream_st* stream);

/// destination[i] = source[i], i < count; every value fits.
void narrow_offsets(const std::int64_t* source, offset_t count, std::int32_t* destination, CUstream_st* stream);

// Vectors: KrylovOps.

/// r = b - r.
template <Scalar T>
void subtract_from(index_t n, const T* b, T* r, CUstream_st* stream);

/// x += u.
template <Scalar T>
void add(index_t n, const T* u, T* x, CUstream_st* stream);

/// *norm = ||x||.
template <Scalar T>
void norm(index_t n, const T* x, double* norm, const ReductionWorkspace& workspace, CUstream_st* stream);

// Conjugate gradients. Masked by state->stop.

/// pq = p^H q, cg_step_length.
template <Scalar T>
void cg_step_length(const detail::CgVectors<T>& v, detail::CgState<detail::compute_t<T>>* state,
                    const ReductionWorkspace& workspace, CUstream_st* stream);

/// x += alpha p, r -= alpha q.
template <Scalar T>
void cg_step(const detail::CgVectors<T>& v, const detail::CgState<detail::compute_t<T>>* state, CUstream_st* stream);

/// rr = ||r||^2, rho_new = r^H z, cg_direction_factor.
template <Scalar T>
void cg_direction_factor(const detail::CgVectors<T>& v, detail::CgState<detail::compute_t<T>>* state,
                         const ReductionWorkspace& workspace, CUstream_st* stream);

/// p = z + beta p.
template <Scalar T>
void cg_direction(const detail::CgVectors<T>& v, const detail::CgState<detail::compute_t<T>>* state,
                  CUstream_st* stream);

// GMRES. Masked by state->cycle_stop, gmres_begin by state->stop, gmres_combine not at all.

template <Scalar T>
void gmres_begin(const detail::GmresVectors<T>& v, const detail::GmresSmall<detail::compute_t<T>>& small,
                 detail::GmresState* state, const ReductionWorkspace& workspace, CUstream_st* stream);

template <Scalar T>
void gmres_orthogonalize(const detail::GmresVectors<T>& v, const detail::GmresSmall<detail::compute_t<T>>& small,
                         int j, detail::GmresState* state, const ReductionWorkspace& workspace, CUstream_st* stream);

template <Scalar T>
void gmres_combine(const detail::GmresVectors<T>& v, const detail::GmresSmall<detail::compute_t<T>>& small,
                   const detail::GmresState* state, CUstream_st* stream);

}  // namespace blockjacobi::kernels
