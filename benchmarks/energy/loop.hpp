#pragma once

#include <chrono>
#include <functional>

namespace bench {

/// Of one call.
struct Spent {
  double seconds, joules;
};

/// Repeats `call`, which returns when it is done, for `seconds` or longer.
inline Spent repeat(double seconds, const std::function<double()>& joules, const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  call();
  const auto begin = Clock::now();
  const double before = joules();
  double elapsed = 0, calls = 0;
  for (; elapsed < seconds; ++calls) {
    call();
    elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  return {elapsed / calls, (joules() - before) / calls};
}

}  // namespace bench
