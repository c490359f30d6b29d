#pragma once

#include <functional>
#include <string>

namespace generate {

/// What a command line asks for.
struct Request {
  std::function<void()> work;  ///< writes the file and throws; none if there is nothing to write
  int status = 0;              ///< of the program then: 0 after --help, 2 for a command line that is wrong
};

/// The command line without folders: it stands in the file and does not depend on where it was written.
std::string command_line(int argc, char** argv);

/// Reads the command line; says what is wrong with it on stderr.
Request parse_options(int argc, char** argv);

}  // namespace generate
