#include "block_file.hpp"

#include "counted.hpp"
#include "usage_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace solve {

using blockjacobi::index_t;

namespace {

/// The word as it may stand in a message: in quotes, shortened, without control characters.
std::string quoted(const std::string& word) {
  constexpr std::size_t longest = 60;
  std::string text;
  for (const char c : word.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte >= 0x20 && byte < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return fmt::format("'{}{}'", text, word.size() > longest ? "..." : "");
}

/// Reads numbers and knows where it stands in the file.
class NumberFile {
 public:
  NumberFile(const std::filesystem::path& path, const char* what) : path_(path.string()), what_(what), file_(path) {
    if (!file_) throw UsageError(fmt::format("{}: cannot be opened", path_));
  }

  /// take(number) for each.
  template <class Take>
  void read(Take&& take) {
    for (std::string line; std::getline(file_, line);) {
      if (++line_number_ == 1 && line.starts_with("\x1f\x8b")) fail("gzip-packed data; unpack the file first");
      std::istringstream words(line.substr(0, line.find_first_of("#%")));
      for (std::string word; words >> word;) take(parse(word));
    }
    if (file_.bad()) throw UsageError(fmt::format("{}: cannot be read", path_));
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw UsageError(fmt::format("{}:{}: {}", path_, std::max(line_number_, decltype(line_number_){1}), message));
  }

 private:
  index_t parse(const std::string& word) const {
    index_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size())
      fail(fmt::format("{} is not a {}", quoted(word), what_));
    return value;
  }

  std::string path_;
  const char* what_;
  std::ifstream file_;
  long line_number_ = 0;
};

void require_next(const NumberFile& file, const std::vector<index_t>& pointers, index_t pointer, index_t rows) {
  if (pointers.empty() && pointer != 0) file.fail(fmt::format("the first block pointer is {}, not 0", pointer));
  if (pointer > rows)
    file.fail(fmt::format("block pointer {} is past the {} of the matrix", pointer, counted(rows, "row")));
  if (pointers.empty()) return;
  const index_t before = pointers.back();
  const auto block = pointers.size() - 1;
  if (pointer <= before) file.fail(fmt::format("block {}: pointer {} does not follow {}", block, pointer, before));
  if (pointer - before > blockjacobi::max_block_size)
    file.fail(fmt::format("block {} has {} rows ({}..{}), more than {}", block, pointer - before, before, pointer - 1,
                          blockjacobi::max_block_size));
}

}  // namespace

blockjacobi::BlockPartition read_block_file(const std::filesystem::path& path, index_t rows) {
  NumberFile file(path, "block pointer");
  std::vector<index_t> pointers;
  file.read([&](index_t pointer) {
    require_next(file, pointers, pointer, rows);
    pointers.push_back(pointer);
  });
  if (pointers.empty()) file.fail("there are no block pointers");
  if (pointers.back() != rows)
    file.fail(
        fmt::format("the last block pointer is {}, but the matrix has {}", pointers.back(), counted(rows, "row")));
  return blockjacobi::BlockPartition::from_offsets(std::move(pointers));
}

std::vector<index_t> read_label_file(const std::filesystem::path& path, index_t rows) {
  NumberFile file(path, "label");
  std::vector<index_t> labels;
  const auto limit = static_cast<std::size_t>(rows);
  std::unordered_map<index_t, index_t> uses;
  file.read([&](index_t label) {
    if (labels.size() == limit)
      file.fail(fmt::format("there are more labels than the {} of the matrix", counted(rows, "row")));
    if (++uses[label] > blockjacobi::max_block_size)
      file.fail(fmt::format("more than {} rows have the label {}", blockjacobi::max_block_size, label));
    labels.push_back(label);
  });
  if (labels.size() != limit)
    file.fail(
        fmt::format("the file has {}, but the matrix has {}", counted(labels.size(), "label"), counted(rows, "row")));
  return labels;
}

}  // namespace solve
