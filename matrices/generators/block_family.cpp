#include "matrices/generators/block_family.hpp"

#include "matrices/generators/csr_rows.hpp"
#include "matrices/generators/dense_block.hpp"
#include "matrices/generators/require.hpp"
#include "matrices/generators/scalar_cast.hpp"

#include <blockjacobi/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <exception>

namespace blockjacobi::matrices {

namespace {

using detail::Wide;

constexpr const char* generator = "block_family";

void require_options(const BlockFamilyOptions& options) {
  if (options.sizes.empty()) throw InvalidArgument(fmt::format("{}: sizes is empty, must hold a size", generator));
  for (const index_t size : options.sizes) {
    detail::require_at_least(generator, "sizes", size, 1);
    detail::require_at_most(generator, "sizes", size, max_block_size);
  }
  detail::require_at_least(generator, "blocks", options.blocks, 1);
  detail::require_at_least(generator, "condition", options.condition, 1.0);
  detail::require_at_least(generator, "grading", options.grading, 1.0);
  detail::require_at_least(generator, "singular_every", options.singular_every, 1);
  detail::require_half_open(generator, "coupling", options.coupling, 0.0, 0.5);
}

bool is_singular(BlockFamily family) {
  return family == BlockFamily::zero_row || family == BlockFamily::duplicate_row ||
         family == BlockFamily::rank_deficient;
}

BlockFamily family_of(const BlockFamilyOptions& options, index_t block) {
  if (is_singular(options.family) && block % options.singular_every != 0) return BlockFamily::random;
  return options.family;
}

template <Scalar T>
class BlockFamilyMatrix {
 public:
  explicit BlockFamilyMatrix(const BlockFamilyOptions& options)
      : options_(options), offsets_(block_family_offsets(options)), blocks_(static_cast<std::size_t>(options.blocks)) {
    block_of_row_.reserve(static_cast<std::size_t>(rows()));
    for (index_t block = 0; block < options.blocks; ++block)
      block_of_row_.insert(block_of_row_.end(), static_cast<std::size_t>(size(block)), block);
    std::exception_ptr failure;  // none may leave the parallel region
#pragma omp parallel for schedule(dynamic) if (rows() >= detail::parallel_rows)
    for (index_t block = 0; block < options.blocks; ++block) {
      try {
        make(block);
      } catch (...) {
#pragma omp critical(blockjacobi_block_family)
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

  index_t rows() const { return offsets_.back(); }

  index_t count(index_t row) const {
    const index_t block = block_of(row);
    const index_t i = row - first(block);
    return size(block) + is_coupled(block - 1, i) + is_coupled(block, i);
  }

  void fill(index_t row, detail::RowWriter<T>& writer) const {
    const index_t block = block_of(row);
    const index_t i = row - first(block);
    const Block& own = blocks_[static_cast<std::size_t>(block)];
    if (is_coupled(block - 1, i))
      writer.push(first(block - 1) + i, blocks_[static_cast<std::size_t>(block - 1)].from_next[index(i)]);
    for (index_t j = 0; j < size(block); ++j)
      writer.push(first(block) + j, own.values[index(i) * index(size(block)) + index(j)]);
    if (is_coupled(block, i)) writer.push(first(block + 1) + i, own.to_next[index(i)]);
  }

 private:
  struct Block {
    std::vector<T> values;     ///< row-major
    std::vector<T> to_next;    ///< entry (i, i of the next block)
    std::vector<T> from_next;  ///< entry (i of the next block, i)
  };

  static std::size_t index(index_t i) { return static_cast<std::size_t>(i); }
  index_t first(index_t block) const { return offsets_[index(block)]; }
  index_t size(index_t block) const { return first(block + 1) - first(block); }
  index_t block_of(index_t row) const { return block_of_row_[index(row)]; }

  index_t couplings(index_t block) const {
    if (options_.coupling == 0.0 || block < 0 || block + 1 >= options_.blocks) return 0;
    return std::min(size(block), size(block + 1));
  }
  /// Whether entry i of `block` is coupled with entry i of the next.
  bool is_coupled(index_t block, index_t i) const { return i < couplings(block); }

  /// From a stream of random numbers of its own, so that threads do not matter.
  void make(index_t number) {
    detail::Random random(options_.seed, static_cast<std::uint64_t>(number));
    Block& block = blocks_[index(number)];
    const auto dense = detail::dense_block<Wide<T>>(family_of(options_, number), size(number), options_.condition,
                                                    options_.grading, random);
    block.values.reserve(dense.size());
    for (const Wide<T>& value : dense) block.values.push_back(detail::narrow<T>(value));

    // At most two couplings a row and a column of modulus <= `strength`: the norm of all is <= 2 strength.
    const double strength = options_.coupling / options_.condition / (is_complex<T> ? std::sqrt(2.0) : 1.0);
    for (index_t i = 0; i < couplings(number); ++i) {
      const Wide<T> there = strength * random.symmetric<Wide<T>>();
      const bool hermitian = options_.family == BlockFamily::spd;
      const Wide<T> back = hermitian ? detail::conjugate(there) : strength * random.symmetric<Wide<T>>();
      block.to_next.push_back(detail::narrow<T>(there));
      block.from_next.push_back(detail::narrow<T>(back));
    }
  }

  BlockFamilyOptions options_;
  std::vector<index_t> offsets_;
  std::vector<index_t> block_of_row_;
  std::vector<Block> blocks_;
};

}  // namespace

std::vector<index_t> block_family_offsets(const BlockFamilyOptions& options) {
  require_options(options);
  std::vector<index_t> offsets = {0};
  for (index_t block = 0; block < options.blocks; ++block) {
    const index_t size = options.sizes[static_cast<std::size_t>(block) % options.sizes.size()];
    offsets.push_back(detail::require_rows(generator, offset_t{offsets.back()} + size));
  }
  return offsets;
}

template <Scalar T>
CsrMatrix<T> block_family(const BlockFamilyOptions& options) {
  require_options(options);
  const BlockFamilyMatrix<T> rows(options);
  return detail::build_rows<T>(
      rows.rows(), [&](index_t row) { return rows.count(row); },
      [&](index_t row, detail::RowWriter<T>& writer) { rows.fill(row, writer); });
}

template CsrMatrix<float> block_family(const BlockFamilyOptions&);
template CsrMatrix<double> block_family(const BlockFamilyOptions&);
template CsrMatrix<std::complex<float>> block_family(const BlockFamilyOptions&);
template CsrMatrix<std::complex<double>> block_family(const BlockFamilyOptions&);

}  // namespace blockjacobi::matrices
