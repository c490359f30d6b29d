#include "core/message.hpp"

namespace blockjacobi::detail {

std::string format_message(fmt::string_view format, fmt::format_args arguments) {
  return fmt::vformat(format, arguments);
}

}  // namespace blockjacobi::detail
