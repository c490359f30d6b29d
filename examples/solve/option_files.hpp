#pragma once

#include "options.hpp"

#include <filesystem>
#include <string>

namespace solve {

// What is wrong with the files that the command line names is said before anything is read: each throws UsageError.

/// The file can be read; `otherwise` says what else the word could have been.
void require_input_file(const char* option, const std::string& path, const std::string& otherwise = "");

/// There is a folder to write the file to: a long solve should not end in a report that cannot be written.
void require_folder_of(const char* option, const std::filesystem::path& path);

/// Nothing that is read is written, and no file is written twice.
void require_outputs_apart(const Options& options);

}  // namespace solve
