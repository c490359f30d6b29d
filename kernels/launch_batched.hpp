#pragma once

#include "core/shared/compute_type.hpp"

#include <blockjacobi/batched.hpp>

#include <cstddef>

struct CUstream_st;

/// The launchers of the batched dense operations; conventions as in launch.hpp. Views obey what BatchedOps states,
/// orders are at most those below and count is positive.
namespace blockjacobi::kernels {

/// Largest order, and that of matrices for the lanes of a warp, which need no scratch.
inline constexpr int largest_batched_order = 512;
inline constexpr int largest_tiny_batched_order = 32;

/// Matrices of order `order` that are in a launcher's scratch at once: one for each multiprocessor of an H200, more of
/// small ones.
constexpr offset_t matrices_in_scratch(index_t order, offset_t count, std::size_t element) {
  constexpr offset_t least = 132, bytes = offset_t{64} << 20;
  const offset_t of_matrix = offset_t{order} * order * static_cast<offset_t>(element);
  const offset_t most = of_matrix * least < bytes ? bytes / of_matrix : least;
  return count < most ? count : most;
}

template <class C>
void getrf(const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream);
template <class C>
void getri(const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& x, int* info,
           CUstream_st* stream);
template <class C>
void inverse(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info, CUstream_st* stream);
template <class C>
void getrs(batched::Op op, const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& b,
           CUstream_st* stream);

template <class C>
void potrf(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream);
template <class C>
void potri(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream);
/// `work`: with SpdStorage::packed and orders above largest_tiny_batched_order scratch, some matrices of a.rows rows.
template <class C>
void spd_inverse(batched::Triangle triangle, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x,
                 batched::SpdStorage storage, int* info, const MatrixBatchView<C>& work, CUstream_st* stream);
template <class C>
void potrs(batched::Triangle triangle, const MatrixBatchView<const C>& cholesky, const MatrixBatchView<C>& b,
           CUstream_st* stream);

template <class C>
void geqrf(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream);
/// `work`: with orders above largest_tiny_batched_order scratch, some matrices of a.rows rows.
template <class C>
void pseudo_inverse(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, double rtol, index_t* rank,
                    const MatrixBatchView<C>& work, CUstream_st* stream);

}  // namespace blockjacobi::kernels
