#include "backends/two_level.hpp"
#include "support/backends.hpp"
#include "support/bits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

// Systems whose kernel is in the coarse space: a coarse matrix has rounding errors in place of zero there, which are
// those of the numbers that it was computed from. Its own may be smaller than they are.

namespace blockjacobi::test {
namespace {

template <class Case>
class FloatingOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(FloatingOnBackend, BackendCases, BackendCaseName);

using Grid = std::array<index_t, 3>;

/// Springs of 1 to `contrast` along the edges of each of `parts` grids, the first point of the first held by a spring:
/// with 0 they float, and on each part the ones are in the kernel.
template <Scalar T>
CsrMatrix<T> springs(const Grid& grid, double contrast, double hold, index_t parts = 1) {
  const index_t points = grid[0] * grid[1] * grid[2];
  std::vector<Triplet<T>> entries{{0, 0, T(static_cast<real_t<T>>(hold))}};
  index_t edges = 0;
  const auto couple = [&](index_t a, index_t b) {
    const T spring(static_cast<real_t<T>>(std::pow(contrast, std::fmod(0.618034 * edges++, 1.0))));
    entries.insert(entries.end(), {{a, b, -spring}, {b, a, -spring}, {a, a, spring}, {b, b, spring}});
  };
  for (index_t part = 0; part < parts; ++part)
    for (index_t i = 0; i < points; ++i) {
      const index_t x = i % grid[0], y = i / grid[0] % grid[1], z = i / (grid[0] * grid[1]), point = part * points + i;
      if (x + 1 < grid[0]) couple(point, point + 1);
      if (y + 1 < grid[1]) couple(point, point + grid[0]);
      if (z + 1 < grid[2]) couple(point, point + grid[0] * grid[1]);
    }
  return CsrMatrix<T>::from_triplets(parts * points, parts * points, entries);
}

/// Iterations of CG, and x no larger than what it is made of: nothing of the kernel is heaped up in it.
template <Scalar T>
index_t solve(const SparseMatrix<T>& matrix, const std::type_identity_t<Preconditioner<T>>& M) {
  const CsrMatrix<T> host_matrix = matrix.to_host();
  const std::vector<T> b = product(host_matrix, random_vector<T>(host_matrix.rows(), 91));
  std::vector<T> x(b.size());
  SolveOptions options = reachable<T>();
  options.max_iterations = 3000;
  const SolveReport report = cg(LinearOperator<T>(matrix), M, b, x, options);
  EXPECT_EQ(report.reason, StopReason::converged) << to_text(report);
  EXPECT_LE(residual(host_matrix, b, x), 1.01 * options.rtol);
  if (to_eight_digits<T>) {
    EXPECT_LE(std::abs(*std::max_element(x.begin(), x.end(), [](T a, T c) { return std::abs(a) < std::abs(c); })), 4.0);
  }
  return report.iterations;
}

template <Scalar T>
Multigrid<T> multigrid(const SparseMatrix<T>& matrix, index_t coarsest) {
  return {matrix, BlockJacobi<T>(matrix, BlockPartition::uniform(matrix.rows(), 4)), {.coarsest = coarsest}};
}

struct Hierarchy {
  Grid grid;
  double contrast;
  index_t coarsest;
  std::size_t levels;  ///< at least
};

TYPED_TEST(FloatingOnBackend, KernelIsSeenThroughAllLevels) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const Hierarchy& h :
       {Hierarchy{{4000, 1, 1}, 1.0, 20, 5}, Hierarchy{{4000, 1, 1}, 1e4, 512, 2}, Hierarchy{{60, 60, 1}, 1.0, 1, 4},
        Hierarchy{{60, 60, 1}, 1e4, 2, 4}, Hierarchy{{16, 16, 16}, 1.0, 20, 3}, Hierarchy{{16, 16, 16}, 1e4, 1, 4}}) {
    SCOPED_TRACE("contrast " + std::to_string(h.contrast) + ", coarsest " + std::to_string(h.coarsest) + " of " +
                 std::to_string(h.grid[0]) + ", " + std::to_string(h.grid[1]) + ", " + std::to_string(h.grid[2]));
    const SparseMatrix<T> floating(backend, springs<T>(h.grid, h.contrast, 0.0));
    const SparseMatrix<T> held(backend, springs<T>(h.grid, h.contrast, 1.0));
    const Multigrid<T> M = multigrid(floating, h.coarsest), of_held = multigrid(held, h.coarsest);
    EXPECT_GE(M.report().levels.size(), h.levels);
    EXPECT_TRUE(M.report().is_singular) << to_text(M.report());
    EXPECT_LE(solve(floating, M), 1.25 * solve(held, of_held) + 5);
    // In single precision a line of 4000 points, or a contrast, is beyond what can be told from a floating system.
    if (to_eight_digits<T>) {
      EXPECT_FALSE(of_held.report().is_singular) << to_text(of_held.report());
    }
  }
}

/// The last matrix has rows of parts that float beside those of one that is held.
TYPED_TEST(FloatingOnBackend, PartsOfASystem) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const SparseMatrix<T> matrix(backend, springs<T>({50, 20, 1}, 10.0, 1.0, 3));
  for (const index_t coarsest : {3, 100}) {
    SCOPED_TRACE(coarsest);
    const Multigrid<T> M = multigrid(matrix, coarsest);
    EXPECT_TRUE(M.report().is_singular) << to_text(M.report());
    EXPECT_LE(solve(matrix, M), 60);
  }
}

/// A short line that floats beside a grid that is held: it is one row, coupled with no other, before the last level.
TYPED_TEST(FloatingOnBackend, SmallPartThatEndsAboveTheLastLevel) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> grid = springs<T>({60, 60, 1}, 1.0, 1.0), line = springs<T>({9, 1, 1}, 7.0, 0.0);
  std::vector<Triplet<T>> entries;
  for (const CsrMatrix<T>* part : {&grid, &line}) {
    const index_t first = part == &grid ? 0 : grid.rows();
    for (index_t i = 0; i < part->rows(); ++i)
      for (offset_t k = part->row_offsets()[static_cast<std::size_t>(i)];
           k < part->row_offsets()[static_cast<std::size_t>(i) + 1]; ++k)
        entries.push_back({first + i, first + part->columns()[static_cast<std::size_t>(k)],
                           part->values()[static_cast<std::size_t>(k)]});
  }
  const index_t rows = grid.rows() + line.rows();
  const SparseMatrix<T> matrix(backend, CsrMatrix<T>::from_triplets(rows, rows, entries));
  const Multigrid<T> M = multigrid(matrix, 4);
  EXPECT_GE(M.report().levels.size(), 4u);
  EXPECT_TRUE(M.report().is_singular) << to_text(M.report());
  if (to_eight_digits<T>) {
    EXPECT_GT(M.report().rcond, 1e-8) << "of the last level, which is regular";
  }
  EXPECT_LE(solve(matrix, M), 60);
}

/// Beams of cubic elements, moved and turned by the kernel; each node has a deflection and an angle.
TYPED_TEST(FloatingOnBackend, VectorsOfTheUserThatSpanTheKernel) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const index_t nodes = to_eight_digits<T> ? 1000 : 300, n = 2 * nodes;
  const std::array<std::array<int, 4>, 4> element{{{12, 6, -12, 6}, {6, 4, -6, 2}, {-12, -6, 12, -6}, {6, 2, -6, 4}}};
  std::vector<Triplet<T>> entries;
  for (index_t k = 0; k + 1 < nodes; ++k)
    for (index_t i = 0; i < 4; ++i)
      for (index_t j = 0; j < 4; ++j)
        entries.push_back(
            {2 * k + i, 2 * k + j,
             T(static_cast<real_t<T>>(element[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]))});
  const SparseMatrix<T> matrix(backend, CsrMatrix<T>::from_triplets(n, n, entries), {.block_size = 2});
  std::vector<T> motions(static_cast<std::size_t>(2 * n));
  for (index_t k = 0; k < nodes; ++k) {
    const auto at = static_cast<std::size_t>(2 * k), turned = at + static_cast<std::size_t>(n);
    motions[at] = motions[turned + 1] = T(1);
    motions[turned] = T(static_cast<real_t<T>>(k - nodes / 2));
  }
  const MultiVectorView<const T> vectors{motions.data(), n, 2, n};
  for (const index_t coarsest : {20, 512}) {
    SCOPED_TRACE(coarsest);
    const Multigrid<T> M(matrix, BlockJacobi<T>(matrix, BlockPartition::uniform(n, 2)), vectors,
                         {.coarsest = coarsest});
    EXPECT_GE(M.report().levels.size(), 2u);
    EXPECT_TRUE(M.report().is_singular) << to_text(M.report());
    EXPECT_LE(solve(matrix, M), 150);
  }
}

/// One aggregate is all of the kernel: E has one element, of rounding errors, or is exactly zero.
TYPED_TEST(FloatingOnBackend, FewAggregatesOfTwoLevels) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const double contrast : {1.0, 1e4})
    for (const Grid& grid : {Grid{60, 60, 1}, Grid{16, 16, 16}})
      for (const index_t size : {1, 2, 8, 100}) {
        SCOPED_TRACE("contrast " + std::to_string(contrast) + ", size " + std::to_string(size));
        const SparseMatrix<T> floating(backend, springs<T>(grid, contrast, 0.0));
        const SparseMatrix<T> held(backend, springs<T>(grid, contrast, 1.0));
        const auto blocks = BlockPartition::uniform(floating.rows(), 4);
        const TwoLevel<T> M(floating, BlockJacobi<T>(floating, blocks), {.size = size});
        const TwoLevel<T> of_held(held, BlockJacobi<T>(held, blocks), {.size = size});
        EXPECT_TRUE(M.report().is_singular) << to_text(M.report());
        EXPECT_LE(solve(floating, M), 1.25 * solve(held, of_held) + 5);
        if (to_eight_digits<T>) {
          EXPECT_FALSE(of_held.report().is_singular) << to_text(of_held.report());
        }
      }
}

/// Held, let go and held again. A multigrid keeps its relaxations, a two-level preconditioner has the bits of a new
/// one.
TYPED_TEST(FloatingOnBackend, RefreshSeesTheKernelComeAndGo) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const Grid grid{24, 24, 1};
  const CsrMatrix<T> held = springs<T>(grid, 1.0, 1.0), floating = springs<T>(grid, 1.0, 0.0);
  const std::vector<T> r = random_vector<T>(held.rows(), 92);
  const auto apply = [&](const auto& M) {
    Array<T> in(backend, r), out(backend, r.size());
    M.apply(std::as_const(in).view(), out.view());
    return out.to_host();
  };
  const auto two_level = [&](const SparseMatrix<T>& of) {
    return TwoLevel<T>(of, BlockJacobi<T>(of, BlockPartition::uniform(held.rows(), 4)), {.size = 8});
  };
  SparseMatrix<T> matrix(backend, held);
  Multigrid<T> grids = multigrid(matrix, 10);
  TwoLevel<T> M = two_level(matrix);
  for (const CsrMatrix<T>* now : {&floating, &held}) {
    matrix.update_values(now->values());
    grids.refresh();
    M.refresh();
    EXPECT_EQ(grids.report().is_singular, now == &floating) << to_text(grids.report());
    EXPECT_EQ(M.report().is_singular, now == &floating) << to_text(M.report());
    EXPECT_TRUE(same_bits(apply(M), apply(two_level(SparseMatrix<T>(backend, *now)))));
    solve(matrix, grids);
  }
}

}  // namespace
}  // namespace blockjacobi::test
