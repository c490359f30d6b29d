#include "suggest/captured.hpp"

#include "core/first_exception.hpp"
#include "core/worth_threads.hpp"
#include "partition/strength_graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace blockjacobi::detail {

namespace {

/// Rows whose sums are taken together, so that the order of additions does not depend on the threads.
constexpr index_t chunk_rows = 1024;

/// The block around a row that moves forward.
class BlockAround {
 public:
  BlockAround(const BlockPartition& blocks, index_t row)
      : end_(std::upper_bound(blocks.offsets().begin(), blocks.offsets().end(), row)) {}
  void move_to(index_t row) {
    if (row == *end_) ++end_;
  }
  index_t begin() const { return end_[-1]; }
  index_t end() const { return *end_; }
  bool holds(index_t column) const { return column >= begin() && column < end(); }

 private:
  std::span<const index_t>::iterator end_;
};

/// Adds the strengths, as strength() of core/shared/cluster_rules.hpp has them, of the rows [first, last) to inside[p],
/// for those inside the blocks of partition p, and to inside[partitions.size()]; the strongest of each row to the one
/// after.
template <Scalar T, Offset O>
void add_rows(const CsrView<T, O>& matrix, const std::vector<double>& scales,
              const std::vector<const BlockPartition*>& partitions, index_t first, index_t last, double* inside) {
  const auto base = static_cast<index_t>(matrix.base);
  std::vector<BlockAround> around;
  for (const BlockPartition* blocks : partitions) around.emplace_back(*blocks, first);
  double all = 0.0, strongest_of_all = 0.0;
  for (index_t i = first; i < last; ++i) {
    // Outside of these columns no block has anything of this row.
    index_t begin = i, end = i + 1;
    for (BlockAround& block : around) {
      block.move_to(i);
      begin = std::min(begin, block.begin());
      end = std::max(end, block.end());
    }
    const double scale = scales[static_cast<std::size_t>(i)];
    double strongest = 0.0;
    for (O k = matrix.row_offsets[i] - base; k < matrix.row_offsets[i + 1] - base; ++k) {
      const index_t j = matrix.columns[k] - base;
      if (j == i) continue;
      const auto magnitude = static_cast<double>(std::abs(matrix.values[k]));
      if (!(magnitude > 0.0)) continue;
      const double scaled = magnitude * scale * scales[static_cast<std::size_t>(j)];
      const double weight = scaled < 1.0 ? scaled : 1.0;
      all += weight;
      strongest = std::max(strongest, weight);
      if (j < begin || j >= end) continue;
      for (std::size_t p = 0; p < around.size(); ++p)
        if (around[p].holds(j)) inside[p] += weight;
    }
    strongest_of_all += strongest;
  }
  inside[around.size()] += all;
  inside[around.size() + 1] += strongest_of_all;
}

}  // namespace

template <Scalar T, Offset O>
std::vector<double> captured_weights(const CsrView<T, O>& matrix, const std::vector<const BlockPartition*>& partitions,
                                     int threads, double* strongest) {
  // why: reciprocals, as a division for every entry takes longer than all else here
  std::vector<double> scales = row_scales(matrix, threads);
  for (double& scale : scales) scale = 1.0 / std::sqrt(scale);
  const index_t rows = matrix.rows, chunks = (rows + chunk_rows - 1) / chunk_rows;
  const std::size_t width = partitions.size() + 2;
  std::vector<double> sums(static_cast<std::size_t>(chunks) * width);
  FirstException failure;
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (matrix.nnz > worth_threads)
  for (index_t c = 0; c < chunks; ++c)
    failure.run([&] {
      add_rows(matrix, scales, partitions, c * chunk_rows, std::min(rows, (c + 1) * chunk_rows),
               sums.data() + static_cast<std::size_t>(c) * width);
    });
  failure.rethrow();

  std::vector<double> total(width);
  for (std::size_t k = 0; k < sums.size(); ++k) total[k % width] += sums[k];
  const double all = total[partitions.size()];
  for (double& part : total) part = all > 0.0 ? part / all : 1.0;
  if (strongest) *strongest = total.back();
  total.resize(partitions.size());
  return total;
}

#define BLOCKJACOBI_INSTANTIATE_FOR(T, O)                                                                             \
  template std::vector<double> captured_weights(const CsrView<T, O>&, const std::vector<const BlockPartition*>&, int, \
                                                double*)
#define BLOCKJACOBI_INSTANTIATE(T)              \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int32_t); \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int64_t)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE
#undef BLOCKJACOBI_INSTANTIATE_FOR

}  // namespace blockjacobi::detail
