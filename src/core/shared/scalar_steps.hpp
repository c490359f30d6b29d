#pragma once

#include "core/shared/singular_rule.hpp"
#include "core/shared/solve_control.hpp"
#include "core/shared/vector_pass.hpp"

// Recurrences of the solvers that are made of passes alone; those with kernels of their own have files of their own.

namespace blockjacobi::detail {

/// Scalars of preconditioned MINRES (Paige and Saunders, 1975), in backend memory. C is the compute scalar.
///
/// Lanczos: z = M^-1 v, v_new = (A z - delta v) / gamma - (gamma / gamma_old) v_old, where gamma = sqrt(v^H z) is the
/// norm of v and delta = z^H A z / gamma^2. The rotations (c, s) of the two iterations before bring the tridiagonal
/// matrix of delta and gamma to triangular form, whose diagonal is rho. w is kept times rho, since rho is known only
/// after the next application of M.
template <class C>
struct MinresState : SolveControl {
  double gamma;      ///< sqrt(v^H M^-1 v)
  double gamma_old;  ///< that of the iteration before
  double diagonal;   ///< of the triangular matrix before the rotation of this iteration
  double rho;        ///< after it
  double rho_old;
  double size;  ///< of the tridiagonal matrix: its largest element so far
  double c, c_old;
  double s, s_old;
  double eta;               ///< its modulus is the norm that falls, of r in that of M^-1
  C from_q, from_v, old_v;  ///< v = from_q q + from_v v + old_v v_old, q = A z
  C from_z, from_w, old_w;  ///< w = from_z z + from_w w + old_w w_old
  C step, back;             ///< x += step w, r = shrink r + back v
  C shrink;
};

/// What stands there before the first phase; the vectors w, w_old and v_old are zero then.
template <class C>
inline MinresState<C> minres_initial_state(int max_iterations) {
  MinresState<C> s{};
  s.max_iterations = max_iterations;
  s.gamma_old = 1.0;
  s.rho = s.rho_old = 1.0;
  s.c = 1.0;
  return s;
}

/// A coefficient as the vectors take it.
template <class C>
BLOCKJACOBI_HD inline C minres_coefficient(double a) {
  return from_real<C>(static_cast<arithmetic_real_t<C>>(a));
}

/// v^H M^-1 v of the first vector or the next one. False if M shows not to be positive definite; the stop is set then,
/// unless the solve has converged.
template <class C>
BLOCKJACOBI_HD inline bool minres_set_norm(MinresState<C>& s, accumulator_t<C> vz) {
  const double square = real_part(vz);
  if (s.stop == 0 && !finite(vz)) s.stop = static_cast<int>(StopReason::nan_or_inf);
  if (s.stop == 0 && square < 0.0) s.stop = static_cast<int>(StopReason::indefinite_preconditioner);
  s.gamma_old = s.gamma;
  s.gamma = finite(vz) && square > 0.0 ? sqrt(square) : 0.0;
  return s.stop == 0;
}

/// After r = b - A x and z = M^-1 v with v = r; dots: ||r||^2, v^H z.
template <class C>
struct MinresBegin {
  using State = MinresState<C>;
  BLOCKJACOBI_HD static void run(State& s, const accumulator_t<C>* dots) {
    end_iteration(s, true, real_part(dots[0]), finite(dots[1]));
    minres_set_norm(s, dots[1]);
    s.gamma_old = 1.0;
    s.eta = s.gamma;
  }
};

/// After q = A z; dots: z^H q. The next v, and the direction w but for the factor 1 / rho.
template <class C>
struct MinresLanczos {
  using State = MinresState<C>;
  BLOCKJACOBI_HD static void run(State& s, const accumulator_t<C>* dots) {
    const double zq = real_part(dots[0]);
    if (!finite(dots[0])) {
      s.stop = static_cast<int>(StopReason::nan_or_inf);
      return;
    }
    // gamma = 0: the Krylov space is exhausted, and the residual is not small.
    const double delta = s.gamma > 0.0 ? zq / s.gamma / s.gamma : 0.0;
    const double above = s.s * delta + s.c_old * s.c * s.gamma;
    const double far_above = s.s_old * s.gamma;
    s.size = fmax(s.size, fabs(delta));
    s.diagonal = s.c * delta - s.c_old * s.s * s.gamma;
    s.from_q = minres_coefficient<C>(1.0 / s.gamma);
    s.from_v = minres_coefficient<C>(-delta / s.gamma);
    s.old_v = minres_coefficient<C>(-s.gamma / s.gamma_old);
    s.from_z = s.from_q;
    s.from_w = minres_coefficient<C>(-above / s.rho);
    s.old_w = minres_coefficient<C>(-far_above / s.rho_old);
    const bool usable = finite(s.from_q) && finite(s.from_v) && finite(s.old_v) && finite(s.from_w) && finite(s.old_w);
    if (!usable) s.stop = static_cast<int>(StopReason::breakdown);
  }
};

/// After z = M^-1 v of the next v; dots: v^H z. The rotation, and the steps of x and r.
template <class C>
struct MinresRotate {
  using State = MinresState<C>;
  BLOCKJACOBI_HD static void run(State& s, const accumulator_t<C>* dots) {
    if (!minres_set_norm(s, dots[0])) return;
    const double rho = hypot(s.diagonal, s.gamma);
    const double c = s.diagonal / rho, sine = s.gamma / rho;
    s.step = minres_coefficient<C>(c * s.eta / rho);
    if (!(rho > 0.0) || !finite(s.step)) {
      s.stop = static_cast<int>(StopReason::breakdown);
      return;
    }
    // ||A r|| / ||r||, in the norm of M^-1 and before this step: if it is rounding, as for singular A and b outside of
    // its range, x has come as far as it can, and a step would spoil it.
    const double reach = hypot(s.diagonal, s.c * s.gamma);
    s.size = fmax(s.size, s.gamma);
    if (reach <= 20 * static_cast<double>(machine_epsilon<arithmetic_real_t<C>>()) * s.size) {
      s.stop = static_cast<int>(StopReason::stagnation);
      return;
    }
    s.back = -s.step;
    s.shrink = minres_coefficient<C>(sine * sine);
    s.eta *= -sine;
    s.rho_old = s.rho;
    s.rho = rho;
    s.c_old = s.c;
    s.c = c;
    s.s_old = s.s;
    s.s = sine;
  }
};

/// After the update of x and r; dots: ||r||^2.
template <class C>
struct MinresOutcome {
  using State = MinresState<C>;
  BLOCKJACOBI_HD static void run(State& s, const accumulator_t<C>* dots) {
    end_iteration(s, false, real_part(dots[0]), true);
  }
};

/// Scalars of damped Richardson iteration, in backend memory.
template <class C>
struct RichardsonState : SolveControl {
  C relaxation;  ///< omega in x += omega M^-1 r
  int fresh;     ///< 1: no step was taken yet
};

template <class C>
inline RichardsonState<C> richardson_initial_state(int max_iterations, double relaxation) {
  RichardsonState<C> s{};
  s.max_iterations = max_iterations;
  s.relaxation = from_real<C>(static_cast<arithmetic_real_t<C>>(relaxation));
  s.fresh = 1;
  return s;
}

/// After r = b - A x; dots: ||r||^2.
template <class C>
struct RichardsonOutcome {
  using State = RichardsonState<C>;
  BLOCKJACOBI_HD static void run(State& s, const accumulator_t<C>* dots) {
    end_iteration(s, s.fresh != 0, real_part(dots[0]), true);
    s.fresh = 0;
  }
};

/// The scalar steps that a VectorPass may end with. A step is a struct with the State that it belongs to and
///   BLOCKJACOBI_HD static void run(State& state, const accumulator_t<C>* dots),
/// which is called only while the state has not stopped.
enum class ScalarStep : int { none, minres_begin, minres_lanczos, minres_rotate, minres_outcome, richardson_outcome };

/// f(the step as a struct), and nothing for none. C is the compute scalar.
template <class C, class F>
void with_step(ScalarStep step, F&& f) {
  switch (step) {
    case ScalarStep::none: return;
    case ScalarStep::minres_begin: return f(MinresBegin<C>{});
    case ScalarStep::minres_lanczos: return f(MinresLanczos<C>{});
    case ScalarStep::minres_rotate: return f(MinresRotate<C>{});
    case ScalarStep::minres_outcome: return f(MinresOutcome<C>{});
    case ScalarStep::richardson_outcome: return f(RichardsonOutcome<C>{});
  }
}

}  // namespace blockjacobi::detail
