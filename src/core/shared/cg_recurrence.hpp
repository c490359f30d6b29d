#pragma once

#include "core/shared/scalar.hpp"

#include <blockjacobi/stop_reason.hpp>

#include <cmath>

namespace blockjacobi::detail {

/// Residual norms that a state keeps until the host collects them; also the longest batch of iterations between two
/// looks at the stop flag.
inline constexpr int history_capacity = 64;

/// Scalars of preconditioned CG, in backend memory. The phases of KrylovOps write the dots, the two functions below
/// the rest. `stop` is 0 while running, else a StopReason; once it is set every phase changes nothing.
/// T is the compute scalar.
template <class T>
struct CgState {
  accumulator_t<T> pq;       ///< p^H A p
  accumulator_t<T> rho_new;  ///< r^H z
  accumulator_t<T> rho;      ///< r^H z of the iteration before
  double rr;                 ///< ||r||^2
  double target2;            ///< ||r||^2 that ends the solve
  T alpha;                   ///< step length
  T beta;                    ///< direction factor
  int stop;
  int fresh;  ///< 1: r was just computed from x, there is no direction yet
  int iteration;
  int max_iterations;
  int history_size;
  double history[history_capacity];
};

/// What the host writes before the first phase; the vectors p and q are zero then, so that the update by alpha = 0
/// leaves the residual as it was computed.
template <class T>
inline CgState<T> cg_initial_state(double target, int max_iterations) {
  CgState<T> s{};
  s.target2 = target * target;
  s.max_iterations = max_iterations;
  s.fresh = 1;
  return s;
}

/// After q = A p and pq = p^H q: the step length.
template <class T>
BLOCKJACOBI_HD inline void cg_step_length(CgState<T>& s) {
  if (s.stop != 0) return;
  const double pq = real_part(s.pq);
  if (!finite(s.pq)) {
    s.stop = static_cast<int>(StopReason::nan_or_inf);
  } else if (pq < 0.0) {
    s.stop = static_cast<int>(StopReason::indefinite_matrix);
  } else if (pq == 0.0) {
    s.stop = static_cast<int>(StopReason::breakdown);
  } else {
    s.alpha = narrow<T>((1.0 / pq) * s.rho);
  }
}

/// After the update of x and r and the dots rr and rho_new: the outcome of the iteration and the direction factor.
template <class T>
BLOCKJACOBI_HD inline void cg_direction_factor(CgState<T>& s) {
  if (s.stop != 0) return;
  const bool fresh = s.fresh != 0;
  if (!fresh) ++s.iteration;
  if (!fresh || s.iteration == 0) s.history[s.history_size++] = sqrt(s.rr);
  const double rho = real_part(s.rho_new);
  if (!finite(s.rr) || !finite(s.rho_new)) {
    s.stop = static_cast<int>(StopReason::nan_or_inf);
  } else if (s.rr <= s.target2) {
    s.stop = static_cast<int>(StopReason::converged);
  } else if (s.iteration >= s.max_iterations) {
    s.stop = static_cast<int>(StopReason::max_iterations);
  } else if (rho < 0.0) {
    s.stop = static_cast<int>(StopReason::indefinite_preconditioner);
  } else if (rho == 0.0) {
    s.stop = static_cast<int>(StopReason::breakdown);
  } else {
    s.beta = fresh ? from_real<T>(0) : narrow<T>((1.0 / real_part(s.rho)) * s.rho_new);
    s.rho = s.rho_new;
    s.fresh = 0;
  }
}

/// Takes up a recurrence that stopped as converged, to go on to a smaller target; cg_direction is the next phase.
template <class T>
inline void cg_resume(CgState<T>& s, double target) {
  s.stop = 0;
  s.target2 = target * target;
  s.beta = narrow<T>((1.0 / real_part(s.rho)) * s.rho_new);
  s.rho = s.rho_new;
}

}  // namespace blockjacobi::detail
