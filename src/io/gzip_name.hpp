#pragma once

#include <filesystem>

namespace blockjacobi::detail {

/// Files are compressed by their name, not by their content.
inline bool has_gzip_name(const std::filesystem::path& path) { return path.extension() == ".gz"; }

}  // namespace blockjacobi::detail
