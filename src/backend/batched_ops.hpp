#pragma once

#include <blockjacobi/batched.hpp>

namespace blockjacobi::detail {

/// What a backend does with batches of dense matrices: the functions of batched.hpp behind their checks.
///
/// What an implementation may rely on: counts, shapes, leading dimensions and strides are valid, arrays are in backend
/// memory and not null where they hold anything, count > 0. ld is resolved unless the matrices differ in order: 0
/// occurs only together with `orders` (see matrix_of). The orders of an output are those of its input; `orders` of a
/// right-hand side is null. An input is the storage of the output or disjoint from it. Orders 0 occur. Every call is
/// enqueued. InvalidArgument for orders that the backend does not have.
template <Scalar T>
class BatchedOps {
 public:
  virtual ~BatchedOps() = default;

  virtual void getrf(const MatrixBatchView<T>& a, index_t* ipiv, int* info) = 0;
  virtual void getri(const MatrixBatchView<const T>& lu, const index_t* ipiv, const MatrixBatchView<T>& x,
                     int* info) = 0;
  virtual void inverse(const MatrixBatchView<const T>& a, const MatrixBatchView<T>& x, int* info) = 0;
  virtual void getrs(batched::Op op, const MatrixBatchView<const T>& lu, const index_t* ipiv,
                     const MatrixBatchView<T>& b) = 0;

  virtual void potrf(batched::Triangle triangle, const MatrixBatchView<T>& a, int* info) = 0;
  virtual void potri(batched::Triangle triangle, const MatrixBatchView<T>& a, int* info) = 0;
  /// With SpdStorage::packed x.ld has no meaning.
  virtual void spd_inverse(batched::Triangle triangle, const MatrixBatchView<const T>& a, const MatrixBatchView<T>& x,
                           batched::SpdStorage storage, int* info) = 0;
  virtual void potrs(batched::Triangle triangle, const MatrixBatchView<const T>& cholesky,
                     const MatrixBatchView<T>& b) = 0;

  virtual void geqrf(const MatrixBatchView<T>& a, T* tau) = 0;
  /// rtol < 1; <= 0 takes N eps.
  virtual void pseudo_inverse(const MatrixBatchView<const T>& a, const MatrixBatchView<T>& x, double rtol,
                              index_t* rank) = 0;
};

}  // namespace blockjacobi::detail
