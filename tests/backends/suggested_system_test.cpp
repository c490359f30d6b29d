#include "backends/systems.hpp"
#include "suggest/captured.hpp"
#include "support/backends.hpp"
#include "support/bits.hpp"
#include "support/messages.hpp"

namespace blockjacobi::test {
namespace {

template <class Case>
class SuggestedSystemOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(SuggestedSystemOnBackend, BackendCases, BackendCaseName);

template <Scalar T>
std::vector<BlockCandidate> candidates_of(const SparseMatrix<T>& matrix, CoarseMode mode) {
  // A multigrid is for Hermitian matrices.
  std::vector<BlockCandidate> candidates(mode == CoarseMode::adef2 ? 6 : 4);
  candidates[0].permutation = Permutation::identity(matrix.rows());
  candidates[0].blocks = BlockPartition::uniform(matrix.rows(), 4);
  auto [permutation, blocks] = BlockPartition::clusters(matrix, 16);
  candidates[1].permutation = permutation;
  candidates[1].blocks = blocks;
  candidates[2] = candidates[0];
  candidates[3] = candidates[1];
  candidates[2].coarse = candidates[3].coarse = TwoLevelOptions{.mode = mode, .size = 32};
  for (std::size_t i = 4; i < candidates.size(); ++i) {
    candidates[i] = candidates[i - 4];
    candidates[i].multigrid = MultigridOptions{.coarsest = 100};
  }
  return candidates;
}

/// In the user's numbering, from vectors on the host and on the backend; the same after new values as of a new object.
TYPED_TEST(SuggestedSystemOnBackend, SolvesAndRefreshes) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const double wind : {0.0, 0.3}) {
    const Method method = wind == 0.0 ? Method::cg : Method::gmres;
    const CsrMatrix<T> a = grid_matrix<T>(24, wind);
    CsrMatrix<T> twice = a;
    for (T& value : twice.values()) value *= real_t<T>(2);
    SparseMatrix<T> matrix(backend, a);
    const std::vector<T> b = product(a, random_vector<T>(a.rows(), 71));
    const SolveOptions options = options_for<T>();
    for (const BlockCandidate& c : candidates_of(matrix, wind == 0.0 ? CoarseMode::adef2 : CoarseMode::adef1)) {
      matrix.update_values(a.values());
      SuggestedSystem<T> system(matrix, c);
      EXPECT_EQ(system.permutation(), c.permutation);
      std::vector<T> x(b.size());
      expect_solved(system.solve(method, b, x, options), a, b, x, options.rtol);

      const Array<T> right(backend, b);
      Array<T> left(backend, b.size());
      left.zero();
      const SolveReport report = system.solve(method, right.view(), left.view(), options);
      expect_solved(report, a, b, left.to_host(), options.rtol);
      EXPECT_TRUE(same_bits(left.to_host(), x));

      matrix.update_values(twice.values());
      system.refresh();
      std::vector<T> y(b.size()), z(b.size());
      expect_solved(system.solve(method, b, y, options), twice, b, y, options.rtol);
      static_cast<void>(SuggestedSystem<T>(matrix, c).solve(method, b, z, options));
      EXPECT_TRUE(same_bits(y, z));
    }
  }
}

/// On CUDA a look takes longer than a solve of a small system by CG.
TYPED_TEST(SuggestedSystemOnBackend, ALookIsTakenWhereItMayPay) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(24, 0.0);
  const SparseMatrix<T> A(backend, a), of_nodes(backend, a, {.block_size = 3});
  const bool always = backend.kind() == BackendKind::host;
  const Suggestion found = suggest(A);
  EXPECT_EQ(found.candidates.size() > 1, always) << to_text(found);
  if (!always) {
    EXPECT_EQ(found.best().name, "scalar");
    EXPECT_EQ(found.best().blocks.blocks(), a.rows());
    EXPECT_FALSE(found.best().probed);
    EXPECT_GT(found.best().iterations, 1.0);
    EXPECT_NE(to_text(found).find("recommended: scalar, without a look at others"), std::string::npos);
  }
  EXPECT_EQ(SuggestedSystem<T>(A, found.best()).matrix().rows(), a.rows());
  EXPECT_GT(suggest(A, {.method = Method::gmres}).candidates.size(), 1u);
  EXPECT_GT(suggest(A, {.probe_share = 0.0}).candidates.size(), 1u);
  EXPECT_GT(suggest(A, {.probe_share = 1.0}).candidates.size(), 1u);
  EXPECT_GT(suggest(of_nodes).candidates.size(), 1u);
}

/// 5-point couplings of that sign, with barely more than their sum on the diagonal, or more.
template <Scalar T>
CsrMatrix<T> large_grid(double sign, double wind = 0.0, double more = 0.0) {
  CsrMatrix<T> a = grid_matrix<T>(500, wind);
  for (index_t i = 0; i < a.rows(); ++i)
    for (auto k = static_cast<std::size_t>(a.row_offsets()[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(a.row_offsets()[static_cast<std::size_t>(i) + 1]); ++k)
      a.values()[k] = a.columns()[k] == i ? T(static_cast<real_t<T>>((is_complex<T> ? 4.0891 : 4.0001) + more))
                                          : T(real_t<T>(-sign)) * a.values()[k];
  return a;
}

/// On CUDA without a look, by what the device sees.
TYPED_TEST(SuggestedSystemOnBackend, ALargeDiffusionGetsAMultigrid) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const SparseMatrix<T> diffusion(backend, large_grid<T>(-1.0));
  const Suggestion found = suggest(diffusion);
  EXPECT_TRUE(found.best().multigrid) << to_text(found);
  if (backend.kind() == BackendKind::cuda) {
    EXPECT_EQ(found.candidates.size(), 2u);
    EXPECT_EQ(found.best().blocks, BlockPartition::detect(diffusion, 8));
    EXPECT_GT(found.candidates[0].seconds, found.best().seconds);
  }
  const auto expect_none = [&](const CsrMatrix<T>& a, const SuggestOptions& options = {}) {
    const Suggestion other = suggest(SparseMatrix<T>(backend, a), options);
    EXPECT_FALSE(other.best().multigrid) << to_text(other);
  };
  expect_none(large_grid<T>(1.0));        // as a mass matrix
  expect_none(large_grid<T>(-1.0, 0.3));  // not Hermitian
  expect_none(large_grid<T>(-1.0), {.coarse = false});
  expect_none(large_grid<T>(-1.0, 0.0, 4.0));  // a few iterations do
  expect_none(diagonal<T>(std::vector<double>(250000, 2.0)));
}

/// Beside sums in the order of the entries.
TYPED_TEST(SuggestedSystemOnBackend, CouplingsAreSummedUp) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto expect_share = [&](const CsrMatrix<T>& a) {
    std::vector<double> scale(static_cast<std::size_t>(a.rows()));
    double all = 0.0, positive = 0.0;
    const auto for_each = [&](auto visit) {
      for (index_t i = 0; i < a.rows(); ++i)
        for (auto k = static_cast<std::size_t>(a.row_offsets()[static_cast<std::size_t>(i)]);
             k < static_cast<std::size_t>(a.row_offsets()[static_cast<std::size_t>(i) + 1]); ++k)
          visit(static_cast<std::size_t>(i), static_cast<std::size_t>(a.columns()[k]), a.values()[k]);
    };
    for_each([&](std::size_t i, std::size_t j, T value) {
      if (i == j) scale[i] = static_cast<double>(std::abs(value));
    });
    for_each([&](std::size_t i, std::size_t j, T value) {
      const auto size = static_cast<double>(std::abs(value));
      if (i == j || !(size > 0.0)) return;
      const double strength = std::min(1.0, size / std::sqrt(scale[i] * scale[j]));
      all += strength;
      positive += strength * std::max(0.0, static_cast<double>(std::real(value)) / size);
    });
    const double expected = all > 0.0 ? positive / all : 0.0;
    const detail::CouplingTotals found = detail::coupling_totals(SparseMatrix<T>(backend, a));
    EXPECT_NEAR(found.all, all, 1e-6 * (all + 1.0));
    EXPECT_NEAR(found.positive, positive, 1e-6 * (all + 1.0));
    return expected;
  };
  CsrMatrix<T> mixed = grid_matrix<T>(270), rows = long_row_matrix<T>(25);  // past 65 536 rows, and one of hundreds
  Random random(72);
  for (T& value : mixed.values()) value *= static_cast<real_t<T>>(random.real());
  for (std::size_t k = 0; k < rows.values().size(); k += 3) rows.values()[k] *= real_t<T>(-3);
  EXPECT_GT(expect_share(mixed), 0.3);
  EXPECT_GT(expect_share(rows), 0.1);
  EXPECT_EQ(expect_share(grid_matrix<T>(24)), 0.0);
  EXPECT_EQ(expect_share(diagonal<T>({1.0, -2.0, 0.0})), 0.0);
}

TYPED_TEST(SuggestedSystemOnBackend, NodesThatStayWholeAreStated) {
  using T = typename TypeParam::Scalar;
  const SparseMatrix<T> matrix(this->make_backend(), grid_matrix<T>(12), {.block_size = 3});
  BlockCandidate c;
  std::tie(c.permutation, c.blocks) = [&] {
    auto found = BlockPartition::clusters(matrix, 12);
    return std::pair{found.permutation, found.blocks};
  }();
  EXPECT_EQ(SuggestedSystem<T>(matrix, c).matrix().block_size(), 3);
  std::vector<index_t> labels;
  for (index_t i = 0; i < 144; ++i) labels.push_back(i % 12);
  const auto torn = BlockPartition::from_labels(labels);
  c.permutation = torn.permutation;
  c.blocks = torn.blocks;
  EXPECT_EQ(SuggestedSystem<T>(matrix, c).matrix().block_size(), std::nullopt);
}

TYPED_TEST(SuggestedSystemOnBackend, Misuse) {
  using T = typename TypeParam::Scalar;
  const SparseMatrix<T> matrix(this->make_backend(), grid_matrix<T>(6));
  const BlockCandidate c = candidates_of(matrix, CoarseMode::adef2)[1];
  const SparseMatrix<T> larger(matrix.backend(), grid_matrix<T>(7));
  const auto expect_message = [](const char* part, auto misuse) {
    const std::string message = message_of(misuse);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect_message("the matrix 49", [&] { SuggestedSystem<T>(larger, c); });
  BlockCandidate both = candidates_of(matrix, CoarseMode::adef2)[5];
  both.coarse = TwoLevelOptions{};
  expect_message("a coarse level and a multigrid", [&] { SuggestedSystem<T>(matrix, both); });
  SuggestedSystem<T> system(matrix, c);
  std::vector<T> b(36), shorter(35);
  expect_message("x: length is 35", [&] { static_cast<void>(system.solve(Method::cg, b, shorter)); });
  expect_message("b: length is 35", [&] { static_cast<void>(system.solve(Method::cg, shorter, b)); });
  expect_message("overlap", [&] { static_cast<void>(system.solve(Method::cg, b, b)); });
  expect_message("method is 5", [&] { static_cast<void>(system.solve(static_cast<Method>(5), b, b)); });
  const SuggestedSystem<T> moved = std::move(system);
  expect_message("moved from", [&] { system.refresh(); });
}

}  // namespace
}  // namespace blockjacobi::test
