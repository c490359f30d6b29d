#include "partition/metis.hpp"

#include "core/message.hpp"

#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/error.hpp>

#include <metis.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>

namespace blockjacobi {

bool BlockPartition::metis_available() noexcept { return true; }

namespace detail {

namespace {

/// Weights as METIS takes them: integers from 1 on, the largest at most 10^4, their sum far from 2^31.
std::vector<idx_t> integer_weights(std::span<const double> weights) {
  double largest = 0.0, sum = 0.0;
  for (const double w : weights) {
    largest = std::max(largest, w);
    sum += w;
  }
  const double unit = std::max(largest / 1e4, sum / 1e9);
  std::vector<idx_t> integers(weights.size());
  std::ranges::transform(weights, integers.begin(),
                         [unit](double w) { return std::max(idx_t{1}, static_cast<idx_t>(std::lround(w / unit))); });
  return integers;
}

template <class V>
std::vector<idx_t> as_idx(std::span<const V> values) {
  std::vector<idx_t> result(values.size());
  std::ranges::transform(values, result.begin(), [](V v) { return static_cast<idx_t>(v); });
  return result;
}

/// METIS draws from rand(), of which a process has one. While this object lives nobody else partitions, and the numbers
/// are of a generator of our own; behind it the caller's sequence goes on where it stood. That holds where rand() is
/// random(), as in glibc; elsewhere the caller's sequence is lost.
class OwnRandomNumbers {
 public:
  OwnRandomNumbers() : callers_(initstate(1, state_.data(), state_.size())) {}
  ~OwnRandomNumbers() { setstate(callers_); }
  OwnRandomNumbers(const OwnRandomNumbers&) = delete;
  OwnRandomNumbers& operator=(const OwnRandomNumbers&) = delete;

 private:
  static std::mutex& one_at_a_time() {
    static std::mutex mutex;
    return mutex;
  }
  const std::lock_guard<std::mutex> turn_{one_at_a_time()};
  alignas(std::max_align_t) std::array<char, 128> state_{};  // as large as that of rand()
  char* callers_;
};

}  // namespace

std::vector<index_t> metis_parts(const CsrMatrix<double>& graph, std::span<const index_t> rows, index_t parts) {
  std::vector<idx_t> part(rows.size(), 0);
  if (parts > 1 && graph.nnz() > 0) {
    idx_t vertices = graph.rows(), constraints = 1, wanted = parts, cut = 0;
    auto offsets = as_idx(graph.row_offsets());
    auto neighbours = as_idx(graph.columns());
    auto vertex_weights = as_idx(rows);
    auto edge_weights = integer_weights(graph.values());
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_NUMBERING] = 0;
    options[METIS_OPTION_SEED] = 1;
    const OwnRandomNumbers numbers;
    // why not METIS_PartGraphKway: with few vertices a part it cuts more and takes three times as long.
    const int status =
        METIS_PartGraphRecursive(&vertices, &constraints, offsets.data(), neighbours.data(), vertex_weights.data(),
                                 nullptr, edge_weights.data(), &wanted, nullptr, nullptr, options, &cut, part.data());
    if (status == METIS_ERROR_MEMORY) throw std::bad_alloc();
    if (status != METIS_OK)
      throw Error(detail::message(
          "BlockPartition::metis: METIS_PartGraphRecursive ended with {} ({} vertices, {} edges, {} parts)", status,
          graph.rows(), graph.nnz() / 2, parts));
  }
  return {part.begin(), part.end()};
}

}  // namespace detail
}  // namespace blockjacobi
