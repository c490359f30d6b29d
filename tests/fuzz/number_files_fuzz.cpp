// Text as a file of block pointers, of labels, or of columns, for a matrix with the rows that the first byte names.
#include "expect.hpp"
#include "scratch_file.hpp"

#include "solve/block_file.hpp"
#include "solve/linear_system.hpp"
#include "solve/usage_error.hpp"

using namespace blockjacobi;

namespace {

template <class F>
void try_to(F&& read) {
  try {
    read();
  } catch (const solve::UsageError& error) {
    FUZZ_EXPECT(*error.what() != '\0');
  } catch (const ParseError& error) {
    FUZZ_EXPECT(error.line() >= 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  static const fuzz::ScratchFolder folder;
  const auto rows = static_cast<index_t>(data[0]);
  const auto path = folder.write("a.mtx", fuzz::text_of(data + 1, size - 1));
  try_to([&] { FUZZ_EXPECT(solve::read_block_file(path, rows).rows() == rows); });
  try_to([&] {
    const auto labels = solve::read_label_file(path, rows);
    FUZZ_EXPECT(labels.size() == static_cast<std::size_t>(rows));
    FUZZ_EXPECT(BlockPartition::from_labels(labels).blocks.rows() == rows);
  });
  try_to([&] {
    const auto columns = solve::read_columns<float>("--rhs", path, rows, solve::any_columns);
    FUZZ_EXPECT(columns.rows == rows && columns.cols >= 1);
    FUZZ_EXPECT(columns.values.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns.cols));
  });
  return 0;
}
