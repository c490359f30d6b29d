#pragma once

#include "core/shared/solve_control.hpp"

namespace blockjacobi::detail {

/// Scalars of right-preconditioned BiCGSTAB, in backend memory; the shadow residual is written r~. T is the compute
/// scalar.
template <class T>
struct BicgstabState : SolveControl {
  accumulator_t<T> rv;       ///< r~^H v, v = A M^-1 p
  accumulator_t<T> ts;       ///< t^H s, t = A M^-1 s
  accumulator_t<T> rho_new;  ///< r~^H r
  accumulator_t<T> rho;      ///< r~^H r of the iteration before
  double tt;                 ///< ||t||^2
  double ss;                 ///< ||s||^2, s = r - alpha v
  double rr;                 ///< ||r||^2
  T alpha;                   ///< step along M^-1 p
  T omega;                   ///< step along M^-1 s
  T beta;                    ///< direction factor
  int fresh;                 ///< 1: r was just computed from x, there is no direction yet
  int broken;                ///< a StopReason; takes effect unless the iteration has converged
};

/// What stands there before the first phase; p, v and t are zero then.
template <class T>
inline BicgstabState<T> bicgstab_initial_state(double target, int max_iterations) {
  BicgstabState<T> s{};
  s.target = target;
  s.max_iterations = max_iterations;
  s.fresh = 1;
  return s;
}

/// After rv: the step along M^-1 p.
template <class T>
BLOCKJACOBI_HD inline void bicgstab_first_step(BicgstabState<T>& s) {
  if (s.stop != 0) return;
  const T alpha = is_zero(s.rv) ? from_real<T>(0) : narrow<T>(quotient(s.rho, s.rv));
  if (!finite(s.rv)) {
    s.stop = static_cast<int>(StopReason::nan_or_inf);
  } else if (is_zero(s.rv) || !finite(alpha)) {
    s.stop = static_cast<int>(StopReason::breakdown);
  } else {
    s.alpha = alpha;
  }
}

/// After ts, tt and ss: the step along M^-1 s, which minimizes ||s - omega t||; none if s is small enough already.
template <class T>
BLOCKJACOBI_HD inline void bicgstab_second_step(BicgstabState<T>& s) {
  if (s.stop != 0) return;
  s.omega = from_real<T>(0);
  s.broken = 0;
  if (!finite(s.ss) || !finite(s.tt) || !finite(s.ts)) {
    s.stop = static_cast<int>(StopReason::nan_or_inf);
    return;
  }
  if (sqrt(s.ss) <= s.target) return;
  const T omega = s.tt > 0.0 ? narrow<T>((1.0 / s.tt) * s.ts) : from_real<T>(0);
  if (is_zero(omega) || !finite(omega))
    s.broken = static_cast<int>(StopReason::breakdown);
  else
    s.omega = omega;
}

/// After the update of x and r and the dots rr and rho_new: the outcome of the iteration and the direction factor.
template <class T>
BLOCKJACOBI_HD inline void bicgstab_direction_factor(BicgstabState<T>& s) {
  if (s.stop != 0) return;
  const bool fresh = s.fresh != 0;
  end_iteration(s, fresh, s.rr, finite(s.rho_new));
  if (!may_go_on(s)) return;
  T beta = from_real<T>(0);
  if (!fresh && !is_zero(s.omega) && !is_zero(s.rho))
    beta = narrow<T>(quotient(s.rho_new, s.rho) * quotient(widen(s.alpha), widen(s.omega)));
  if (s.stop == 0 && s.broken != 0) s.stop = s.broken;
  if (s.stop == 0 && (is_zero(s.rho_new) || !finite(beta))) s.stop = static_cast<int>(StopReason::breakdown);
  if (!may_go_on(s)) return;
  s.beta = finite(beta) ? beta : from_real<T>(0);
  s.rho = s.rho_new;
  s.fresh = 0;
}

}  // namespace blockjacobi::detail
