#include <blockjacobi/suggest.hpp>

#include "core/message.hpp"
#include "partition/magnitudes.hpp"
#include "partition/strength_graph.hpp"
#include "suggest/cost_model.hpp"
#include "suggest/probe.hpp"

#include <blockjacobi/error.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

namespace blockjacobi {

namespace {

/// Without a probe only the order of the candidates counts.
constexpr double iterations_without_probe = 200.0;

template <Scalar T>
void require_arguments(const CsrMatrix<T>& matrix, const SuggestOptions& o) {
  if (matrix.rows() != matrix.cols())
    throw InvalidArgument(
        detail::message("suggest: the matrix is {} x {}, must be square", matrix.rows(), matrix.cols()));
  if (!(o.rtol > 0.0 && o.rtol < 1.0))
    throw InvalidArgument(detail::message("suggest: rtol is {}, must be between 0 and 1", o.rtol));
  if (!(o.probe_share >= 0.0 && o.probe_share <= 1.0))
    throw InvalidArgument(detail::message("suggest: probe_share is {}, must be in [0, 1]", o.probe_share));
  if (o.restart < 1) throw InvalidArgument(detail::message("suggest: restart is {}, must be >= 1", o.restart));
  if (!(o.bandwidth >= 0.0) || !(o.latency >= 0.0))
    throw InvalidArgument(
        detail::message("suggest: bandwidth is {}, latency is {}, must be >= 0", o.bandwidth, o.latency));
}

/// min(1, |a_ij| / sqrt(s_i s_j)) of every entry, 0 on the diagonal.
CsrMatrix<double> strengths(CsrMatrix<double> magnitudes) {
  const std::vector<double> scales = detail::row_scales(magnitudes);
  const auto offsets = magnitudes.row_offsets();
  for (std::size_t i = 0; i < scales.size(); ++i)
    for (auto k = static_cast<std::size_t>(offsets[i]); k < static_cast<std::size_t>(offsets[i + 1]); ++k) {
      const auto j = static_cast<std::size_t>(magnitudes.columns()[k]);
      magnitudes.values()[k] = i == j ? 0.0 : detail::strength(magnitudes.values()[k], scales[i], scales[j]);
    }
  return magnitudes;
}

double captured(const CsrMatrix<double>& strengths, const BlockPartition& blocks) {
  double inside = 0.0, all = 0.0;
  for (index_t b = 0; b < blocks.blocks(); ++b)
    for (index_t i = blocks.first_row(b); i < blocks.first_row(b + 1); ++i)
      for (offset_t k = strengths.view().row_offsets[i]; k < strengths.view().row_offsets[i + 1]; ++k) {
        const index_t j = strengths.view().columns[k];
        all += strengths.view().values[k];
        if (j >= blocks.first_row(b) && j < blocks.first_row(b + 1)) inside += strengths.view().values[k];
      }
  return all > 0.0 ? inside / all : 1.0;
}

/// A x for x uniform in [-1, 1] (both parts), the same on every machine.
template <Scalar T>
std::vector<T> random_right_hand_side(const CsrMatrix<T>& A) {
  std::mt19937_64 engine(1);
  const auto next = [&engine] { return static_cast<real_t<T>>(static_cast<double>(engine() >> 11) * 0x1p-52 - 1.0); };
  std::vector<T> x(static_cast<std::size_t>(A.rows())), b(x.size());
  for (T& value : x) {
    if constexpr (is_complex<T>) {
      const auto real = next(), imaginary = next();
      value = T(real, imaginary);
    } else {
      value = next();
    }
  }
  for (std::size_t i = 0; i < b.size(); ++i)
    for (auto k = static_cast<std::size_t>(A.row_offsets()[i]); k < static_cast<std::size_t>(A.row_offsets()[i + 1]);
         ++k)
      b[i] += A.values()[k] * x[static_cast<std::size_t>(A.columns()[k])];
  return b;
}

/// The candidates of one matrix, from what the pattern and the values say to what the probes say.
template <Scalar T>
class Study {
 public:
  Study(const Backend& backend, const CsrMatrix<T>& matrix, const SuggestOptions& options)
      : backend_(backend),
        matrix_(matrix),
        options_(options),
        cost_(detail::cost_model(backend, matrix.rows(), matrix.nnz(), sizeof(T), options)),
        strengths_(strengths(detail::magnitudes(matrix.view()))) {
    const index_t n = matrix.rows();
    add("scalar", BlockPartition::uniform(n, 1), 0.0);
    for (const index_t size : {8, 16, 32})
      add(detail::message("detect {}", size), BlockPartition::detect(matrix, size), 1.0);
    for (const index_t size : {8, 32, 64})
      add(detail::message("uniform {}", size), BlockPartition::uniform(n, size), 0.0);
    add("coupled 32", BlockPartition::detect(matrix, DetectOptions{.merge = Merge::coupled}), 4.0);
  }

  Suggestion run() && {
    if (options_.probe_share > 0.0 && matrix_.nnz() > 0) probe_two();
    scale_the_others();
    recommend();
    return std::move(suggestion_);
  }

 private:
  BlockCandidate& scalar() { return suggestion_.candidates.front(); }

  /// What is probed beside scalar Jacobi: coupled blocks where the bytes of an iteration count, as on the host. On CUDA
  /// most iterations take their time whatever the blocks are, so that another choice may need fewer of them: the one
  /// that the couplings speak for.
  std::size_t rival() {
    const auto& candidates = suggestion_.candidates;
    const std::size_t coupled = candidates.size() - 1;
    if (backend_.kind() != BackendKind::cuda) return coupled;
    const double iterations = std::isfinite(scalar().iterations) ? scalar().iterations : iterations_without_probe;
    const auto seconds = [&](const BlockCandidate& c) {
      return c.setup_seconds + std::max(1.0, iterations * std::sqrt(1.0 - c.captured)) * c.iteration_seconds;
    };
    std::size_t best = 1;
    for (std::size_t i = 2; i < candidates.size(); ++i)
      if (seconds(candidates[i]) < seconds(candidates[best])) best = i;
    return best;
  }

  void add(std::string name, BlockPartition blocks, double passes) {
    BlockCandidate c;
    c.name = std::move(name);
    c.captured = captured(strengths_, blocks);
    c.bytes = static_cast<std::size_t>(detail::block_elements(blocks)) * sizeof(T);
    c.setup_seconds = cost_.setup_seconds(blocks, passes);
    c.iteration_seconds = cost_.iteration_seconds(blocks);
    c.blocks = std::move(blocks);
    suggestion_.candidates.push_back(std::move(c));
  }

  void probe_two() {
    const auto start = std::chrono::steady_clock::now();
    const LinearOperator<T> A(backend_, matrix_);
    const Array<T> b(backend_, random_right_hand_side(matrix_));
    probe(A, b, scalar());
    rival_ = rival();
    probe(A, b, suggestion_.candidates[rival_]);
    suggestion_.probe_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void probe(const LinearOperator<T>& A, const Array<T>& b, BlockCandidate& c) {
    const auto result = detail::probe(A, matrix_, c.blocks, b, options_, options_.probe_share / 2.0);
    c.probed = true;
    c.failed = result.failed;
    c.probe_iterations = result.iterations;
    c.probe_reduction = result.reduction;
    const double expected = scalar().iterations * (1.0 - c.captured);
    const bool two_views = &c != &scalar() && std::isfinite(result.predicted) && std::isfinite(expected);
    set_iterations(c, two_views ? std::sqrt(result.predicted * expected) : result.predicted);
  }

  void scale_the_others() {
    const bool from_scalar = !scalar().probed || std::isfinite(scalar().iterations);
    const BlockCandidate& reference = from_scalar ? scalar() : suggestion_.candidates[rival_];
    const double iterations = reference.probed ? reference.iterations : iterations_without_probe;
    const double left = std::max(1e-3, 1.0 - reference.captured);
    for (BlockCandidate& c : suggestion_.candidates)
      if (!c.probed) set_iterations(c, iterations * std::sqrt((1.0 - c.captured) / left));
  }

  static void set_iterations(BlockCandidate& c, double iterations) {
    c.iterations = std::max(1.0, iterations);
    c.seconds = c.setup_seconds + c.iterations * c.iteration_seconds;
  }

  void recommend() {
    const auto& candidates = suggestion_.candidates;
    const bool any_probed = scalar().probed;
    for (std::size_t i = 1; i < candidates.size(); ++i)
      if ((candidates[i].probed || !any_probed) && candidates[i].seconds < suggestion_.best().seconds)
        suggestion_.recommended = i;
  }

  const Backend& backend_;
  const CsrMatrix<T>& matrix_;
  SuggestOptions options_;
  detail::CostModel cost_;
  CsrMatrix<double> strengths_;
  Suggestion suggestion_;
  std::size_t rival_ = 0;
};

}  // namespace

template <Scalar T>
Suggestion suggest(const Backend& backend, const CsrMatrix<T>& matrix, const SuggestOptions& options) {
  require_arguments(matrix, options);
  return Study<T>(backend, matrix, options).run();
}

#define BLOCKJACOBI_INSTANTIATE(T) \
  template Suggestion suggest(const Backend&, const CsrMatrix<T>&, const SuggestOptions&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
