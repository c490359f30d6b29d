#include "matrices/generators/reservoir.hpp"

#include "matrices/generators/black_oil.hpp"
#include "matrix_checks.hpp"

namespace {

using namespace matrix_checks;
using blockjacobi::matrices::reservoir;
using blockjacobi::matrices::ReservoirOptions;
using blockjacobi::matrices::detail::CellState;
using blockjacobi::matrices::detail::ComponentValues;

/// Central differences of f agree with its derivatives.
template <class F>
void expect_derivatives(F&& f) {
  const CellState state{201e5, 0.3, 0.15};
  const ComponentValues exact = f(state);
  const std::array<double, 3> steps = {1e3, 1e-4, 1e-4};
  for (std::size_t u = 0; u < 3; ++u) {
    CellState up = state, down = state;
    double* const up_values[] = {&up.pressure, &up.water, &up.gas};
    double* const down_values[] = {&down.pressure, &down.water, &down.gas};
    *up_values[u] += steps[u];
    *down_values[u] -= steps[u];
    for (std::size_t c = 0; c < 3; ++c) {
      const double difference = (f(up).value[c] - f(down).value[c]) / (2.0 * steps[u]);
      EXPECT_NEAR(exact.derivative[c][u], difference, 1e-6 * std::abs(difference) + 1e-9 * exact.value[c] / steps[u])
          << "component " << c << ", unknown " << u;
    }
  }
}

TEST(BlackOil, DerivativesOfStoredVolume) { expect_derivatives(blockjacobi::matrices::detail::stored_volume); }
TEST(BlackOil, DerivativesOfMobility) { expect_derivatives(blockjacobi::matrices::detail::mobility); }

TEST(Reservoir, BlocksAreCells) {
  const auto a = reservoir<double>({.cells = {4, 3, 2}});
  EXPECT_EQ(a.rows(), 72);
  EXPECT_EQ(a.nnz(), 9 * (24 + 2 * (3 * 3 * 2 + 4 * 2 * 2 + 4 * 3)));
  for (index_t row = 0; row < a.rows(); row += 3) EXPECT_TRUE(rows_share_pattern(a, row, 3)) << row;
  EXPECT_FALSE(is_symmetric(a));
  EXPECT_EQ(pattern(a), pattern(a).transpose());
}

TEST(Reservoir, DiagonalBlocksAreRegularAndBadlyScaled) {
  const auto d = dense(reservoir<double>({.cells = {4, 3, 2}}));
  for (Eigen::Index row = 0; row < d.rows(); row += 3) {
    const Dense<double> block = d.block(row, row, 3, 3);
    EXPECT_LT(reciprocal_condition<double>(block), 1e-6);
    EXPECT_GT(reciprocal_condition<double>(equilibrated<double>(block)), 1e-3);
  }
}

TEST(Reservoir, GasRowsAndPressureColumnsAreOffScale) {
  const auto d = dense(reservoir<double>({.cells = {5, 5, 2}}));
  Eigen::Vector3d rows = Eigen::Vector3d::Zero(), columns = Eigen::Vector3d::Zero();
  for (Eigen::Index k = 0; k < d.rows(); ++k) {
    rows(k % 3) = std::max(rows(k % 3), d.row(k).cwiseAbs().maxCoeff());
    columns(k % 3) = std::max(columns(k % 3), d.col(k).cwiseAbs().maxCoeff());
  }
  EXPECT_GT(rows(2), 50.0 * rows(0));
  EXPECT_LT(columns(0), 1e-4 * columns(1));
}

TEST(Reservoir, MassLeavingACellEntersItsNeighbour) {
  // In an endless time step the accumulation vanishes, and what is left are fluxes: rows of a component sum to zero.
  const auto d = dense(reservoir<double>({.cells = {2, 1, 1}, .time_step_days = 1e15, .seed = 4}));
  for (Eigen::Index unknown = 0; unknown < 3; ++unknown) {
    const double scale = std::max(d.col(unknown).cwiseAbs().maxCoeff(), d.col(unknown + 3).cwiseAbs().maxCoeff());
    EXPECT_GT(scale, 0.0);
    for (Eigen::Index component = 0; component < 3; ++component)
      for (const Eigen::Index column : {unknown, unknown + 3})
        EXPECT_NEAR(d(component, column), -d(component + 3, column), 1e-7 * scale) << component << ", " << column;
  }
}

TEST(Reservoir, ShortTimeStepsDominate) {
  const auto coupling = [](double days) {
    const auto d = equilibrated<double>(dense(reservoir<double>({.cells = {4, 4, 1}, .time_step_days = days})));
    double outside = 0.0;
    for (Eigen::Index i = 0; i < d.rows(); ++i)
      for (Eigen::Index j = 0; j < d.cols(); ++j)
        if (i / 3 != j / 3) outside = std::max(outside, std::abs(d(i, j)));
    return outside;
  };
  EXPECT_LT(coupling(1e-4), 0.05 * coupling(10.0));
}

TEST(Reservoir, WellsAddRowsAndReachAllLayers) {
  const auto a = reservoir<double>({.cells = {4, 3, 3}, .wells = 2});
  ASSERT_EQ(a.rows(), 3 * 36 + 2);
  const auto p = pattern(a);
  for (Eigen::Index well = 108; well < 110; ++well) {
    EXPECT_EQ(p.row(well).sum(), 9 + 1);
    EXPECT_EQ(p.col(well).sum(), 9 + 1);
  }
  EXPECT_EQ(p, p.transpose());
  for (index_t row = 0; row < 108; row += 3) EXPECT_TRUE(rows_share_pattern(a, row, 3)) << row;
  EXPECT_TRUE(is_regular(a));
}

TEST(Reservoir, EquationScaleMultipliesRows) {
  const auto plain = dense(reservoir<double>({.cells = {3, 2, 1}}));
  const auto scaled = dense(reservoir<double>({.cells = {3, 2, 1}, .equation_scale = {1.0, 4.0, 1024.0}}));
  const std::array<double, 3> factors = {1.0, 4.0, 1024.0};
  for (Eigen::Index row = 0; row < plain.rows(); ++row)
    EXPECT_EQ(scaled.row(row), factors[static_cast<std::size_t>(row % 3)] * plain.row(row));
}

TEST(Reservoir, SeedDecides) {
  ReservoirOptions options{.cells = {5, 4, 3}, .wells = 3};
  const auto a = reservoir<double>(options);
  EXPECT_TRUE(same(a, reservoir<double>(options)));
  options.seed = 2;
  EXPECT_FALSE(same(a, reservoir<double>(options)));
}

TEST(Reservoir, OptionErrorsAreNamed) {
  const auto refused = [](const ReservoirOptions& options, const std::vector<std::string>& parts) {
    expect_refused([&] { (void)reservoir<float>(options); }, parts);
  };
  refused({.cells = {3, 0, 1}}, {"reservoir", "ny is 0"});
  refused({.cells = {30000, 30000, 1}}, {"2700000000 rows"});
  refused({.contrast = 0.9}, {"contrast is 0.9"});
  refused({.vertical_ratio = 0.0}, {"vertical_ratio is 0"});
  refused({.time_step_days = -1.0}, {"time_step_days is -1"});
  refused({.cells = {2, 2, 9}, .wells = 5}, {"wells is 5", "<= 4"});
  refused({.wells = -1}, {"wells is -1"});
  refused({.equation_scale = {1.0, 0.0, 1.0}}, {"equation_scale is 0"});
}

}  // namespace
