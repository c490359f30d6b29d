#pragma once

#include "attempt.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace solve {

/// What --compare tries: scalar, supervariables, detect 32, clusters 32 and 256, one group a choice of blocks, in which
/// the first has no coarse level and the second the one that the options name, or else vectors of ones; then clusters
/// have a third with relaxed ones, which cost too much to try them on blocks of rows that are coupled less.
std::vector<std::vector<Candidate>> candidates_of(const Options& options);

/// The words by which the candidate alone is solved.
std::string command_line(const Candidate& candidate);

/// Those that converged by their whole time, the others behind; equal ones in the order of candidates_of().
void sort_by_time(std::vector<Candidate>& candidates);

/// A line when a candidate has ended, and the table of all.
void print_candidate(const Candidate& candidate);
void print_comparison(const Outcome& outcome, const Options& options);

/// Runs work(); what it throws becomes the failure of the candidates.
template <class Work>
void survive(std::span<Candidate> candidates, Work&& work) {
  const auto fail = [&](const char* what) {
    for (Candidate& candidate : candidates) candidate.failure = what;
  };
  try {
    work();
  } catch (const std::bad_alloc&) {
    fail("out of memory");
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

/// Tries all candidates, one after the other, and takes the attempt of the fastest. What happens but once in a program
/// (threads start, on CUDA kernels are loaded) happens in rehearsals of one iteration: on CUDA of every candidate, else
/// of the first.
template <Scalar T>
void compare(const Options& options, System<T>& system, Outcome& outcome) {
  bool rehearse = true;
  struct Tried {
    std::size_t first, candidates;  // of a group
    blockjacobi::BlockPartition contiguous;
  };
  std::vector<Tried> tried;
  for (auto& group : candidates_of(options)) {
    survive(group, [&] {
      BlocksInfo info;
      if (rehearse) static_cast<void>(find_blocks(group.front().options, outcome.solver, system, info));
      const auto blocked = find_blocks(group.front().options, outcome.solver, system, info);
      const auto same = std::find_if(tried.begin(), tried.end(), [&](const auto& other) {
        return !info.renumbered && other.candidates == group.size() && other.contiguous == blocked.found.blocks;
      });
      if (same != tried.end()) {
        for (std::size_t k = 0; k < group.size(); ++k) group[k].same_as = outcome.candidates[same->first + k].name;
        return;
      }
      if (!info.renumbered) tried.push_back({outcome.candidates.size(), group.size(), blocked.found.blocks});
      for (Candidate& candidate : group) {
        survive({&candidate, 1}, [&] {
          const Narration narration{false, candidate.name};
          candidate.attempt.blocks = info;
          if (rehearse) {
            Attempt rehearsal = candidate.attempt;
            Options once = candidate.options;
            once.max_iterations = 1;
            set_up_and_solve(once, outcome.solver, system, blocked, system.vectors().x0, narration, rehearsal);
          }
          set_up_and_solve(candidate.options, outcome.solver, system, blocked, system.vectors().x0, narration,
                           candidate.attempt);
        });
        rehearse = system.backend().memory_space() != blockjacobi::MemorySpace::host;
      }
    });
    for (const Candidate& candidate : group) print_candidate(candidate);
    std::move(group.begin(), group.end(), std::back_inserter(outcome.candidates));
  }
  sort_by_time(outcome.candidates);
  outcome.attempt = outcome.candidates.front().attempt;
}

}  // namespace solve
