#pragma once

#include <stdexcept>

namespace solve {

/// The command line or an input does not make sense; the message names the option or file, line and value.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace solve
