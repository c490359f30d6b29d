#include "capi/message.hpp"

namespace blockjacobi::capi {

std::string format_message(fmt::string_view format, fmt::format_args arguments) {
  return fmt::vformat(format, arguments);
}

}  // namespace blockjacobi::capi
