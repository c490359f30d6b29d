#pragma once

#include "backend/operator_impl.hpp"
#include "core/shared/solve_control.hpp"

#include <blockjacobi/two_level.hpp>

#include <limits>

namespace blockjacobi::detail {

/// Whether conjugate gradients make headway, and what follows if they do not. Under CoarseMode::adef2 M is Hermitian
/// while Z^H r = 0. Rounding leaves a little of r in the coarse space, the recurrence makes it grow where the spectrum
/// has a gap around 1, and in the end it stalls, or creeps. From b - A x, with the start corrected, it goes on well.
class Headway {
 public:
  explicit Headway(double initial_residual = 0.0) : restart_residual_(initial_residual) {}

  /// Whether no halving of the residual has come for so long that looking for the cause is worth a wait for what is
  /// under way. CG that is well takes long for a halving, too, but seldom so long, and gets along without its past
  /// then.
  bool is_missing(const SolveControl& found) {
    if (found.residual < 0.5 * halved_) {
      halved_ = found.residual;
      halved_at_ = found.iteration;
      patience_ = 100 << vain_restarts_;
    }
    return found.iteration - halved_at_ >= patience_;
  }
  /// The cause is another: the next look comes after as long again.
  void wait() { patience_ *= 2; }

  /// Whether a recurrence may begin anew from ||b - A x|| = residual: if it has come down since the last time, else
  /// only for a drift, of which that says little as the residual may rise first, and a few times in a row.
  bool may_begin_anew(double residual, bool has_drifted) {
    if (residual < 0.5 * restart_residual_) {
      restart_residual_ = residual;
      vain_restarts_ = 0;
    } else if (!has_drifted || ++vain_restarts_ > 3) {
      return false;
    }
    halved_ = std::numeric_limits<double>::infinity();
    return true;
  }

 private:
  double restart_residual_;  ///< from which the recurrence began; in vain restarts, that before them
  int vain_restarts_ = 0;    ///< in a row
  double halved_ = std::numeric_limits<double>::infinity();
  int halved_at_ = 0;  ///< the iteration
  int patience_ = 0;
};

/// Whether M is Hermitian for Z^H r = 0 alone.
template <Scalar T>
bool may_drift(const PreconditionerImpl<T>* M) {
  return M != nullptr && M->coarse_mode() == CoarseMode::adef2;
}

/// Whether what r has in the coarse space counts: Q r, which should be zero, is a part of M^-1 r. norm(v) = ||v||; u is
/// scratch.
template <Scalar T, class Norm>
bool has_drifted(const PreconditionerImpl<T>& M, const compute_t<T>* r, compute_t<T>* u, Norm norm) {
  if (!M.correct_start(r, u)) return false;
  const double coarse = norm(u);
  M.apply(r, u);
  return coarse > 0.01 * norm(u);
}

}  // namespace blockjacobi::detail
