#pragma once

#include <blockjacobi/error.hpp>

#include <string>

namespace blockjacobi::test {

/// What the InvalidArgument that f() throws says, or "no InvalidArgument".
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const InvalidArgument& e) {
    return e.what();
  }
  return "no InvalidArgument";
}

}  // namespace blockjacobi::test
