#include "preconditioner.hpp"

#include <fmt/format.h>

namespace solve {

std::string coarse_name(const Options& options) {
  switch (options.coarse) {
    case Coarse::automatic: return "auto";
    case Coarse::none: return "none";
    case Coarse::ones: return "ones";
    case Coarse::relaxed: return fmt::format("relaxed {}", options.relaxed);
    case Coarse::vectors: return fmt::format("vectors from {}", options.coarse_file.string());
    case Coarse::multigrid: break;
  }
  return options.coarse_file.empty() ? "multigrid" : fmt::format("multigrid from {}", options.coarse_file.string());
}

}  // namespace solve
