#include "matrices/generators/saddle_point.hpp"

#include "matrix_checks.hpp"

namespace {

using namespace matrix_checks;
using blockjacobi::matrices::saddle_point;
using blockjacobi::matrices::SaddlePointOptions;
using blockjacobi::matrices::SaddlePointOrder;

TEST(SaddlePoint, TwoByTwoCells) {
  // u, u above it, v, v beside it, three pressures; each velocity has a wall behind each end and one beside it.
  const auto a = saddle_point<double>({.nx = 2, .ny = 2});
  Eigen::Matrix<double, 7, 7> expected;
  expected << 5, -1, 0, 0, -1, 1, 0,  //
      -1, 5, 0, 0, 0, 0, -1,          //
      0, 0, 5, -1, -1, 0, 1,          //
      0, 0, -1, 5, 0, -1, 0,          //
      -1, 0, -1, 0, 0, 0, 0,          //
      1, 0, 0, -1, 0, 0, 0,           //
      0, -1, 1, 0, 0, 0, 0;
  EXPECT_EQ(dense(a), expected);
  EXPECT_EQ(missing_diagonal_entries(a), 3);
}

TEST(SaddlePoint, IsSymmetricIndefiniteAndRegular) {
  const auto a = saddle_point<double>({.nx = 6, .ny = 5, .viscosity = 0.25});
  const int velocities = 5 * 5 + 6 * 4, pressures = 6 * 5 - 1;
  ASSERT_EQ(a.rows(), velocities + pressures);
  EXPECT_TRUE(is_symmetric(a));
  EXPECT_TRUE(is_regular(a));
  EXPECT_EQ(missing_diagonal_entries(a), pressures);
  const Eigen::VectorXd eigenvalues = eigenvalues_of(dense(a));
  EXPECT_EQ((eigenvalues.array() > 0.0).count(), velocities);
  EXPECT_EQ((eigenvalues.array() < 0.0).count(), pressures);
}

TEST(SaddlePoint, InteriorFlowsLoseNothing) {
  // A column of minus the divergence sums to zero over all pressures but the one left out.
  const auto d = dense(saddle_point<double>({.nx = 4, .ny = 4}));
  const Eigen::Index velocities = 3 * 4 + 4 * 3;
  Eigen::VectorXd sums = d.bottomLeftCorner(15, velocities).colwise().sum().transpose();
  EXPECT_EQ((sums.array() != 0.0).count(), 2);
}

TEST(SaddlePoint, OrderByCellsIsAPermutation) {
  const auto fields = dense(saddle_point<double>({.nx = 5, .ny = 4}));
  const auto a = saddle_point<double>({.nx = 5, .ny = 4, .order = SaddlePointOrder::cells});
  const auto cells = dense(a);
  EXPECT_TRUE(is_symmetric(a));
  EXPECT_TRUE(eigenvalues_of(fields).isApprox(eigenvalues_of(cells), 1e-12));
  // The first cell has a pressure only, cell (1, 1) all three.
  EXPECT_EQ(cells(0, 0), 0.0);
  const Eigen::Index first = 1 + 2 * 4 + 2;
  EXPECT_EQ(cells(first, first), 4.0);
  EXPECT_EQ(cells(first + 1, first + 1), 4.0);
  EXPECT_EQ(cells(first + 2, first + 2), 0.0);
  EXPECT_EQ(cells(first, first + 2), 1.0);
}

TEST(SaddlePoint, OptionErrorsAreNamed) {
  const auto refused = [](const SaddlePointOptions& options, const std::vector<std::string>& parts) {
    expect_refused([&] { (void)saddle_point<float>(options); }, parts);
  };
  refused({.nx = 1}, {"saddle_point", "nx is 1"});
  refused({.ny = 0}, {"ny is 0"});
  refused({.nx = 40000, .ny = 40000}, {"4800000000 rows"});
  refused({.viscosity = 0.0}, {"viscosity is 0"});
}

}  // namespace
