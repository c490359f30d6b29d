#include "option_files.hpp"

#include "usage_error.hpp"

#include <fmt/format.h>

#include <system_error>

namespace solve {

namespace {

/// Where writing to that name ends; a link may lead to a file that is not there yet.
std::filesystem::path destination(const std::filesystem::path& name) {
  constexpr int most_links = 40;  // of a chain that the system follows itself
  std::error_code ignored;
  auto path = std::filesystem::absolute(name, ignored);
  for (int links = 0; links < most_links && std::filesystem::is_symlink(path, ignored); ++links)
    path = path.parent_path() / std::filesystem::read_symlink(path, ignored);
  return std::filesystem::weakly_canonical(path, ignored);
}

void require_apart(const char* option, const std::filesystem::path& file, const std::filesystem::path& other) {
  if (file.empty() || other.empty()) return;
  std::error_code ignored;
  if (destination(file) == destination(other) || std::filesystem::equivalent(file, other, ignored))
    throw UsageError(fmt::format("{}: '{}' would overwrite '{}'", option, file.string(), other.string()));
}

}  // namespace

void require_input_file(const char* option, const std::string& path, const std::string& otherwise) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw UsageError(fmt::format("{}: {}no such file: '{}'", option, otherwise, path));
  if (std::filesystem::is_directory(path, ignored)) throw UsageError(fmt::format("{}: '{}' is a folder", option, path));
  // The header is read before the matrix, so the bytes must be there twice.
  if (!std::filesystem::is_regular_file(path, ignored))
    throw UsageError(fmt::format("{}: '{}' is no regular file: pipes and devices are not read", option, path));
}

void require_folder_of(const char* option, const std::filesystem::path& path) {
  std::error_code ignored;
  const auto folder = path.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
    throw UsageError(
        fmt::format("{}: there is no folder '{}' to write '{}' to", option, folder.string(), path.filename().string()));
  if (std::filesystem::is_directory(path, ignored))
    throw UsageError(fmt::format("{}: '{}' is a folder", option, path.string()));
}

void require_outputs_apart(const Options& options) {
  for (const auto* input :
       {&options.matrix, &options.block_file, &options.coarse_file, &options.rhs_file, &options.x0_file}) {
    require_apart("--json", options.json_file, *input);
    require_apart("--history", options.history_file, *input);
    require_apart("--plot", options.plot_file, *input);
    require_apart("--solution", options.solution_file, *input);
  }
  require_apart("--history", options.history_file, options.json_file);
  require_apart("--plot", options.plot_file, options.json_file);
  require_apart("--plot", options.plot_file, options.history_file);
  for (const auto* output : {&options.json_file, &options.history_file, &options.plot_file})
    require_apart("--solution", options.solution_file, *output);
}

}  // namespace solve
