#pragma once

#include "attempt.hpp"
#include "blocked_system.hpp"
#include "outcome.hpp"
#include "patience.hpp"
#include "report.hpp"
#include "second_choice.hpp"
#include "suggested.hpp"
#include "system.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace solve {

/// Solves with the solver and the blocks that the options name. Where the program chose one of them, and it comes to
/// nothing, another has its turn; where that cannot be had, what was there before stands. The attempt of the outcome is
/// the last one.
template <Scalar T>
class Turns {
 public:
  Turns(const Options& given, System<T>& system, Outcome& outcome)
      : given_(given), system_(system), outcome_(outcome), now_{outcome.solver, given, {}, {}, {}} {}

  std::optional<blockjacobi::DenseMatrix<T>> solve() {
    find(given_);
    run(system_.vectors().x0, true);
    if (const auto solver = second_solver(given_, now_.solver, now_.attempt))
      take_turn(solver_name(*solver, given_), "the attempt before stands", [&] {
        now_.solver = *solver;
        find(rest_of(given_));
        run(system_.vectors().x0, true);
      });
    const auto larger = next();
    if (larger && came_to_nothing(now_.attempt)) {
      const bool was_stopped = patience_ended(now_.attempt);
      const auto start = with_solved_columns();
      const auto before = now_.blocked->found;
      const char* then = was_stopped ? "on with the blocks before" : "the attempt before stands";
      const bool done = take_turn(how(*larger), then, [&] {
        find(rest_of(*larger));
        if (now_.blocked->found.blocks == before.blocks && now_.blocked->found.permutation == before.permutation)
          throw std::runtime_error("these are the same blocks");
        run(start, false);
      });
      if (!done && was_stopped) go_on();
    }
    outcome_.solver = now_.solver;
    outcome_.attempt = std::move(now_.attempt);
    return std::move(now_.x);
  }

 private:
  /// What an attempt has, and leaves.
  struct State {
    Solver solver;
    Options options;
    std::optional<BlockedSystem<T>> blocked;
    Attempt attempt;
    std::optional<blockjacobi::DenseMatrix<T>> x;
  };

  void find(const Options& options) {
    now_.attempt = {};
    now_.blocked = find_blocks(options, now_.solver, system_, now_.attempt.blocks);
    print_partition(now_.attempt.blocks, options);
    now_.options = with_suggested_coarse(options, now_.attempt.blocks);
    if (now_.attempt.blocks.suggestion) predicted_ = predicted_iterations(now_.attempt.blocks);
  }

  void run(const blockjacobi::DenseMatrix<T>& x0, bool patiently) {
    Patience patience(predicted_, now_.options.max_iterations, now_.options.max_seconds);
    now_.x = set_up_and_solve(now_.options, now_.solver, system_, *now_.blocked, x0, {}, now_.attempt,
                              patiently && next() ? &patience : nullptr);
  }

  std::optional<Options> next() const {
    return second_choice(given_, now_.options, now_.solver, now_.attempt.blocks, system_.matrix().rows(), sizeof(T));
  }
  Options rest_of(const Options& options) const { return with_what_is_left(options, given_, outcome_.given_up); }

  /// False, with what is there before, if turn() throws or cannot set up.
  template <class Turn>
  bool take_turn(const std::string& what, const char* otherwise, const Turn& turn) {
    print_labelled("retry", fmt::format("{}; now {}", how_it_was_given_up(now_.attempt, predicted_), what));
    const State before = now_;
    outcome_.given_up.push_back({before.solver, before.attempt});
    std::string failure;
    try {
      turn();
      if (now_.attempt.reason == blockjacobi::StopReason::singular_block) failure = now_.attempt.message;
    } catch (const std::bad_alloc&) {
      failure = "out of memory";
    } catch (const std::exception& error) {
      failure = error.what();
    }
    if (failure.empty()) return true;
    warn(fmt::format("no solve with {}: {}; {}", what, failure, otherwise));
    now_ = before;
    outcome_.given_up.pop_back();
    return false;
  }

  /// Where the next attempt begins. Not where this one ended: what is left of the residual there is what GMRES is slow
  /// with (cryg2500 then does not converge with clusters either, in place of 89 iterations).
  blockjacobi::DenseMatrix<T> with_solved_columns() const {
    blockjacobi::DenseMatrix<T> x = system_.vectors().x0;
    for (std::size_t k = 0; now_.x && k < now_.attempt.columns.size(); ++k) {
      if (!now_.attempt.columns[k].report.converged()) continue;
      const auto first = static_cast<blockjacobi::offset_t>(k) * x.rows;
      std::copy_n(now_.x->values.begin() + first, x.rows, x.values.begin() + first);
    }
    return x;
  }

  /// With the same blocks, from where patience ended.
  void go_on() {
    const auto x = *now_.x;
    outcome_.given_up.push_back({now_.solver, now_.attempt});
    Attempt again;
    again.blocks = now_.attempt.blocks;
    now_.attempt = std::move(again);
    print_partition(now_.attempt.blocks, now_.options);
    now_.options = rest_of(now_.options);
    run(x, false);
  }

  const Options& given_;
  System<T>& system_;
  Outcome& outcome_;
  State now_;
  double predicted_ = 0.0;
};

}  // namespace solve
