#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace solve {

/// "1 iteration", "2 iterations"
template <class Count>
std::string counted(Count count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

/// "1 entry", "2 entries"
template <class Count>
std::string counted(Count count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace solve
