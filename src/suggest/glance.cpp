#include "suggest/glance.hpp"

#include "core/symmetry.hpp"
#include "suggest/captured.hpp"
#include "suggest/presumed.hpp"

#include <algorithm>
#include <complex>
#include <utility>

namespace blockjacobi::detail {

namespace {

/// Of probe_share, what a look at the matrix may take, or a glance.
constexpr double share_of_look = 0.5;
/// Rows of a block that smooths.
constexpr index_t largest_smoother = 8;

template <Scalar T>
void weigh_multigrid(const SparseMatrix<T>& matrix, const SuggestOptions& options, Suggestion& suggestion) {
  const index_t rows = matrix.rows();
  if (!options.coarse || rows <= MultigridOptions{}.coarsest || !has_room(matrix.nnz(), times_of_multigrid)) return;
  const CostModel cost = cost_model(matrix.backend(), rows, matrix.nnz(), sizeof(T), options);
  BlockCandidate scalar = suggestion.candidates.front(), levels;
  const auto pay = [&](const BlockShape& shape, double iterations) {
    set_iterations(scalar, iterations);
    const ProbeCost more = cost.multigrid(shape);
    levels = costed("detect 8 + multigrid", shape, sizeof(T), cost);
    levels.multigrid = MultigridOptions{};
    levels.setup_seconds += more.start;
    levels.iteration_seconds += more.iteration;
    set_iterations(levels, with_multigrid * std::sqrt(scalar.iterations));
    return levels.seconds <= worth_it * scalar.seconds;
  };
  const auto expected = BlockShape::of_clusters(rows, largest_smoother);
  if (!pay(expected, presumed_iterations(presumed_of_cg, rows, cost.nnz, true))) return;
  if (cost.glance_seconds() > share_of_look * options.probe_share * scalar.seconds) return;
  const CouplingTotals couplings = coupling_totals(matrix);
  const double least = std::min(scalar.iterations, iterations_by_coupling(couplings.all / rows, options.rtol));
  if (couplings.positive > most_positive_of_diffusion * couplings.all || !pay(expected, least)) return;
  if (!is_hermitian_but_for_rounding(matrix)) return;
  BlockPartition blocks = BlockPartition::detect(matrix, largest_smoother);
  const bool still_pay = pay(blocks, least);
  levels.blocks = std::move(blocks);
  levels.permutation = scalar.permutation;
  suggestion.candidates = {std::move(scalar), std::move(levels)};
  suggestion.recommended = still_pay ? 1 : 0;
}

}  // namespace

Suggestion scalar_alone(BlockCandidate scalar, index_t rows) {
  scalar.blocks = BlockPartition::uniform(rows, 1);
  scalar.permutation = Permutation::identity(rows);
  Suggestion suggestion;
  suggestion.candidates.push_back(std::move(scalar));
  return suggestion;
}

std::optional<Suggestion> without_a_look(const Backend& backend, index_t rows, offset_t nnz, std::size_t scalar_bytes,
                                         const SuggestOptions& options) {
  const bool looks_anyway = options.probe_share == 0.0 || options.probe_share == 1.0;
  if (backend.kind() == BackendKind::host || options.method != Method::cg || looks_anyway) return {};
  const CostModel cost = cost_model(backend, rows, nnz, scalar_bytes, options);
  BlockCandidate scalar = costed("scalar", BlockShape::of_rows(rows), scalar_bytes, cost);
  set_iterations(scalar, presumed_iterations(presumed_of_cg, rows, cost.nnz, false));
  if (cost.look_seconds() <= share_of_look * options.probe_share * scalar.seconds) return {};
  return scalar_alone(std::move(scalar), rows);
}

template <Scalar T>
std::optional<Suggestion> at_a_glance(const SparseMatrix<T>& matrix, const SuggestOptions& options) {
  auto suggestion = without_a_look(matrix.backend(), matrix.rows(), matrix.nnz(), sizeof(T), options);
  if (suggestion) weigh_multigrid(matrix, options, *suggestion);
  return suggestion;
}

#define BLOCKJACOBI_INSTANTIATE(T) \
  template std::optional<Suggestion> at_a_glance(const SparseMatrix<T>&, const SuggestOptions&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
