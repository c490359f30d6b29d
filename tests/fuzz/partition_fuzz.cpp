// Partitions, permutations and patterns from any numbers: they are refused with a message or hold what they promise.
#include "csr_input.hpp"
#include "expect.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <algorithm>
#include <vector>

using namespace blockjacobi;

namespace {

template <class F>
void try_to(F&& f) {
  try {
    f();
  } catch (const InvalidArgument& error) {
    FUZZ_EXPECT(*error.what() != '\0');
  }
}

void expect_partition(const BlockPartition& partition, index_t rows, index_t largest) {
  FUZZ_EXPECT(partition.rows() == rows);
  const auto offsets = partition.offsets();
  FUZZ_EXPECT(!offsets.empty() && offsets.front() == 0 && offsets.back() == rows);
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b)
    FUZZ_EXPECT(offsets[b] < offsets[b + 1] && offsets[b + 1] - offsets[b] <= largest);
}

void expect_permutation(const Permutation& permutation) {
  std::vector<index_t> order(permutation.order().begin(), permutation.order().end());
  std::ranges::sort(order);
  for (std::size_t k = 0; k < order.size(); ++k) FUZZ_EXPECT(order[k] == static_cast<index_t>(k));
  FUZZ_EXPECT(permutation.inverse().inverse() == permutation);
}

DetectOptions detect_options(fuzz::Input& input) {
  DetectOptions options;
  options.max_size = input.index(-1, 20);
  options.tolerance = input.real();
  options.merge = static_cast<Merge>(input.index(0, 3));
  options.coupling = input.real();
  return options;
}

template <Scalar T, Offset O>
void detect(fuzz::Input& input) {
  const fuzz::CsrInput<T, O> csr(input);
  const auto view = csr.view();
  try_to([&] {
    const auto options = detect_options(input);
    expect_partition(BlockPartition::detect(view, options), view.rows, options.max_size);
  });
  try_to([&] {
    const auto matrix = CsrMatrix<T>::from_view(view);
    validate(matrix.view());
    for (index_t row = 0; row < matrix.rows(); ++row) {
      const auto r = static_cast<std::size_t>(row);
      const auto columns =
          matrix.columns().subspan(static_cast<std::size_t>(matrix.row_offsets()[r]),
                                   static_cast<std::size_t>(matrix.row_offsets()[r + 1] - matrix.row_offsets()[r]));
      FUZZ_EXPECT(std::ranges::adjacent_find(columns, std::greater_equal<>()) == columns.end());
    }
  });
  try_to([&] {
    const auto order = input.indices(20, -1, 20);
    const PermutedMatrix<T> permuted(view, Permutation::from_order(order));
    validate(permuted.view());
    FUZZ_EXPECT(permuted.nnz() == view.nnz);
  });
}

void offsets(fuzz::Input& input) {
  const auto offsets = input.indices(20, -2, 600);
  try_to([&] { expect_partition(BlockPartition::from_offsets(offsets), offsets.back(), max_block_size); });
}

void labels(fuzz::Input& input) {
  const auto labels = input.indices(600, -1, 2);
  try_to([&] {
    const auto found = BlockPartition::from_labels(labels);
    expect_partition(found.blocks, static_cast<index_t>(labels.size()), max_block_size);
    expect_permutation(found.permutation);
    const auto permuted = found.permutation.to_permuted(labels);
    for (index_t b = 0; b < found.blocks.blocks(); ++b) {
      const auto first = permuted.begin() + found.blocks.offsets()[static_cast<std::size_t>(b)];
      FUZZ_EXPECT(std::all_of(first, first + found.blocks.block_size(b), [&](index_t l) { return l == *first; }));
    }
  });
}

void permutation(fuzz::Input& input) {
  try_to([&] { expect_permutation(Permutation::from_order(input.indices(20, -1, 20))); });
}

void uniform(fuzz::Input& input) {
  const index_t rows = input.index(-1, 2000), size = input.index(-1, 600);
  try_to([&] { expect_partition(BlockPartition::uniform(rows, size), rows, size); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  fuzz::Input input(data, size);
  switch (input.index(0, 7)) {
    case 0: detect<double, std::int32_t>(input); break;
    case 1: detect<std::complex<float>, std::int64_t>(input); break;
    case 2: detect<float, std::int64_t>(input); break;
    case 3: offsets(input); break;
    case 4: labels(input); break;
    case 5: permutation(input); break;
    default: uniform(input); break;
  }
  return 0;
}
