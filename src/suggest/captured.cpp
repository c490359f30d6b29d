#include "suggest/captured.hpp"

#include "backend/backend_impl.hpp"
#include "core/csr_pattern.hpp"
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

/// Reciprocals of the square roots of row_scales(), as a division for every entry takes longer than all else here.
template <Scalar T, Offset O>
std::vector<double> factors_of(const CsrView<T, O>& matrix, int threads) {
  std::vector<double> factors = row_scales(matrix, threads);
  for (double& factor : factors) factor = 1.0 / std::sqrt(factor);
  return factors;
}

/// visit(j, strength, value) for the couplings of row i, the strength as that of core/shared/cluster_rules.hpp.
template <Scalar T, Offset O, class Visit>
void for_each_coupling(const CsrView<T, O>& matrix, const std::vector<double>& factors, index_t i, Visit visit) {
  const auto base = static_cast<index_t>(matrix.base);
  const double factor = factors[static_cast<std::size_t>(i)];
  for (O k = matrix.row_offsets[i] - base; k < matrix.row_offsets[i + 1] - base; ++k) {
    const index_t j = matrix.columns[k] - base;
    if (j == i) continue;
    const auto magnitude = static_cast<double>(std::abs(matrix.values[k]));
    if (!(magnitude > 0.0)) continue;
    const double scaled = magnitude * factor * factors[static_cast<std::size_t>(j)];
    visit(j, scaled < 1.0 ? scaled : 1.0, matrix.values[k]);
  }
}

/// Sums of `width` numbers that add(first, last, sums) adds to for rows [first, last), in an order that does not depend
/// on the threads.
template <Scalar T, Offset O, class Add>
std::vector<double> sums_over_rows(const CsrView<T, O>& matrix, std::size_t width, int threads, Add add) {
  const index_t rows = matrix.rows, chunks = (rows + chunk_rows - 1) / chunk_rows;
  std::vector<double> sums(static_cast<std::size_t>(chunks) * width);
  FirstException failure;
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (matrix.nnz > worth_threads)
  for (index_t c = 0; c < chunks; ++c)
    failure.run([&] {
      add(c * chunk_rows, std::min(rows, (c + 1) * chunk_rows), sums.data() + static_cast<std::size_t>(c) * width);
    });
  failure.rethrow();
  std::vector<double> total(width);
  for (std::size_t k = 0; k < sums.size(); ++k) total[k % width] += sums[k];
  return total;
}

/// Of the strength of a coupling, what its real part is of its value, if that is positive. No branches: signs are
/// as good as random in an elasticity.
template <Scalar T>
double positive_part(double strength, T value) {
  const auto real = static_cast<double>(std::real(value));
  if constexpr (is_complex<T>) return strength * 0.5 * (real + std::abs(real)) / static_cast<double>(std::abs(value));
  return 0.5 * (strength + std::copysign(strength, real));
}

/// Adds the couplings of the rows [first, last) to inside[p], for those inside the blocks of partition p, and to
/// inside[partitions.size()]; the strongest of each row to the one after, and what is positive to the last.
template <Scalar T, Offset O>
void add_rows(const CsrView<T, O>& matrix, const std::vector<double>& factors,
              const std::vector<const BlockPartition*>& partitions, index_t first, index_t last, double* inside) {
  std::vector<BlockAround> around;
  around.reserve(partitions.size());
  for (const BlockPartition* blocks : partitions) around.emplace_back(*blocks, first);
  double all = 0.0, strongest_of_all = 0.0, positive = 0.0;
  for (index_t i = first; i < last; ++i) {
    // Outside of these columns no block has anything of this row.
    index_t begin = i, end = i + 1;
    for (BlockAround& block : around) {
      block.move_to(i);
      begin = std::min(begin, block.begin());
      end = std::max(end, block.end());
    }
    double strongest = 0.0;
    for_each_coupling(matrix, factors, i, [&](index_t j, double strength, T value) {
      all += strength;
      positive += positive_part(strength, value);
      strongest = std::max(strongest, strength);
      if (j < begin || j >= end) return;
      for (std::size_t p = 0; p < around.size(); ++p)
        if (around[p].holds(j)) inside[p] += strength;
    });
    strongest_of_all += strongest;
  }
  inside[around.size()] += all;
  inside[around.size() + 1] += strongest_of_all;
  inside[around.size() + 2] += positive;
}

/// The number of the block of each row in its old numbering.
std::vector<index_t> labels_of(const PermutedPartition& found) {
  const auto order = found.permutation.order();
  std::vector<index_t> labels(order.size());
  for (index_t b = 0; b < found.blocks.blocks(); ++b)
    for (index_t k = found.blocks.offsets()[static_cast<std::size_t>(b)];
         k < found.blocks.offsets()[static_cast<std::size_t>(b) + 1]; ++k)
      labels[static_cast<std::size_t>(order[static_cast<std::size_t>(k)])] = b;
  return labels;
}

double part(double of, double all) { return all > 0.0 ? of / all : 1.0; }

}  // namespace

template <Scalar T, Offset O>
std::vector<double> captured_weights(const CsrView<T, O>& matrix, const std::vector<const BlockPartition*>& partitions,
                                     int threads, CouplingShares* shares) {
  const std::vector<double> factors = factors_of(matrix, threads);
  std::vector<double> captured = sums_over_rows(
      matrix, partitions.size() + 3, threads,
      [&](index_t first, index_t last, double* sums) { add_rows(matrix, factors, partitions, first, last, sums); });
  const double all = captured[partitions.size()];
  if (shares) *shares = {all, part(captured[partitions.size() + 1], all), all > 0.0 ? captured.back() / all : 0.0};
  captured.resize(partitions.size());
  for (double& weight : captured) weight = part(weight, all);
  return captured;
}

template <Scalar T, Offset O>
double captured_weight(const CsrView<T, O>& matrix, const PermutedPartition& blocks, int threads) {
  const std::vector<double> factors = factors_of(matrix, threads);
  const std::vector<index_t> labels = labels_of(blocks);
  const std::vector<double> sums =
      sums_over_rows(matrix, 2, threads, [&](index_t first, index_t last, double* inside_and_all) {
        for (index_t i = first; i < last; ++i) {
          const index_t own = labels[static_cast<std::size_t>(i)];
          for_each_coupling(matrix, factors, i, [&](index_t j, double strength, T) {
            if (labels[static_cast<std::size_t>(j)] == own) inside_and_all[0] += strength;
            inside_and_all[1] += strength;
          });
        }
      });
  return part(sums[0], sums[1]);
}

template <Scalar T>
CouplingTotals coupling_totals(const SparseMatrix<T>& matrix) {
  const Backend& backend = matrix.backend();
  const auto on_host = [&](const auto& view) {
    CouplingShares shares;
    captured_weights(view, {}, backend.threads(), &shares);
    return CouplingTotals{shares.all, shares.positive * shares.all};
  };
  const auto totals = [&](const auto& view) {
    const auto found = backend.impl().partition_ops().sum_couplings(untyped(view), scalar_type<T>);
    return found ? *found : on_host(view);
  };
  return std::visit(totals, matrix.view());
}

#define BLOCKJACOBI_INSTANTIATE_FOR(T, O)                                                                             \
  template std::vector<double> captured_weights(const CsrView<T, O>&, const std::vector<const BlockPartition*>&, int, \
                                                CouplingShares*);                                                     \
  template double captured_weight(const CsrView<T, O>&, const PermutedPartition&, int)
#define BLOCKJACOBI_INSTANTIATE(T)                                        \
  template CouplingTotals coupling_totals(const SparseMatrix<T>& matrix); \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int32_t);                           \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int64_t)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE
#undef BLOCKJACOBI_INSTANTIATE_FOR

}  // namespace blockjacobi::detail
