#include <blockjacobi/suggest.hpp>

#include "backend/require.hpp"
#include "core/message.hpp"
#include "core/random_vector.hpp"
#include "suggest/captured.hpp"
#include "suggest/cost_model.hpp"
#include "suggest/probe.hpp"

#include <blockjacobi/error.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace blockjacobi {

namespace {

/// Of scalar Jacobi, before anything is probed: the geometric mean over the systems of
/// benchmarks/results/suggest-host.md.
constexpr double presumed_iterations = 170.0;
/// A candidate that gained nothing in so many iterations of a probe gains nothing.
constexpr double most_iterations = 300.0;
/// Predictions closer than that are the same.
constexpr double nearly = 1.05;

template <class Matrix>
void require_arguments(const Matrix& matrix, const SuggestOptions& o) {
  if (matrix.rows() != matrix.cols())
    throw InvalidArgument(
        detail::message("suggest: the matrix is {} x {}, must be square", matrix.rows(), matrix.cols()));
  detail::require_enumerator("suggest", "method", o.method, Method::gmres);
  detail::require_enumerator("suggest", "singular", o.singular, SingularPolicy::pseudo_inverse);
  if (!(o.rtol > 0.0 && o.rtol < 1.0))
    throw InvalidArgument(detail::message("suggest: rtol is {}, must be between 0 and 1", o.rtol));
  if (!(o.probe_share >= 0.0 && o.probe_share <= 1.0))
    throw InvalidArgument(detail::message("suggest: probe_share is {}, must be in [0, 1]", o.probe_share));
  if (o.restart < 1) throw InvalidArgument(detail::message("suggest: restart is {}, must be >= 1", o.restart));
  const auto is_amount = [](double value) { return value >= 0.0 && std::isfinite(value); };
  if (!is_amount(o.bandwidth) || !is_amount(o.latency))
    throw InvalidArgument(
        detail::message("suggest: bandwidth is {}, latency is {}, must be finite and >= 0", o.bandwidth, o.latency));
}

/// A x for a random x; A is on the host.
template <Scalar T>
std::vector<T> random_right_hand_side(const LinearOperator<T>& A) {
  const std::vector<T> x = detail::random_vector<T>(A.rows(), 1);
  std::vector<T> b(x.size());
  A.apply({x.data(), A.rows(), MemorySpace::host}, {b.data(), A.rows(), MemorySpace::host});
  return b;
}

/// The candidates of one matrix, from what the pattern and the values say to what the probes say.
template <Scalar T>
class Study {
 public:
  /// The matrix on its backend, and on the host.
  Study(const SparseMatrix<T>& matrix, const SparseMatrix<T>& host, const SuggestOptions& options)
      : matrix_(matrix),
        host_(host),
        options_(options),
        cost_(detail::cost_model(matrix.backend(), matrix.rows(), matrix.nnz(), sizeof(T), options)),
        host_cost_(is_on_host() ? cost_ : host_cost_of(options)) {
    const index_t n = matrix.rows();
    add("scalar", BlockPartition::uniform(n, 1), 0.0);
    for (const index_t size : {8, 16, 32})
      add(detail::message("detect {}", size), BlockPartition::detect(matrix, size), 1.0);
    for (const index_t size : {8, 32, 64})
      add(detail::message("uniform {}", size), BlockPartition::uniform(n, size), 0.0);
    if (is_on_host()) add("coupled 32", BlockPartition::detect(matrix, DetectOptions{.merge = Merge::coupled}), 4.0);
    weigh();
  }

  Suggestion run() && {
    predict_unprobed();
    if (options_.probe_share > 0.0 && matrix_.nnz() > 0) probe_two();
    recommend();
    return std::move(suggestion_);
  }

 private:
  bool is_on_host() const { return matrix_.backend().kind() == BackendKind::host; }
  std::vector<BlockCandidate>& candidates() { return suggestion_.candidates; }
  BlockCandidate& scalar() { return candidates().front(); }

  void add(std::string name, BlockPartition blocks, double passes) {
    BlockCandidate c;
    c.name = std::move(name);
    c.bytes = static_cast<std::size_t>(detail::block_elements(blocks)) * sizeof(T);
    c.setup_seconds = cost_.setup_seconds(blocks, passes);
    c.iteration_seconds = cost_.iteration_seconds(blocks);
    c.blocks = std::move(blocks);
    candidates().push_back(std::move(c));
  }

  void weigh() {
    std::vector<const BlockPartition*> partitions;
    for (const BlockCandidate& c : candidates()) partitions.push_back(&c.blocks);
    const auto weights = [&](const auto& host) {
      return detail::captured_weights(host, partitions, host_.backend().threads());
    };
    const std::vector<double> captured = std::visit(weights, host_.view());
    for (std::size_t i = 0; i < captured.size(); ++i) candidates()[i].captured = captured[i];
  }

  /// What the user says of bandwidth and latency is said of the device.
  detail::CostModel host_cost_of(SuggestOptions options) const {
    options.bandwidth = options.latency = 0.0;
    return detail::cost_model(host_.backend(), matrix_.rows(), matrix_.nnz(), sizeof(T), options);
  }

  /// Scalar Jacobi, and the choice that could take its place; alone the latter would say too little.
  void probe_two() {
    const auto start = std::chrono::steady_clock::now();
    std::vector<T> b;
    probe(scalar(), host_cost_.diagonal_probe(scalar().blocks), [&](index_t most) {
      b = random_right_hand_side(LinearOperator<T>(host_));
      return detail::probe_diagonal(host_, b, options_, most);
    });
    if (!scalar().probed) return;
    rival_ = rival();
    BlockCandidate& other = candidates()[rival_];
    probe(other, cost_.probe(other),
          [&](index_t most) { return detail::probe_blocks(matrix_, other.blocks, b, options_, most); });
    suggestion_.probe_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  /// Runs as many iterations as the budget has room for, or none.
  template <class Run>
  void probe(BlockCandidate& c, const detail::ProbeCost& cost, const Run& run) {
    const double budget = options_.probe_share * candidates()[fastest()].seconds;
    const double room = (budget - suggestion_.probe_cost - cost.start) / cost.iteration;
    if (!(room >= 1.0)) return;
    const detail::ProbeResult result = run(static_cast<index_t>(std::min(room, most_iterations)));
    c.probed = true;
    // Other candidates may have the same blocks under another name.
    for (BlockCandidate& same : candidates()) same.failed = same.failed || (result.failed && same.blocks == c.blocks);
    c.probe_iterations = result.iterations;
    c.probe_reduction = result.reduction;
    set_iterations(c, expected(c));
    if (!result.says_nothing) learn(c, result.predicted);
    suggestion_.probe_cost += cost.start + result.iterations * cost.iteration;
    suggestion_.probe_budget = budget;
    predict_unprobed();
  }

  /// What is probed beside scalar Jacobi: on the host, where the bytes of an iteration count, coupled blocks; on CUDA
  /// the one that the couplings speak for.
  std::size_t rival() { return is_on_host() ? candidates().size() - 1 : fastest(1); }

  /// Of the candidates from the first-th on.
  std::size_t fastest(std::size_t first = 0) {
    const auto begin = candidates().begin();
    return static_cast<std::size_t>(
        std::min_element(begin + static_cast<std::ptrdiff_t>(first), candidates().end(), is_better) - begin);
  }

  /// One that gained nothing is predicted to take for ever as well, but did not break down.
  static bool is_better(const BlockCandidate& a, const BlockCandidate& b) {
    return a.failed != b.failed ? b.failed : a.seconds < b.seconds;
  }

  /// Iterations by what it captures.
  double expected(const BlockCandidate& c) const { return reference_ * std::sqrt(1.0 - c.captured); }

  /// From the iterations that a probe of c predicts.
  void learn(BlockCandidate& c, double iterations) {
    const double left = std::max(1e-3, 1.0 - c.captured);
    const bool two_views = reference_is_probed_ && std::isfinite(iterations);
    if (two_views) iterations = std::sqrt(iterations * reference_ * left);
    set_iterations(c, iterations);
    if (reference_is_probed_ || !std::isfinite(iterations)) return;
    reference_ = iterations / std::sqrt(left);
    reference_is_probed_ = true;
  }

  void predict_unprobed() {
    for (BlockCandidate& c : candidates())
      if (!c.probed) set_iterations(c, c.failed ? std::numeric_limits<double>::infinity() : expected(c));
  }

  static void set_iterations(BlockCandidate& c, double iterations) {
    c.iterations = std::max(1.0, iterations);
    c.seconds = c.setup_seconds + c.iterations * c.iteration_seconds;
  }

  /// The faster of the two that were probed; if there were not two, or if none of them can be, of those that are nearly
  /// as fast as the fastest of all the one that captures most, which is the least likely not to converge.
  void recommend() {
    const BlockCandidate& other = candidates()[rival_];
    const bool both_failed = scalar().failed && other.failed;
    if (rival_ != 0 && scalar().probed && other.probed && !both_failed) {
      suggestion_.recommended = is_better(other, scalar()) ? rival_ : 0;
      return;
    }
    suggestion_.recommended = fastest();
    const double limit = nearly * suggestion_.best().seconds;
    for (std::size_t i = 0; i < candidates().size(); ++i)
      if (candidates()[i].seconds <= limit && candidates()[i].captured > suggestion_.best().captured)
        suggestion_.recommended = i;
  }

  SparseMatrix<T> matrix_, host_;
  SuggestOptions options_;
  detail::CostModel cost_, host_cost_;
  Suggestion suggestion_;
  std::size_t rival_ = 0;
  /// Iterations of blocks that capture nothing.
  double reference_ = presumed_iterations;
  bool reference_is_probed_ = false;
};

}  // namespace

template <Scalar T>
Suggestion suggest(const SparseMatrix<T>& matrix, const SuggestOptions& options) {
  require_arguments(matrix, options);
  if (matrix.backend().kind() == BackendKind::host) return Study<T>(matrix, matrix, options).run();
  return Study<T>(matrix, SparseMatrix<T>(Backend::host(), matrix.to_host()), options).run();
}

template <Scalar T>
Suggestion suggest(const Backend& backend, const CsrMatrix<T>& matrix, const SuggestOptions& options) {
  require_arguments(matrix, options);
  const auto A = SparseMatrix<T>::adopt(backend, matrix);
  if (backend.kind() == BackendKind::host) return Study<T>(A, A, options).run();
  return Study<T>(A, SparseMatrix<T>::adopt(Backend::host(), matrix), options).run();
}

#define BLOCKJACOBI_INSTANTIATE(T)                                            \
  template Suggestion suggest(const SparseMatrix<T>&, const SuggestOptions&); \
  template Suggestion suggest(const Backend&, const CsrMatrix<T>&, const SuggestOptions&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
