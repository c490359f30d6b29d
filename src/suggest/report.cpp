#include <blockjacobi/suggest.hpp>

#include "core/message.hpp"

#include <cmath>

namespace blockjacobi {

namespace {

/// A JSON number; null for what JSON has no number for.
std::string number(double value) { return std::isfinite(value) ? detail::message("{}", value) : "null"; }

}  // namespace

std::string to_text(const Suggestion& s) {
  std::string text = detail::message("{:<24} {:>8} {:>9} {:>9} {:>10} {:>11} {:>10}  {}\n", "blocks", "captured", "MB",
                                     "set-up/ms", "iter./ms", "iterations", "time/ms", "how");
  for (std::size_t i = 0; i < s.candidates.size(); ++i) {
    const BlockCandidate& c = s.candidates[i];
    const std::string how = c.failed   ? "the probe broke down"
                            : c.probed ? detail::message("{} iteration{} reduced ||r|| to {:.1e}", c.probe_iterations,
                                                         c.probe_iterations == 1 ? "" : "s", c.probe_reduction)
                            : i > 0 && c.captured > 0.0 ? "scaled by captured"
                                                        : "presumed";
    text += detail::message("{:<24} {:>6.1f} % {:>9.2f} {:>9.2f} {:>10.4f} {:>11.0f} {:>10.2f}  {}{}\n", c.name,
                            100.0 * c.captured, static_cast<double>(c.bytes) * 1e-6, 1e3 * c.setup_seconds,
                            1e3 * c.iteration_seconds, c.iterations, 1e3 * c.seconds, how,
                            i == s.recommended ? "  <- recommended" : "");
  }
  if (s.candidates.empty()) return text;
  if (s.non_finite)
    return text + detail::message("recommended: scalar, since element ({}, {}) of the matrix is NaN or Inf\n",
                                  s.non_finite->first, s.non_finite->second);
  if (s.blocks_pay()) return text + detail::message("recommended: {}\n", s.best().name);
  if (s.candidates.size() == 1 && !s.best().probed) return text + "recommended: scalar, without a look at others\n";
  return text + (s.best().failed ? "recommended: scalar, since every probe broke down\n"
                                 : "recommended: scalar, blocks do not pay\n");
}

std::string to_json(const Suggestion& s) {
  std::string rows;
  for (const BlockCandidate& c : s.candidates)
    rows += detail::message(
        "{}\n    {{\"name\": \"{}\", \"blocks\": {}, \"largest_block\": {}, \"renumbered\": {}, "
        "\"coarse\": {}, \"multigrid\": {}, \"captured\": {}, \"bytes\": {}, "
        "\"setup_seconds\": {}, \"iteration_seconds\": {}, \"probed\": {}, \"failed\": {}, \"probe_iterations\": {}, "
        "\"probe_reduction\": {}, \"iterations\": {}, \"seconds\": {}}}",
        rows.empty() ? "" : ",", c.name, c.blocks.blocks(), c.blocks.largest_block(), !c.permutation.is_identity(),
        c.coarse.has_value(), c.multigrid.has_value(), number(c.captured), c.bytes, number(c.setup_seconds),
        number(c.iteration_seconds), c.probed, c.failed, c.probe_iterations, number(c.probe_reduction),
        number(c.iterations), number(c.seconds));
  return detail::message(
      "{{\n  \"recommended\": {},\n  \"blocks_pay\": {},\n  \"probe_seconds\": {},\n  \"probe_cost\": {},\n  "
      "\"probe_budget\": {},\n  \"non_finite\": {},\n  \"candidates\": [{}\n  ]\n}}\n",
      s.candidates.empty() ? "null" : detail::message("\"{}\"", s.best().name), s.blocks_pay(), number(s.probe_seconds),
      number(s.probe_cost), number(s.probe_budget),
      s.non_finite ? detail::message("[{}, {}]", s.non_finite->first, s.non_finite->second) : "null", rows);
}

}  // namespace blockjacobi
