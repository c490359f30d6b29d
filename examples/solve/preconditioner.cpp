#include "preconditioner.hpp"

#include <fmt/format.h>

namespace solve {

std::string coarse_name(const Options& options) {
  switch (options.coarse) {
    case Coarse::automatic: return "auto";
    case Coarse::none: return "none";
    case Coarse::ones: return "ones";
    case Coarse::relaxed: return fmt::format("relaxed {}", options.relaxed);
    case Coarse::vectors: break;
  }
  return fmt::format("vectors from {}", options.coarse_file.string());
}

blockjacobi::CoarseMode coarse_mode(Solver solver) {
  using blockjacobi::CoarseMode;
  switch (solver) {
    case Solver::cg:
    case Solver::fcg:
    case Solver::richardson: return CoarseMode::adef2;
    case Solver::gmres:
    case Solver::fgmres:
    case Solver::bicgstab: return CoarseMode::adef1;
    case Solver::minres: break;
  }
  return CoarseMode::additive;
}

}  // namespace solve
