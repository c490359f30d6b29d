#pragma once

#include "faults/band_system.hpp"

#include <blockjacobi/blockjacobi.h>

namespace blockjacobi::test {

/// What a call of the C interface makes, destroyed behind its user.
template <class Handle, bj_status (*destroy)(Handle*)>
class Owned {
 public:
  Owned() = default;
  ~Owned() { destroy(handle_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle** place() { return &handle_; }
  operator Handle*() const { return handle_; }

 private:
  Handle* handle_ = nullptr;
};

/// Calls of the C interface up to the first that fails; its status.
template <class... Calls>
bj_status in_turn(const Calls&... calls) {
  bj_status status = BJ_SUCCESS;
  static_cast<void>((((status = calls()) == BJ_SUCCESS) && ...));
  return status;
}

/// From the set-up to the end of solves, also with a numbering of the blocks; the status of the call that failed.
bj_status solve_in_c(const bj_backend* backend, const System& system);

/// The same with a coarse level, and with a multigrid.
bj_status solve_on_levels_in_c(const bj_backend* backend, const System& system);

}  // namespace blockjacobi::test
