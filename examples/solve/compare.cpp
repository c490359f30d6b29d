#include "compare.hpp"

#include "counted.hpp"
#include "preconditioner.hpp"
#include "report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <tuple>

namespace solve {

namespace {

/// The word as a shell takes it.
std::string shell_word(const std::string& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=+,-@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string block_words(const Options& options) {
  switch (options.blocks) {
    case Blocks::uniform: return fmt::format("uniform --block-size {}", options.block_size);
    case Blocks::supervariables: return "supervariables";
    case Blocks::clusters: return fmt::format("clusters --block-size {}", options.block_size);
    default: return fmt::format("detect --block-size {}", options.block_size);
  }
}

std::string coarse_word(const Options& options) {
  if (options.coarse == Coarse::relaxed) return fmt::format("relaxed:{}", options.relaxed);
  const std::string file = options.coarse_file.string();
  if (options.coarse == Coarse::multigrid) return file.empty() ? "multigrid" : shell_word("multigrid:" + file);
  return options.coarse == Coarse::ones ? "ones" : shell_word("vectors:" + file);
}

/// Without the file.
std::string short_name(const Options& options) {
  if (options.coarse == Coarse::multigrid) return "multigrid";
  return options.coarse == Coarse::vectors ? "vectors" : coarse_name(options);
}

std::string ending(const Candidate& candidate) {
  if (!candidate.same_as.empty()) return "the same blocks as " + candidate.same_as;
  if (!candidate.failure.empty()) return "failed: " + candidate.failure;
  return blockjacobi::to_string(candidate.attempt.reason);
}

std::string row(const Candidate& candidate) {
  const auto& attempt = candidate.attempt;
  const bool has_ended = candidate.same_as.empty() && candidate.failure.empty();
  const auto number = [has_ended](auto value, const char* format) {
    return has_ended ? fmt::format(fmt::runtime(format), value) : std::string("-");
  };
  const ColumnSolve* worst = attempt.worst_column();
  return fmt::format("{:<27} {:>10} {:>10} {:>10} {:>10} {:>10}   {}\n", candidate.name,
                     number(attempt.whole_setup_ms(), "{:.1f}"), worst ? fmt::to_string(worst->report.iterations) : "-",
                     number(attempt.solve_ms(), "{:.1f}"), number(candidate.whole_ms(), "{:.1f}"),
                     number(static_cast<double>(attempt.bytes()) * 1e-6, "{:.2f}"), ending(candidate));
}

}  // namespace

std::vector<std::vector<Candidate>> candidates_of(const Options& options) {
  struct Choice {
    const char* name;
    Blocks blocks;
    index_t block_size;
  };
  const bool names_none = options.coarse == Coarse::automatic || options.coarse == Coarse::none;
  std::vector<std::vector<Candidate>> groups;
  for (const Choice& choice :
       {Choice{"scalar", Blocks::uniform, 1}, Choice{"supervariables", Blocks::supervariables, 32},
        Choice{"detect 32", Blocks::detect, 32}, Choice{"clusters 32", Blocks::clusters, 32},
        Choice{"clusters 256", Blocks::clusters, 256}}) {
    Candidate alone{choice.name, options, {}, {}, {}};
    alone.options.blocks = choice.blocks;
    alone.options.block_size = choice.block_size;
    alone.options.coarse = Coarse::none;
    std::vector<Coarse> levels{names_none ? Coarse::ones : options.coarse};
    if (names_none && choice.blocks == Blocks::clusters) levels.push_back(Coarse::relaxed);
    std::vector<Candidate> group{alone};
    for (const Coarse level : levels) {
      Candidate both = alone;
      both.options.coarse = level;
      both.name += ", " + short_name(both.options);
      group.push_back(std::move(both));
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::string command_line(const Candidate& candidate) {
  const Options& options = candidate.options;
  std::string line = program_name;
  for (const std::string& word : options.lasting_words) line += ' ' + shell_word(word);
  line += " --blocks " + block_words(options);
  if (options.coarse == Coarse::none) return line;
  line += " --coarse " + coarse_word(options);
  return options.coarse_size == 0 ? line : line + fmt::format(" --coarse-size {}", options.coarse_size);
}

void sort_by_time(std::vector<Candidate>& candidates) {
  const auto key = [](const Candidate& c) { return std::tuple(!c.converged(), c.converged() ? c.whole_ms() : 0.0); };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
}

void print_candidate(const Candidate& candidate) {
  const ColumnSolve* worst = candidate.attempt.worst_column();
  print_labelled("candidate",
                 fmt::format("{}: {}{}", candidate.name, ending(candidate),
                             worst ? fmt::format(" after {}, {:.1f} ms", counted(worst->report.iterations, "iteration"),
                                                 candidate.whole_ms())
                                   : ""));
}

void print_comparison(const Outcome& outcome, const Options& options) {
  std::string table = fmt::format("{:<27} {:>10} {:>10} {:>10} {:>10} {:>10}   {}\n", "", "set-up ms", "iterations",
                                  "solve ms", "whole ms", "memory MB", "outcome");
  for (const Candidate& candidate : outcome.candidates) table += row(candidate);
  print_labelled("compare", table);
  if (options.max_seconds > 0.0)
    print_labelled("", fmt::format("set-up and solve of each may take {} s (--max-seconds)", options.max_seconds));
  const Candidate& best = outcome.candidates.front();
  if (best.converged())
    print_labelled("winner", fmt::format("{}: {:.1f} ms\n{}", best.name, best.whole_ms(), command_line(best)));
  else
    print_labelled("winner", "none: no candidate converged");
  print_labelled("outcome", outcome.attempt.message);
}

}  // namespace solve
