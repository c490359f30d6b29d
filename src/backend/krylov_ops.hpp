#pragma once

#include "backend/columns_ops.hpp"
#include "backend/operator_impl.hpp"
#include "core/shared/bicgstab_recurrence.hpp"
#include "core/shared/bsr_pattern.hpp"
#include "core/shared/cg_recurrence.hpp"
#include "core/shared/compute_type.hpp"
#include "core/shared/gmres_recurrence.hpp"
#include "core/shared/krylov_vectors.hpp"
#include "core/shared/vector_pass.hpp"

#include <blockjacobi/views.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace blockjacobi::detail {

template <Scalar T>
using GmresVectors = GmresArrays<compute_t<T>, compute_t<single_t<T>>>;

/// The phases of the solvers. Scalars live in states in backend memory; every call is enqueued, allocates nothing, and
/// (but for the first group) does nothing once state->stop (cycle_stop in GMRES) is set. Sums run in an order that
/// depends on n and the device alone. A solver can do with OperatorImpl::apply(), PreconditionerImpl::apply() and
/// pass(); the phases that are named after one fuse what these would do.
template <Scalar T>
class KrylovOps {
 public:
  using C = compute_t<T>;

  virtual ~KrylovOps() = default;

  /// The phases for several columns at once.
  virtual ColumnsOps<T>& columns() = 0;

  /// Product with a CSR matrix whose arrays lie in backend memory and outlive the operator.
  virtual std::unique_ptr<OperatorImpl<T>> make_csr(const CsrView<T, std::int32_t>& matrix) = 0;
  virtual std::unique_ptr<OperatorImpl<T>> make_csr(const CsrView<T, std::int64_t>& matrix) = 0;

  /// y = A x in block rows.
  virtual void bsr_product(const BsrView<C>& matrix, const C* x, C* y) = 0;
  /// OperatorImpl::residual() in block rows.
  virtual bool bsr_residual(const BsrView<C>&, const C* /*b*/, const C* /*x*/, C* /*r*/) { return false; }
  /// elements[e] = sum of values[k] over the chain of sources of element e.
  virtual void bsr_fill(const BsrSources& sources, const T* values, T* elements) = 0;

  /// Iterations worth enqueueing before the stop flag is read; 1 where reading it is free. At most history_capacity.
  virtual int batch() const = 0;

  /// The state, where it can be read at any time without waiting, so that phases which would do nothing need not be
  /// enqueued; else null.
  virtual const SolveControl* visible(const SolveControl*) const { return nullptr; }

  /// Whether a solver has a better way with such blocks if it finds them in full, whatever their storage.
  virtual bool reads_in_full(std::span<const BlockGroup>, index_t /*rows*/) const { return false; }

  /// r = b - A x, by OperatorImpl::residual() where A has one.
  virtual void residual(const OperatorImpl<T>& A, const C* b, const C* x, C* r) = 0;
  /// x_i = random_element(i), the same on every backend.
  virtual void random(index_t n, C* x) = 0;
  /// *norm = ||x||, in backend memory.
  virtual void norm(index_t n, const C* x, double* norm) = 0;
  /// x += u, unless `condition`, in backend memory, points to 0; it may be null.
  virtual void add(index_t n, const C* u, C* x, const int* condition) = 0;
  /// The sums over b and r = b - A x, detail::begin_solve() on the control, and x = 0 if b = 0. `failure` as in
  /// PreconditionerImpl.
  virtual void begin_solve(index_t n, const C* b, const C* r, C* x, const StoppingRule& rule, const int* failure,
                           SolveControl* control) = 0;
  /// *status = detail::end_solve() for r = b - A x.
  virtual void end_solve(index_t n, const C* r, const SolveControl* control, SolveStatus* status) = 0;

  /// The sums, the dots, and the step with them; without a step there are no dots.
  virtual void pass(const VectorPass<C>& pass, ScalarStep step, SolveControl* state) = 0;

  /// q = A p, pq = p^H q, cg_step_length.
  virtual void cg_product(const OperatorImpl<T>& A, const CgVectors<C>& v, CgState<C>* state) = 0;
  /// r -= alpha q, z = M^-1 r, rr = ||r||^2, rho_new = r^H z, cg_direction_factor. M may be null.
  virtual void cg_update(const PreconditionerImpl<T>* M, const CgVectors<C>& v, CgState<C>* state) = 0;
  /// x += alpha p unless x is null, also in the iteration that stops; p = z + beta p.
  virtual void cg_direction(const CgVectors<C>& v, CgState<C>* state) = 0;

  /// Elements that cg_iterations() needs for messages; 0 unless it has a better way for this system than the phases.
  virtual std::size_t cg_message_elements(const OperatorImpl<T>&, const PreconditionerImpl<T>*) { return 0; }
  /// `count` times cg_product(), cg_update(), cg_direction(). `messages`: zero before the first call of a solve.
  virtual void cg_iterations(const OperatorImpl<T>&, const PreconditionerImpl<T>*, const CgVectors<C>&, C* /*messages*/,
                             int /*count*/, CgState<C>*) {}

  /// q = A p, pq = p^H q, pr = p^H r, fcg_step_length. cg_direction serves the flexible variant, too.
  virtual void fcg_product(const OperatorImpl<T>& A, const CgVectors<C>& v, CgState<C>* state) = 0;
  /// r -= alpha q, z = M^-1 r, rr = ||r||^2, rho_new = r^H z, qz = q^H z, fcg_direction_factor.
  virtual void fcg_update(const PreconditionerImpl<T>* M, const CgVectors<C>& v, CgState<C>* state) = 0;

  /// p = r + beta (p - omega v), y = M^-1 p, v = A y, rv = r~^H v, bicgstab_first_step.
  virtual void bicgstab_first(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M, const BicgstabVectors<C>& v,
                              BicgstabState<C>* state) = 0;
  /// r -= alpha v, which is s; z = M^-1 s, t = A z, ts = t^H s, tt = ||t||^2, ss = ||s||^2, bicgstab_second_step.
  virtual void bicgstab_second(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M, const BicgstabVectors<C>& v,
                               BicgstabState<C>* state) = 0;
  /// x += alpha y + omega z, r = s - omega t, rr = ||r||^2, rho_new = r~^H r, bicgstab_direction_factor. Where omega is
  /// zero, z and t are not read.
  virtual void bicgstab_update(const BicgstabVectors<C>& v, BicgstabState<C>* state) = 0;
  /// Whether bicgstab_iterations() has a better way for this system than the phases.
  virtual bool can_reside(const OperatorImpl<T>&, const PreconditionerImpl<T>*) { return false; }
  /// `count` times the three, as cg_iterations(). `messages`: 4 n elements.
  virtual void bicgstab_iterations(const OperatorImpl<T>&, const PreconditionerImpl<T>*, const BicgstabVectors<C>&,
                                   C* /*messages*/, int /*count*/, BicgstabState<C>*) {}

  /// beta = ||v_0||, gmres_begin_cycle, v_0 /= beta. On entry column 0 (or w) holds b - A x.
  virtual void gmres_begin(const GmresVectors<T>& v, const GmresSmall<C>& small, GmresState* state) = 0;
  /// Orthogonalizes column j + 1 (or w), which holds A M^-1 v_j, against columns 0..j by classical Gram-Schmidt, twice;
  /// gmres_rotate; normalizes the column.
  virtual void gmres_orthogonalize(const GmresVectors<T>& v, const GmresSmall<C>& small, int j, GmresState* state) = 0;
  /// y = R^-1 g, u = V y; runs also after cycle_stop.
  virtual void gmres_combine(const GmresVectors<T>& v, const GmresSmall<C>& small, GmresState* state) = 0;
  /// ||u||^2, gmres_check_correction; runs also after cycle_stop.
  virtual void gmres_check(index_t n, const C* u, GmresState* state) = 0;
  /// Bytes that gmres_cycles() needs for messages; 0 unless it has a better way for this system than the phases.
  virtual std::size_t gmres_message_bytes(const OperatorImpl<T>&, const PreconditionerImpl<T>*, int /*restart*/) {
    return 0;
  }
  /// `cycles` times all steps of a cycle, x += M^-1 V y, and gmres_begin() of b - A x, from a first column as
  /// gmres_begin() leaves it. `messages`: zero before the first call of a solve.
  virtual void gmres_cycles(const OperatorImpl<T>&, const PreconditionerImpl<T>*, C* /*basis*/, int /*restart*/,
                            const C* /*b*/, C* /*x*/, std::byte* /*messages*/, int /*cycles*/, GmresState*) {}
};

}  // namespace blockjacobi::detail
