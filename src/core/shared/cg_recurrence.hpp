#pragma once

#include "core/shared/singular_rule.hpp"
#include "core/shared/solve_control.hpp"

namespace blockjacobi::detail {

/// Scalars of preconditioned CG and of its flexible variant, in backend memory. The phases of KrylovOps write the
/// dots, the functions below the rest. T is the compute scalar.
template <class T>
struct CgState : SolveControl {
  accumulator_t<T> pq;       ///< p^H A p
  accumulator_t<T> pr;       ///< flexible: p^H r
  accumulator_t<T> qz;       ///< flexible: q^H z
  accumulator_t<T> rho_new;  ///< r^H z
  accumulator_t<T> rho;      ///< r^H z of the iteration before
  double rr;                 ///< ||r||^2
  T alpha;                   ///< step length; 0 once the recurrence has stopped and x has taken its last step
  T beta;                    ///< direction factor
  int fresh;                 ///< 1: r was just computed from x, there is no direction yet
};

/// What stands there before the first phase; the vectors p and q are zero then, so that the update by alpha = 0
/// leaves the residual as it was computed.
template <class T>
inline CgState<T> cg_initial_state(double target, int max_iterations) {
  CgState<T> s{};
  s.target = target;
  s.max_iterations = max_iterations;
  s.fresh = 1;
  return s;
}

/// Whether p^H A p > 0; else the stop is set.
template <class T>
BLOCKJACOBI_HD inline bool cg_has_curvature(CgState<T>& s) {
  const double pq = real_part(s.pq);
  if (!finite(s.pq)) {
    s.stop = static_cast<int>(StopReason::nan_or_inf);
  } else if (pq < 0.0) {
    s.stop = static_cast<int>(StopReason::indefinite_matrix);
  } else if (pq == 0.0) {
    s.stop = static_cast<int>(StopReason::breakdown);
  }
  return s.stop == 0;
}

/// The step length numerator / p^H A p; 0 if there is no more step, or none that the numbers have room for: with a
/// target that cannot be reached p^H A p becomes smaller than any number whose reciprocal is finite.
template <class T>
BLOCKJACOBI_HD inline void cg_set_step(CgState<T>& s, accumulator_t<T> numerator) {
  s.alpha = from_real<T>(0);
  if (s.stop != 0 || !cg_has_curvature(s)) return;
  const T alpha = narrow<T>((1.0 / real_part(s.pq)) * numerator);
  if (finite(alpha))
    s.alpha = alpha;
  else
    s.stop = static_cast<int>(StopReason::breakdown);
}

/// After q = A p and pq = p^H q.
template <class T>
BLOCKJACOBI_HD inline void cg_step_length(CgState<T>& s) {
  cg_set_step(s, s.rho);
}

/// The same of flexible CG, with pr = p^H r: minimizes along p whatever the preconditioner did.
template <class T>
BLOCKJACOBI_HD inline void fcg_step_length(CgState<T>& s) {
  cg_set_step(s, s.pr);
}

/// After the update of x and r and the dots: the outcome of the iteration. True if there is a direction to go on in,
/// also from a stop as converged.
template <class T>
BLOCKJACOBI_HD inline bool cg_end_iteration(CgState<T>& s) {
  end_iteration(s, s.fresh != 0, s.rr, finite(s.rho_new));
  const double rho = real_part(s.rho_new);
  if (s.stop == 0 && rho < 0.0) s.stop = static_cast<int>(StopReason::indefinite_preconditioner);
  if (s.stop == 0 && rho == 0.0) s.stop = static_cast<int>(StopReason::breakdown);
  return may_go_on(s);
}

/// The next direction: z + beta p, or z after a residual that was just computed. A factor out of range is a breakdown,
/// and z is where a converged solve may go on.
template <class T>
BLOCKJACOBI_HD inline void cg_set_direction(CgState<T>& s, T beta) {
  const bool usable = s.fresh == 0 && finite(beta);
  if (s.stop == 0 && s.fresh == 0 && !usable) s.stop = static_cast<int>(StopReason::breakdown);
  s.beta = usable ? beta : from_real<T>(0);
  s.rho = s.rho_new;
  s.fresh = 0;
}

/// After the update of x and r and the dots rr and rho_new: the outcome of the iteration and the direction factor.
template <class T>
BLOCKJACOBI_HD inline void cg_direction_factor(CgState<T>& s) {
  if (s.stop == 0 && cg_end_iteration(s)) cg_set_direction(s, narrow<T>((1.0 / real_part(s.rho)) * s.rho_new));
}

/// The same of flexible CG with qz = q^H z: the next direction z + beta p is A-orthogonal to p by construction. This is
/// the factor of Polak and Ribiere, z^H (r - r_old) / rho_old, since r - r_old = -alpha q.
template <class T>
BLOCKJACOBI_HD inline void fcg_direction_factor(CgState<T>& s) {
  if (s.stop == 0 && cg_end_iteration(s)) cg_set_direction(s, narrow<T>((-1.0 / real_part(s.pq)) * s.qz));
}

// CG with one wait an iteration (Meurant 1987, Chen and Carson 2020): with q = A p and t = M^-1 q, summed up together
// with p^H q, the next r^H z is known before r and z are, which are r - alpha q and z - alpha t then. r^H z and ||r||^2
// as they came out are summed up with the next product. q is a product and r what it always is, so that b - A x follows
// r as closely as without; what rounds otherwise is z, which is not M^-1 r any more.

/// What is summed up with p^H q, and what has become of z.
struct CgForecast {
  double cross;      ///< Re(z^H q + r^H t)
  double curvature;  ///< Re(q^H t)
  double moved;      ///< sum of |r^H z| and |alpha|^2 q^H t of the iterations since z was M^-1 r
};

/// A forecast of less than this much of r^H z is mostly rounding: its terms cancel.
inline constexpr double cg_largest_fall = 0.01;

/// After the dots rr and rho_new of an iteration whose direction was made of a forecast: its outcome. The direction is
/// z + 1 (p - z) for one who resumes.
template <class T>
BLOCKJACOBI_HD inline void cg_confirm(CgState<T>& s) {
  if (s.stop == 0 && cg_end_iteration(s)) cg_set_direction(s, from_real<T>(1));
}

/// After cg_step_length(): whether the next direction can be made of the forecast of r^H z; beta is set then. Each
/// update leaves z a rounding error, of the unit roundoff times what it moved in the norm of M; where these may have
/// grown to the root of the unit roundoff, seen from z, z has to be M^-1 r again. (van der Vorst and Ye 2000)
template <class T>
BLOCKJACOBI_HD inline bool cg_foresee(CgState<T>& s, CgForecast& f) {
  using R = arithmetic_real_t<T>;
  if (s.stop != 0) return false;
  const double rho = real_part(s.rho), alpha = real_part(s.alpha);
  const double next = rho - alpha * f.cross + alpha * alpha * f.curvature;
  f.moved += rho + alpha * alpha * f.curvature;
  if (!(next > cg_largest_fall * rho && next > static_cast<double>(machine_epsilon<R>()) * f.moved)) return false;
  s.beta = from_real<T>(static_cast<R>(next / rho));
  return finite(s.beta);
}

}  // namespace blockjacobi::detail
