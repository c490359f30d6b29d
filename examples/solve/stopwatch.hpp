#pragma once

#include <blockjacobi/backend.hpp>

#include <chrono>

namespace solve {

/// Wall time of `work` in milliseconds, with all that it enqueued.
template <class Work>
double milliseconds(const blockjacobi::Backend& backend, Work&& work) {
  backend.synchronize();
  const auto start = std::chrono::steady_clock::now();
  work();
  backend.synchronize();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace solve
