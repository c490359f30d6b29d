#include "suggested.hpp"

#include "counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace solve {

using blockjacobi::BlockCandidate;
using blockjacobi::Suggestion;

namespace {

std::ptrdiff_t probes_of(const Suggestion& suggestion) {
  return std::ranges::count_if(suggestion.candidates, &BlockCandidate::probed);
}

std::string probes_text(const Suggestion& suggestion) { return counted(probes_of(suggestion), "probe"); }

}  // namespace

blockjacobi::SuggestOptions suggest_options(const Options& options, Solver solver) {
  blockjacobi::SuggestOptions suggest;
  const bool symmetric = solver == Solver::cg || solver == Solver::fcg;
  suggest.method = symmetric ? blockjacobi::Method::cg : blockjacobi::Method::gmres;
  suggest.rtol = options.rtol;
  suggest.restart = options.restart;
  if (options.singular != blockjacobi::SingularPolicy::fail) suggest.singular = options.singular;
  suggest.coarse = options.coarse == Coarse::automatic;  // else --coarse says whether there is one
  return suggest;
}

bool is_recommendation(const Suggestion& suggestion) {
  const auto failed = std::ranges::count_if(
      suggestion.candidates, [](const BlockCandidate& candidate) { return candidate.probed && candidate.failed; });
  const bool all_failed = failed > 0 && failed == probes_of(suggestion);
  return !all_failed && !suggestion.best().failed && std::isfinite(suggestion.best().seconds);
}

double predicted_iterations(const BlocksInfo& blocks) {
  if (!blocks.suggestion || !is_recommendation(*blocks.suggestion)) return std::numeric_limits<double>::infinity();
  return blocks.suggestion->best().iterations;
}

std::string reason(const BlocksInfo& blocks) {
  const Suggestion& suggestion = *blocks.suggestion;
  if (!is_recommendation(suggestion))
    return fmt::format("no recommendation, since {} came to nothing; taken instead: {}", probes_text(suggestion),
                       blocks.how);
  const std::string probes = probes_of(suggestion) == 0 ? "without a probe" : "by " + probes_text(suggestion);
  constexpr const char* more = "--blocks suggest shows all that was weighed";
  const BlockCandidate& best = suggestion.best();
  const BlockCandidate& scalar = suggestion.candidates.front();
  if (suggestion.candidates.size() == 1)
    return fmt::format("scalar: predicted to take {:.2f} ms, of which a look at others takes more than a twentieth",
                       1e3 * best.seconds);
  if (!suggestion.blocks_pay())
    return fmt::format("scalar: predicted to take {:.2f} ms, of which no other choice saves a twentieth, {}; {}",
                       1e3 * best.seconds, probes, more);
  const std::string against =
      std::isfinite(scalar.seconds) ? fmt::format("scalar {:.2f} ms", 1e3 * scalar.seconds) : "scalar comes to nothing";
  return fmt::format("{}, {} % of the weight in blocks: predicted to take {:.2f} ms, {}, {}; {}", best.name,
                     std::lround(100.0 * best.captured), 1e3 * best.seconds, against, probes, more);
}

Options with_suggested_coarse(Options options, const BlocksInfo& blocks) {
  if (options.coarse != Coarse::automatic) return options;
  options.coarse = Coarse::none;
  if (!blocks.suggestion || !is_recommendation(*blocks.suggestion)) return options;
  const BlockCandidate& best = blocks.suggestion->best();
  if (best.multigrid) options.coarse = Coarse::multigrid;
  if (const auto& coarse = best.coarse) {
    options.coarse = coarse->relaxed > 0 ? Coarse::relaxed : Coarse::ones;
    options.relaxed = coarse->relaxed;
    options.coarse_size = coarse->size;
  }
  return options;
}

}  // namespace solve
