#pragma once

#include <blockjacobi/block_partition.hpp>

#include <filesystem>
#include <vector>

namespace solve {

/// Reads 0-based block pointers, blocks + 1 of them from 0 to `rows`, separated by spaces or line ends; what follows
/// a # or % is a comment. Throws UsageError naming file, line and value.
blockjacobi::BlockPartition read_block_file(const std::filesystem::path& path, blockjacobi::index_t rows);

/// Reads one number for each row, separated and commented in the same way. Throws as above.
std::vector<blockjacobi::index_t> read_label_file(const std::filesystem::path& path, blockjacobi::index_t rows);

}  // namespace solve
