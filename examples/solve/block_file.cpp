#include "block_file.hpp"

#include "usage_error.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace solve {

using blockjacobi::index_t;

namespace {

/// Collects the pointers and knows where it stands in the file.
class BlockPointers {
 public:
  BlockPointers(const std::filesystem::path& path, index_t rows) : path_(path.string()), rows_(rows) {}

  void read_line(std::string line) {
    ++line_number_;
    std::istringstream words(line.substr(0, line.find_first_of("#%")));
    for (std::string word; words >> word;) add(parse(word));
  }

  std::vector<index_t> finish() && {
    if (pointers_.empty()) fail("there are no block pointers");
    if (pointers_.back() != rows_)
      fail(fmt::format("the last block pointer is {}, but the matrix has {} rows", pointers_.back(), rows_));
    return std::move(pointers_);
  }

 private:
  index_t parse(const std::string& word) const {
    index_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size())
      fail(fmt::format("'{}' is not a block pointer", word));
    return value;
  }

  void add(index_t pointer) {
    if (pointers_.empty() && pointer != 0) fail(fmt::format("the first block pointer is {}, not 0", pointer));
    if (pointer > rows_) fail(fmt::format("block pointer {} is past the {} rows of the matrix", pointer, rows_));
    if (!pointers_.empty()) {
      const index_t before = pointers_.back();
      const auto block = pointers_.size() - 1;
      if (pointer <= before) fail(fmt::format("block {}: pointer {} does not follow {}", block, pointer, before));
      if (pointer - before > blockjacobi::max_block_size)
        fail(fmt::format("block {} has {} rows ({}..{}), more than {}", block, pointer - before, before, pointer - 1,
                         blockjacobi::max_block_size));
    }
    pointers_.push_back(pointer);
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw UsageError(fmt::format("{}:{}: {}", path_, line_number_, message));
  }

  std::string path_;
  index_t rows_;
  long line_number_ = 0;
  std::vector<index_t> pointers_;
};

}  // namespace

blockjacobi::BlockPartition read_block_file(const std::filesystem::path& path, index_t rows) {
  std::ifstream file(path);
  if (!file) throw UsageError(fmt::format("{}: cannot be opened", path.string()));
  BlockPointers pointers(path, rows);
  for (std::string line; std::getline(file, line);) pointers.read_line(line);
  if (file.bad()) throw UsageError(fmt::format("{}: cannot be read", path.string()));
  return blockjacobi::BlockPartition::from_offsets(std::move(pointers).finish());
}

}  // namespace solve
