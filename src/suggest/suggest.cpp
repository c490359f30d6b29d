#include <blockjacobi/suggest.hpp>

#include "backend/require.hpp"
#include "core/message.hpp"
#include "core/random_vector.hpp"
#include "core/symmetry.hpp"
#include "partition/agglomerate.hpp"
#include "precond/two_level_impl.hpp"
#include "suggest/captured.hpp"
#include "suggest/cost_model.hpp"
#include "suggest/glance.hpp"
#include "suggest/non_finite.hpp"
#include "suggest/presumed.hpp"
#include "suggest/probe.hpp"

#include <blockjacobi/error.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

namespace blockjacobi {

namespace {

using detail::Presumed, detail::with_multigrid, detail::worth_it;

/// What is above the blocks.
enum class Level { none, ones, relaxed, multigrid };
constexpr Level levels[] = {Level::ones, Level::relaxed, Level::multigrid};
/// Iterations with blocks over those of scalar Jacobi are this power of the weight that the blocks leave outside.
constexpr double power = 0.7;
/// Of probe_share, what scalar Jacobi may take, so that the fastest blocks can be probed as well.
constexpr double share_of_scalar = 0.5;
/// A candidate that gained nothing in so many iterations of a probe gains nothing.
constexpr double most_iterations = 300.0;
/// What clusters of up to so many rows leave outside of the weight, before they are found, over the square of what the
/// strongest coupling of each row leaves.
constexpr std::pair<index_t, double> left_by_clusters[] = {{8, 1.0}, {32, 0.5}, {128, 0.25}, {512, 0.125}};
/// Blocks that leave less are as good as those that leave so much.
constexpr double least_left = 1e-3;
/// Blocks that capture less are those of scalar Jacobi under another name.
constexpr double captures_something = 0.02;
/// Rows of a supervariable that clusters keep whole.
constexpr index_t largest_node = 8;
constexpr index_t relaxed_vectors = 4;
/// Of a solve, what blocks may take to be found whatever they are worth.
constexpr double worth_a_try = 0.01;

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

Level level_of(const BlockCandidate& c) {
  if (c.multigrid) return Level::multigrid;
  if (!c.coarse) return Level::none;
  return c.coarse->relaxed > 0 ? Level::relaxed : Level::ones;
}

/// TwoLevelOptions::relaxed.
index_t relaxed_of(Level level) { return level == Level::relaxed ? relaxed_vectors : 0; }

std::string suffix_of(Level level) {
  switch (level) {
    case Level::none: break;
    case Level::ones: return " + ones";
    case Level::relaxed: return detail::message(" + relaxed {}", relaxed_vectors);
    case Level::multigrid: return " + multigrid";
  }
  return {};
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
        presumed_(options.method == Method::cg ? detail::presumed_of_cg : detail::presumed_of_gmres),
        cost_(detail::cost_model(matrix.backend(), matrix.rows(), matrix.nnz(), sizeof(T), options)),
        host_cost_(is_on_host() ? cost_ : host_cost_of(options)) {
    add("scalar", BlockPartition::uniform(matrix.rows(), 1));
    nodes_ = matrix.block_size() ? BlockPartition::uniform(matrix)
                                 : BlockPartition::detect(matrix, {.max_size = largest_node, .merge = Merge::none});
    add("node", nodes_);
    for (const index_t size : {8, 16, 32}) add(detail::message("detect {}", size), detected(size));
    weigh();
  }

  Suggestion run() && {
    predict();
    const bool probes = options_.probe_share > 0.0 && matrix_.nnz() > 0;
    if (probes) probe_scalar();
    if (is_on_host() && cost_.coupled_seconds() <= worth_a_try * candidates()[fastest()].seconds) add_coupled();
    bool more = true;
    while (more) more = (scalar().probed && probe_fastest()) || add_idea();
    if (scalar().probed && matrix_.nnz() > 0) probe_coarse();
    recommend();
    return std::move(suggestion_);
  }

 private:
  bool is_on_host() const { return matrix_.backend().kind() == BackendKind::host; }
  std::vector<BlockCandidate>& candidates() { return suggestion_.candidates; }
  BlockCandidate& scalar() { return candidates().front(); }

  /// Detected blocks of at most so many rows: the nodes merged, where no longer ones had to be cut.
  BlockPartition detected(index_t size) const {
    if (matrix_.block_size() || nodes_.rows() == 0 || nodes_.largest_block() == largest_node)
      return BlockPartition::detect(matrix_, size);
    return BlockPartition::from_offsets(detail::merge_greedily(nodes_.offsets(), size));
  }

  void add(std::string name, BlockPartition blocks, Permutation permutation = {}) {
    const detail::BlockShape shape(blocks);
    BlockCandidate c = detail::costed(std::move(name), shape, sizeof(T), cost_);
    if (permutation.size() > 0) c.setup_seconds += cost_.renumber_seconds();
    c.blocks = std::move(blocks);
    c.permutation = permutation.size() > 0 ? std::move(permutation) : Permutation::identity(matrix_.rows());
    c.failed = std::ranges::any_of(candidates(), [&c](const BlockCandidate& o) { return o.failed && is_same(o, c); });
    base_.push_back(candidates().size());
    shapes_.push_back(shape);
    candidates().push_back(std::move(c));
  }

  void weigh() {
    std::vector<const BlockPartition*> partitions;
    for (const BlockCandidate& c : candidates()) partitions.push_back(&c.blocks);
    detail::CouplingShares shares;
    const auto weights = [&](const auto& host) {
      return detail::captured_weights(host, partitions, host_.backend().threads(), &shares);
    };
    const std::vector<double> captured = std::visit(weights, host_.view());
    for (std::size_t i = 0; i < captured.size(); ++i) candidates()[i].captured = captured[i];
    left_by_strongest_ = 1.0 - shares.strongest;
    is_diffusion_ = options_.method == Method::cg && shares.positive <= detail::most_positive_of_diffusion;
    by_coupling_ = detail::iterations_by_coupling(shares.all / std::max<double>(1.0, matrix_.rows()), options_.rtol);
    reference_ = presumed_iterations();
  }

  /// A candidate that takes work to be made: clusters, perhaps with a level above them to come, or a level on blocks
  /// that are there.
  struct Idea {
    double seconds = std::numeric_limits<double>::infinity();  ///< that a solve is predicted to take
    index_t clusters = 0;                                      ///< of at most so many rows, 0 for blocks that are there
    double left = 0.0;                                         ///< that the clusters are presumed to leave outside
    std::size_t base = 0;                                      ///< else the candidate with these
    Level level = Level::none;
  };

  /// Makes the candidate of all that are not made yet that would be the fastest, if it would be faster than those that
  /// are.
  bool add_idea() {
    if (matrix_.nnz() == 0) return false;
    const double seconds_now = candidates()[fastest()].seconds;
    Idea best = best_idea();
    // why: only now, as it takes a pass over the matrix
    if (best.seconds < seconds_now && best.level == Level::multigrid && !is_hermitian()) best = best_idea();
    if (!(best.seconds < seconds_now)) return false;
    if (best.clusters > 0)
      add_clusters(best.clusters, best.left);
    else
      add_level(best.base, best.level);
    predict();
    return true;
  }

  Idea best_idea() {
    Idea best;
    if (options_.renumber)
      for (const auto& [size, left] : left_by_clusters) consider_clusters(size, left, best);
    for (std::size_t i = 0; i < candidates().size(); ++i)
      for (const Level level : levels)
        if (base_[i] == i && may_have(level) && !has(i, level)) consider_level(i, level, best);
    return best;
  }

  void consider_clusters(index_t size, double left, Idea& best) {
    if (size < nodes_.largest_block() || matrix_.rows() <= size || is_found(size)) return;
    left = std::min(1.0, left * left_by_strongest_ * left_by_strongest_ * more_left_);
    const auto shape = detail::BlockShape::of_clusters(matrix_.rows(), size);
    const double setup = cost_.cluster_seconds(cost_.couplings(nodes_.blocks()), size) + cost_.renumber_seconds() +
                         cost_.setup_seconds(shape);
    const double iteration = cost_.iteration_seconds(shape), iterations = reference_ * expected_part(left);
    const auto consider = [&](Level level, const detail::ProbeCost& more) {
      const double seconds =
          setup + more.start + std::max(1.0, iterations_with(level, iterations)) * (iteration + more.iteration);
      if (seconds < best.seconds) best = {seconds, size, left, 0, level};
    };
    consider(Level::none, {});
    for (const Level level : levels)
      if (may_have(level)) consider(level, cost_of(level, shape));
  }

  void consider_level(std::size_t base, Level level, Idea& best) {
    const BlockCandidate& c = candidates()[base];
    const detail::ProbeCost more = cost_of(level, shapes_[base]);
    const double seconds = c.setup_seconds + more.start +
                           std::max(1.0, iterations_with(level, c.iterations)) * (c.iteration_seconds + more.iteration);
    if (seconds < best.seconds) best = {seconds, 0, 0.0, base, level};
  }

  detail::ProbeCost cost_of(Level level, const detail::BlockShape& shape) const {
    return level == Level::multigrid ? cost_.multigrid(shape) : cost_.coarse(shape, coarse_size(), relaxed_of(level));
  }

  bool may_have(Level level) const {
    const index_t times =
        level == Level::multigrid ? detail::times_of_multigrid : std::max(index_t{1}, relaxed_of(level));
    if (!options_.coarse || !detail::has_room(matrix_.nnz(), times)) return false;
    return level != Level::multigrid ||
           (is_diffusion_ && matrix_.rows() > MultigridOptions{}.coarsest && is_hermitian_.value_or(true));
  }
  bool is_hermitian() {
    if (!is_hermitian_) is_hermitian_ = detail::is_hermitian_but_for_rounding(matrix_);
    return *is_hermitian_;
  }
  double coarse_size() const { return detail::default_coarse_size(matrix_.backend(), matrix_.nnz()); }
  bool is_found(index_t size) const {
    return std::ranges::find(suggestion_.candidates, detail::message("clusters {}", size), &BlockCandidate::name) !=
           suggestion_.candidates.end();
  }
  bool has(std::size_t base, Level level) const {
    for (std::size_t i = 0; i < base_.size(); ++i)
      if (base_[i] == base && level_of(suggestion_.candidates[i]) == level) return true;
    return false;
  }

  void add_coupled() {
    add("coupled 32", BlockPartition::detect(matrix_, DetectOptions{.merge = Merge::coupled}));
    const auto weight = [&](const auto& view) {
      return detail::captured_weights(view, {&candidates().back().blocks}, host_.backend().threads())[0];
    };
    candidates().back().captured = std::visit(weight, host_.view());
    predict();
  }

  void add_clusters(index_t size, double presumed_left) {
    PermutedPartition found = BlockPartition::clusters(matrix_, size);
    const auto weight = [&](const auto& view) {
      return detail::captured_weight(view, found, host_.backend().threads());
    };
    const double captured = std::visit(weight, host_.view());
    add(detail::message("clusters {}", size), std::move(found.blocks), std::move(found.permutation));
    candidates().back().captured = captured;
    // why: where these leave more than was presumed, others will
    more_left_ *= (1.0 - captured) / std::max(presumed_left, least_left);
  }

  void add_level(std::size_t base, Level level) {
    BlockCandidate c = candidates()[base];
    const detail::ProbeCost more = cost_of(level, shapes_[base]);
    c.name += suffix_of(level);
    if (level == Level::multigrid)
      c.multigrid = MultigridOptions{};
    else
      c.coarse = TwoLevelOptions{.mode = options_.method == Method::cg ? CoarseMode::adef2 : CoarseMode::adef1,
                                 .relaxed = relaxed_of(level)};
    c.setup_seconds += more.start;
    c.iteration_seconds += more.iteration;
    c.probed = c.failed = false;
    c.probe_iterations = 0;
    c.probe_reduction = 1.0;
    base_.push_back(base);
    shapes_.push_back(shapes_[base]);
    candidates().push_back(std::move(c));
  }

  /// What the user says of bandwidth and latency is said of the device.
  detail::CostModel host_cost_of(SuggestOptions options) const {
    options.bandwidth = options.latency = 0.0;
    return detail::cost_model(host_.backend(), matrix_.rows(), matrix_.nnz(), sizeof(T), options);
  }

  void probe_scalar() {
    probe(0, share_of_scalar, host_cost_.diagonal_probe(scalar().blocks), [&](index_t most) {
      b_ = random_right_hand_side(LinearOperator<T>(host_));
      return detail::probe_diagonal(host_, b_, options_, most, presumed_iterations());
    });
  }

  /// False if there is nothing to probe, or no room.
  bool probe_fastest() {
    const std::size_t i = fastest();
    const BlockCandidate& c = candidates()[i];
    return !c.probed && !c.failed && !is_scalar(c) && probe_here(i);
  }

  /// With what is left of the budget, a coarse level on the fastest blocks: what it is worth differs most of all.
  void probe_coarse() {
    const std::size_t base = base_[fastest()];
    if (candidates()[base].failed || !may_have(Level::ones) || has(base, Level::ones)) return;
    const detail::ProbeCost more = cost_of(Level::ones, shapes_[base]);
    if (room(1.0, cost_.probe(candidates()[base].setup_seconds + more.start,
                              candidates()[base].iteration_seconds + more.iteration)) < 1.0)
      return;
    add_level(base, Level::ones);
    predict();
    probe_here(candidates().size() - 1);
  }

  /// Iterations that so much of the budget has room for.
  double room(double share, const detail::ProbeCost& cost) const {
    const double budget = options_.probe_share * suggestion_.candidates[fastest()].seconds;
    return (share * budget - suggestion_.probe_cost - cost.start) / cost.iteration;
  }

  bool probe_here(std::size_t i) {
    const BlockCandidate& c = candidates()[i];
    return probe(i, 1.0, cost_.probe(c.setup_seconds, c.iteration_seconds),
                 [&](index_t most) { return detail::probe_candidate(matrix_, c, b_, options_, most, c.iterations); });
  }

  /// Runs as many iterations as so much of the budget has room for, or none; false if none.
  template <class Run>
  bool probe(std::size_t i, double share, const detail::ProbeCost& cost, const Run& run) {
    BlockCandidate& c = candidates()[i];
    const double budget = options_.probe_share * candidates()[fastest()].seconds;
    const double most = room(share, cost);
    if (!(most >= 1.0)) return false;
    const auto start = std::chrono::steady_clock::now();
    const detail::ProbeResult result = run(static_cast<index_t>(std::min(most, most_probed())));
    suggestion_.probe_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    c.probed = true;
    // Other candidates may be the same under another name.
    for (BlockCandidate& same : candidates()) same.failed = same.failed || (result.failed && is_same(same, c));
    c.probe_iterations = result.iterations;
    c.probe_reduction = result.reduction;
    learn(i, result.depth);
    suggestion_.probe_cost += cost.start + result.iterations * cost.iteration;
    suggestion_.probe_budget = budget;
    predict();
    return true;
  }

  /// What the cost of a probe stands for: GMRES has few vectors to work with at first.
  double most_probed() const {
    return options_.method == Method::cg ? most_iterations : std::max(1.0, detail::probed_part * options_.restart);
  }

  static bool is_scalar(const BlockCandidate& c) {
    return level_of(c) == Level::none && c.captured < captures_something;
  }

  static bool is_same(const BlockCandidate& a, const BlockCandidate& b) {
    return level_of(a) == level_of(b) && a.blocks == b.blocks && a.permutation == b.permutation;
  }

  std::size_t fastest() const {
    const auto begin = suggestion_.candidates.begin();
    return static_cast<std::size_t>(std::min_element(begin, suggestion_.candidates.end(), is_better) - begin);
  }

  /// One that gained nothing is predicted to take for ever as well, but did not break down.
  static bool is_better(const BlockCandidate& a, const BlockCandidate& b) {
    return a.failed != b.failed ? b.failed : a.seconds < b.seconds;
  }

  double presumed_iterations() const {
    const auto nnz = static_cast<double>(matrix_.nnz());
    return detail::presumed_iterations(presumed_, matrix_.rows(), nnz, is_diffusion_, by_coupling_);
  }
  /// With a level above blocks that take so many alone.
  double iterations_with(Level level, double alone) const {
    switch (level) {
      case Level::none: break;
      case Level::ones: return presumed_.with_ones * alone;
      case Level::relaxed: return presumed_.with_relaxed * alone;
      case Level::multigrid: return with_multigrid * std::sqrt(alone);
    }
    return alone;
  }
  /// Of the iterations of blocks that capture nothing, those of blocks that leave so much of the weight outside.
  static double expected_part(double left) { return std::pow(std::max(left, least_left), power); }

  /// The iterations of all that were not probed, by what is known now; a level comes after its blocks.
  void predict() {
    for (std::size_t i = 0; i < candidates().size(); ++i) {
      const BlockCandidate& c = candidates()[i];
      if (c.failed)
        set_iterations(i, std::numeric_limits<double>::infinity());
      else if (!c.probed && level_of(c) != Level::none)
        set_iterations(i, iterations_with(level_of(c), candidates()[base_[i]].iterations));
      else if (!c.probed)
        set_iterations(
            i, (is_scalar(c) && scalar().probed ? scalar().iterations : reference_) * expected_part(1.0 - c.captured));
    }
  }

  void set_iterations(std::size_t i, double iterations) { detail::set_iterations(candidates()[i], iterations); }

  /// From a probe that came so far.
  void learn(std::size_t i, double depth) {
    const BlockCandidate& c = candidates()[i];
    // What is smooth in the error of a diffusion, which takes the iterations, hardly shows in the residual at first.
    const bool starts_fast = is_diffusion_ && level_of(c) != Level::multigrid;
    set_iterations(i, detail::predicted_iterations(c.probe_iterations, depth, c.iterations, starts_fast));
    if (c.failed || level_of(c) != Level::none || !std::isfinite(c.iterations)) return;
    // why: blocks with which nothing converges say nothing about others
    const double reference = c.iterations / expected_part(1.0 - c.captured);
    reference_ = i == 0 ? reference : std::min(reference_, reference);
  }

  void recommend() {
    suggestion_.recommended = fastest();
    // why: what is only predicted is not safe enough to leave scalar Jacobi for little
    if (!scalar().failed && suggestion_.best().seconds > worth_it * scalar().seconds) suggestion_.recommended = 0;
  }

  SparseMatrix<T> matrix_, host_;
  SuggestOptions options_;
  Presumed presumed_;
  detail::CostModel cost_, host_cost_;
  Suggestion suggestion_;
  std::vector<detail::BlockShape> shapes_;  ///< of the blocks of each candidate, a pass over them
  std::vector<std::size_t> base_;           ///< of each candidate the one with the same blocks and nothing above
  BlockPartition nodes_;                    ///< that clusters keep whole
  std::vector<T> b_;
  bool is_diffusion_ = false;         ///< by its signs, and for cg
  double by_coupling_ = 0.0;          ///< iterations of scalar Jacobi, by how much rows are coupled
  std::optional<bool> is_hermitian_;  ///< as a Multigrid asks for it
  double left_by_strongest_ = 0.0;    ///< part of the weight that is not in the strongest coupling of a row
  double more_left_ = 1.0;            ///< by clusters that were found, over what was presumed
  double reference_ = 0.0;            ///< iterations of blocks that capture nothing
};

/// Of a matrix on its backend and on the host.
template <Scalar T>
Suggestion studied(const SparseMatrix<T>& matrix, const SparseMatrix<T>& host, const SuggestOptions& options) {
  const auto where = [&](const auto& view) { return detail::first_non_finite(view, host.backend().threads()); };
  const auto non_finite = std::visit(where, host.view());
  if (!non_finite) return Study<T>(matrix, host, options).run();
  const auto cost = detail::cost_model(matrix.backend(), matrix.rows(), matrix.nnz(), sizeof(T), options);
  BlockCandidate scalar = detail::costed("scalar", detail::BlockShape::of_rows(matrix.rows()), sizeof(T), cost);
  detail::set_iterations(scalar, std::numeric_limits<double>::infinity());
  Suggestion suggestion = detail::scalar_alone(std::move(scalar), matrix.rows());
  suggestion.non_finite = non_finite;
  return suggestion;
}

}  // namespace

template <Scalar T>
Suggestion suggest(const SparseMatrix<T>& matrix, const SuggestOptions& options) {
  require_arguments(matrix, options);
  if (!matrix.block_size()) {  // stated nodes are worth a look
    auto glance = detail::at_a_glance(matrix, options);
    if (glance) return *std::move(glance);
  }
  if (matrix.backend().kind() == BackendKind::host) return studied(matrix, matrix, options);
  return studied(matrix, SparseMatrix<T>(Backend::host(), matrix.to_host()), options);
}

template <Scalar T>
Suggestion suggest(const Backend& backend, const CsrMatrix<T>& matrix, const SuggestOptions& options) {
  require_arguments(matrix, options);
  // Before the matrix goes to the device.
  auto scalar = detail::without_a_look(backend, matrix.rows(), matrix.nnz(), sizeof(T), options);
  if (scalar) return *std::move(scalar);
  const auto A = SparseMatrix<T>::adopt(backend, matrix);
  if (backend.kind() == BackendKind::host) return studied(A, A, options);
  return studied(A, SparseMatrix<T>::adopt(Backend::host(), matrix), options);
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
