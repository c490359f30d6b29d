#include <blockjacobi/suggest.hpp>

#include "backend/require.hpp"
#include "core/message.hpp"
#include "core/random_vector.hpp"
#include "precond/two_level_impl.hpp"
#include "suggest/captured.hpp"
#include "suggest/cost_model.hpp"
#include "suggest/probe.hpp"

#include <blockjacobi/error.hpp>
#include <blockjacobi/permuted_matrix.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace blockjacobi {

namespace {

/// What a solver is presumed to need, before anything is probed.
struct Presumed {
  double iterations;  ///< of scalar Jacobi
  /// Iterations with blocks over those of scalar Jacobi are this power of the weight that the blocks leave outside.
  double power;
};
/// Iterations: geometric means over the systems of benchmarks/results/suggest-host.md, and with GMRES more, since on
/// many of benchmarks/results/experience-host.md it does not converge with scalar Jacobi; the powers are from there.
constexpr Presumed presumed_of_cg{170.0, 0.6}, presumed_of_gmres{500.0, 0.85};
/// Of probe_share, what the probes without a coarse level may take: they say little more than the weight that is
/// captured, while a coarse level shows in a probe only, and pays where a solve is long.
constexpr double share_of_blocks = 0.3;
/// A candidate that gained nothing in so many iterations of a probe gains nothing.
constexpr double most_iterations = 300.0;
/// Predictions closer than that are the same.
constexpr double nearly = 1.05;
/// Of the time of scalar Jacobi: what takes more is not worth it.
constexpr double worth_it = 0.9;
/// What clusters of up to so many rows leave outside of the weight, before they are found.
constexpr std::pair<index_t, double> left_by_clusters[] = {{8, 0.55}, {32, 0.35}, {128, 0.2}, {512, 0.1}};
/// Blocks that capture less are those of scalar Jacobi under another name.
constexpr double captures_something = 0.02;
/// Rows of a supervariable that clusters keep whole.
constexpr index_t largest_node = 8;
constexpr index_t relaxed_vectors = 4;
/// Over the matrix, that coupling takes; measured on the systems of FEniCSx.
constexpr double coupled_passes = 11.0;

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
        presumed_(options.method == Method::cg ? presumed_of_cg : presumed_of_gmres),
        cost_(detail::cost_model(matrix.backend(), matrix.rows(), matrix.nnz(), sizeof(T), options)),
        host_cost_(is_on_host() ? cost_ : host_cost_of(options)) {
    const index_t n = matrix.rows();
    add("scalar", BlockPartition::uniform(n, 1), 0.0);
    nodes_ = matrix.block_size() ? BlockPartition::uniform(matrix)
                                 : BlockPartition::detect(matrix, {.max_size = largest_node, .merge = Merge::none});
    add("node", nodes_, cost_.partition_seconds(matrix.block_size() ? 0.0 : 1.0));
    for (const index_t size : {8, 16, 32})
      add(detail::message("detect {}", size), BlockPartition::detect(matrix, size), cost_.partition_seconds(1.0));
    if (is_on_host())
      add("coupled 32", BlockPartition::detect(matrix, DetectOptions{.merge = Merge::coupled}),
          cost_.partition_seconds(coupled_passes));
    weigh();
  }

  Suggestion run() && {
    predict_unprobed();
    const bool probes = options_.probe_share > 0.0 && matrix_.nnz() > 0;
    if (probes) probe_scalar();
    if (options_.renumber && matrix_.nnz() > 0) add_clusters();
    if (probes && scalar().probed) {
      rival_ = rival();
      if (rival_ != 0) probe_here(rival_);
      if (options_.coarse)
        for (const index_t relaxed : {0, relaxed_vectors}) add_coarse(relaxed);
    }
    recommend();
    return std::move(suggestion_);
  }

 private:
  bool is_on_host() const { return matrix_.backend().kind() == BackendKind::host; }
  std::vector<BlockCandidate>& candidates() { return suggestion_.candidates; }
  BlockCandidate& scalar() { return candidates().front(); }

  void add(std::string name, BlockPartition blocks, double partition_seconds, Permutation permutation = {}) {
    const detail::BlockShape shape(blocks);
    BlockCandidate c;
    c.name = std::move(name);
    c.bytes = static_cast<std::size_t>(shape.squares) * sizeof(T);
    c.setup_seconds = cost_.setup_seconds(shape, partition_seconds);
    c.iteration_seconds = cost_.iteration_seconds(shape);
    c.blocks = std::move(blocks);
    c.permutation = permutation.size() > 0 ? std::move(permutation) : Permutation::identity(matrix_.rows());
    candidates().push_back(std::move(c));
    spent_seconds_.push_back(partition_seconds);
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

  /// Clusters where they would be the fastest with what they are presumed to capture, partition included; presumed
  /// from those that were found before.
  void add_clusters() {
    double more = 1.0;
    for (const auto& [size, left] : left_by_clusters)
      if (add_clusters_of(size, std::min(1.0, more * left))) more = (1.0 - candidates().back().captured) / left;
  }

  /// False if they are not worth it, with so much of the weight left outside.
  bool add_clusters_of(index_t size, double left) {
    if (size < nodes_.largest_block() || matrix_.rows() <= size) return false;
    const auto shape = detail::BlockShape::of_clusters(matrix_.rows(), size);
    const double partition = cost_.cluster_seconds(cost_.couplings(nodes_.blocks()));
    const double seconds =
        cost_.setup_seconds(shape, partition) + reference_ * fewer(left) * cost_.iteration_seconds(shape);
    if (!(seconds < candidates()[fastest()].seconds)) return false;
    PermutedPartition found = BlockPartition::clusters(matrix_, size);
    const auto renumber = [&](const auto& view) { return PermutedMatrix<T>(view, found.permutation); };
    const PermutedMatrix<T> renumbered = std::visit(renumber, host_.view());
    const double captured = detail::captured_weights(renumbered.view(), {&found.blocks}, host_.backend().threads())[0];
    add(detail::message("clusters {}", size), std::move(found.blocks), partition, std::move(found.permutation));
    candidates().back().captured = captured;
    predict_unprobed();
    return true;
  }

  /// On the fastest blocks, if there is room for a probe, since only that tells what a coarse level saves.
  void add_coarse(index_t relaxed) {
    if (!candidates()[rival_].probed || !std::isfinite(rival_prediction_)) return;
    const BlockCandidate& base = candidates()[rival_];
    const detail::ProbeCost more =
        cost_.coarse(base.blocks, detail::default_coarse_size(matrix_.backend(), matrix_.nnz()), relaxed);
    BlockCandidate c;
    c.name = base.name + (relaxed > 0 ? detail::message(" + relaxed {}", relaxed) : " + ones");
    c.blocks = base.blocks;
    c.permutation = base.permutation;
    c.captured = base.captured;
    c.bytes = base.bytes;
    c.coarse = TwoLevelOptions{.mode = options_.method == Method::cg ? CoarseMode::adef2 : CoarseMode::adef1,
                               .relaxed = relaxed};
    c.setup_seconds = base.setup_seconds + more.start;
    c.iteration_seconds = base.iteration_seconds + more.iteration;
    if (room(cost_.probe(c.setup_seconds - spent_seconds_[rival_], c.iteration_seconds), 1.0) < 1.0) return;
    spent_seconds_.push_back(spent_seconds_[rival_]);
    candidates().push_back(std::move(c));
    probe_here(candidates().size() - 1);
  }

  /// What the user says of bandwidth and latency is said of the device.
  detail::CostModel host_cost_of(SuggestOptions options) const {
    options.bandwidth = options.latency = 0.0;
    return detail::cost_model(host_.backend(), matrix_.rows(), matrix_.nnz(), sizeof(T), options);
  }

  void probe_scalar() {
    probe(0, host_cost_.diagonal_probe(scalar().blocks), [&](index_t most) {
      b_ = random_right_hand_side(LinearOperator<T>(host_));
      return detail::probe_diagonal(host_, b_, options_, most);
    });
  }

  void probe_here(std::size_t i) {
    const BlockCandidate& c = candidates()[i];
    probe(i, cost_.probe(c.setup_seconds - spent_seconds_[i], c.iteration_seconds),
          [&](index_t most) { return detail::probe_candidate(matrix_, c, b_, options_, most); });
  }

  double budget() { return options_.probe_share * candidates()[fastest()].seconds; }
  /// Iterations that there is room for in so much of the budget.
  double room(const detail::ProbeCost& cost, double share) {
    return (share * budget() - suggestion_.probe_cost - cost.start) / cost.iteration;
  }

  /// Runs as many iterations as the budget has room for, or none.
  template <class Run>
  void probe(std::size_t i, const detail::ProbeCost& cost, const Run& run) {
    BlockCandidate& c = candidates()[i];
    if (c.coarse) set_iterations(c, std::numeric_limits<double>::infinity());
    const double budget_now = budget(), room_now = room(cost, c.coarse ? 1.0 : share_of_blocks);
    if (!(room_now >= 1.0)) return;
    const auto start = std::chrono::steady_clock::now();
    const detail::ProbeResult result = run(static_cast<index_t>(std::min(room_now, most_iterations)));
    suggestion_.probe_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    c.probed = true;
    // Other candidates may be the same under another name.
    for (BlockCandidate& same : candidates()) same.failed = same.failed || (result.failed && is_same(same, c));
    c.probe_iterations = result.iterations;
    c.probe_reduction = result.reduction;
    if (i == rival_) rival_prediction_ = result.predicted;
    if (c.coarse) {
      // why: by how much the two probes differ says more than either of them
      const double fewer = result.predicted / rival_prediction_;
      set_iterations(
          c, result.says_nothing ? std::numeric_limits<double>::infinity() : candidates()[rival_].iterations * fewer);
    } else {
      set_iterations(c, expected(c));
      if (!result.says_nothing) learn(c, result.predicted);
    }
    suggestion_.probe_cost += cost.start + result.iterations * cost.iteration;
    suggestion_.probe_budget = budget_now;
    predict_unprobed();
  }

  static bool is_same(const BlockCandidate& a, const BlockCandidate& b) {
    const auto relaxed = [](const BlockCandidate& c) { return c.coarse ? c.coarse->relaxed : -1; };
    return relaxed(a) == relaxed(b) && a.blocks == b.blocks && a.permutation == b.permutation;
  }

  std::size_t fastest() {
    const auto begin = candidates().begin();
    return static_cast<std::size_t>(std::min_element(begin, candidates().end(), is_better) - begin);
  }

  /// The fastest blocks that are not those of scalar Jacobi; 0 if there are none.
  std::size_t rival() {
    std::size_t best = 0;
    for (std::size_t i = 1; i < candidates().size(); ++i)
      if (candidates()[i].captured >= captures_something &&
          (best == 0 || is_better(candidates()[i], candidates()[best])))
        best = i;
    return best;
  }

  /// One that gained nothing is predicted to take for ever as well, but did not break down.
  static bool is_better(const BlockCandidate& a, const BlockCandidate& b) {
    return a.failed != b.failed ? b.failed : a.seconds < b.seconds;
  }

  /// Part of the iterations of blocks that capture nothing, with so much of the weight left outside.
  double fewer(double left) const { return std::pow(left, presumed_.power); }
  /// Iterations by what it captures.
  double expected(const BlockCandidate& c) const { return reference_ * fewer(1.0 - c.captured); }

  /// From the iterations that a probe of c predicts.
  void learn(BlockCandidate& c, double iterations) {
    const double part = fewer(std::max(1e-3, 1.0 - c.captured));
    const bool two_views = reference_is_probed_ && std::isfinite(iterations);
    if (two_views) iterations = std::sqrt(iterations * reference_ * part);
    set_iterations(c, iterations);
    if (reference_is_probed_ || !std::isfinite(iterations)) return;
    reference_ = iterations / part;
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

  /// The fastest of those that were probed; if there were not two, or if none of them can be, of those that are nearly
  /// as fast as the fastest of all the one that captures most, which is the least likely not to converge.
  void recommend() {
    std::size_t best = 0;
    int probed = 0;
    bool all_failed = true;
    for (std::size_t i = 0; i < candidates().size(); ++i) {
      const BlockCandidate& c = candidates()[i];
      if (!c.probed) continue;
      ++probed;
      all_failed = all_failed && c.failed;
      if (is_better(c, candidates()[best])) best = i;
    }
    // why: what a few iterations promise is not safe enough to leave scalar Jacobi for little
    if (!scalar().failed && candidates()[best].seconds > worth_it * scalar().seconds) best = 0;
    if (probed > 1 && !all_failed) {
      suggestion_.recommended = best;
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
  Presumed presumed_;
  detail::CostModel cost_, host_cost_;
  Suggestion suggestion_;
  std::vector<double> spent_seconds_;  ///< of each candidate for its partition
  BlockPartition nodes_;               ///< that clusters keep whole
  std::vector<T> b_;
  std::size_t rival_ = 0;
  double rival_prediction_ = std::numeric_limits<double>::infinity();  ///< by its probe alone
  /// Iterations of blocks that capture nothing.
  double reference_ = presumed_.iterations;
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
