#pragma once

#include <blockjacobi/blockjacobi.hpp>

#include <string_view>

namespace solve {

/// The solvers of the library, which this file alone lists.
enum class Solver { cg, fcg, minres, bicgstab, gmres, fgmres, richardson };

struct SolverTraits {
  Solver solver;
  const char* name;
  blockjacobi::CoarseMode coarse_mode;  ///< the one that two_level.hpp has for it
  bool restarts = false;
  std::string_view note = {};  ///< beside the name in --help
};
inline constexpr SolverTraits solvers[] = {
    {Solver::cg, "cg", blockjacobi::CoarseMode::adef2},
    {Solver::fcg, "fcg", blockjacobi::CoarseMode::adef2, false, " (flexible)"},
    {Solver::minres, "minres", blockjacobi::CoarseMode::additive},
    {Solver::bicgstab, "bicgstab", blockjacobi::CoarseMode::adef1},
    {Solver::gmres, "gmres", blockjacobi::CoarseMode::adef1, true},
    {Solver::fgmres, "fgmres", blockjacobi::CoarseMode::adef1, true, " (flexible)"},
    {Solver::richardson, "richardson", blockjacobi::CoarseMode::adef2}};

constexpr const SolverTraits& traits(Solver solver) noexcept { return solvers[static_cast<int>(solver)]; }

template <blockjacobi::Scalar T>
auto solver_function(Solver solver) {
  switch (solver) {
    case Solver::cg: return &blockjacobi::cg<T>;
    case Solver::fcg: return &blockjacobi::fcg<T>;
    case Solver::minres: return &blockjacobi::minres<T>;
    case Solver::bicgstab: return &blockjacobi::bicgstab<T>;
    case Solver::gmres: break;
    case Solver::fgmres: return &blockjacobi::fgmres<T>;
    case Solver::richardson: return &blockjacobi::richardson<T>;
  }
  return &blockjacobi::gmres<T>;
}

}  // namespace solve
