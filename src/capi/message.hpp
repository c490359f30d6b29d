#pragma once

#include <fmt/format.h>

#include <string>

namespace blockjacobi::capi {

std::string format_message(fmt::string_view format, fmt::format_args arguments);

/// fmt::format, whose machinery (190 KB in every object file that has it) is compiled once.
template <class... A>
std::string message(fmt::format_string<A...> format, A&&... arguments) {
  return format_message(format, fmt::make_format_args(arguments...));
}

}  // namespace blockjacobi::capi
