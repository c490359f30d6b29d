#pragma once

#include "backend/operator_impl.hpp"
#include "core/shared/compute_type.hpp"
#include "core/shared/gmres_recurrence.hpp"

#include <blockjacobi/views.hpp>

#include <memory>

namespace blockjacobi::detail {

/// n-vectors of CG. Without a preconditioner z is r.
template <Scalar T>
struct CgVectors {
  index_t n = 0;
  T* x = nullptr;
  T* r = nullptr;
  T* z = nullptr;
  T* p = nullptr;
  T* q = nullptr;
};

/// n-vectors of GMRES: basis is n x (m + 1), column-major with leading dimension n; its column 0 takes the residual.
template <Scalar T>
struct GmresVectors {
  index_t n = 0;
  T* basis = nullptr;
  T* u = nullptr;  ///< V y
  T* z = nullptr;  ///< M^-1 v
};

/// The phases of the solvers. Scalars live in states in backend memory; every call is enqueued, allocates nothing, and
/// (but for the first group) does nothing once state->stop (cycle_stop in GMRES) is set. Sums run in an order that
/// depends on n and the device alone.
template <Scalar T>
class KrylovOps {
 public:
  virtual ~KrylovOps() = default;

  /// Product with a CSR matrix whose arrays lie in backend memory and outlive the operator.
  virtual std::unique_ptr<OperatorImpl<T>> make_csr(const CsrView<T, std::int32_t>& matrix) = 0;
  virtual std::unique_ptr<OperatorImpl<T>> make_csr(const CsrView<T, std::int64_t>& matrix) = 0;

  /// Iterations worth enqueueing before the stop flag is read; 1 where reading it is free. At most history_capacity.
  virtual int batch() const = 0;

  /// r = b - A x.
  virtual void residual(const OperatorImpl<T>& A, const T* b, const T* x, T* r) = 0;
  /// *norm = ||x||, in backend memory.
  virtual void norm(index_t n, const T* x, double* norm) = 0;
  /// x += u.
  virtual void add(index_t n, const T* u, T* x) = 0;

  /// q = A p, pq = p^H q, cg_step_length.
  virtual void cg_product(const OperatorImpl<T>& A, const CgVectors<T>& v, CgState<compute_t<T>>* state) = 0;
  /// x += alpha p, r -= alpha q, z = M^-1 r, rr = ||r||^2, rho_new = r^H z, cg_direction_factor. M may be null.
  virtual void cg_update(const PreconditionerImpl<T>* M, const CgVectors<T>& v, CgState<compute_t<T>>* state) = 0;
  /// p = z + beta p.
  virtual void cg_direction(const CgVectors<T>& v, CgState<compute_t<T>>* state) = 0;

  /// beta = ||v_0||, gmres_begin_cycle, v_0 /= beta. On entry column 0 holds b - A x.
  virtual void gmres_begin(const GmresVectors<T>& v, const GmresSmall<compute_t<T>>& small, GmresState* state) = 0;
  /// Orthogonalizes column j + 1 (which holds A M^-1 v_j) against columns 0..j by classical Gram-Schmidt, twice;
  /// gmres_rotate; normalizes the column.
  virtual void gmres_orthogonalize(const GmresVectors<T>& v, const GmresSmall<compute_t<T>>& small, int j,
                                   GmresState* state) = 0;
  /// y = R^-1 g, u = V y; runs also after cycle_stop.
  virtual void gmres_combine(const GmresVectors<T>& v, const GmresSmall<compute_t<T>>& small, GmresState* state) = 0;
};

}  // namespace blockjacobi::detail
