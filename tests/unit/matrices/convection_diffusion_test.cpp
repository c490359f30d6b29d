#include "matrices/generators/convection_diffusion.hpp"

#include "matrices/generators/stencil.hpp"
#include "matrix_checks.hpp"

namespace {

using namespace matrix_checks;
using blockjacobi::matrices::convection_diffusion;
using blockjacobi::matrices::ConvectionDiffusionOptions;
using blockjacobi::matrices::stencil;
using blockjacobi::matrices::Wind;

TEST(ConvectionDiffusion, WithoutWindIsTheLaplacian) {
  for (const blockjacobi::matrices::GridSize grid : {blockjacobi::matrices::GridSize{5, 5, 1}, {4, 4, 4}}) {
    const auto a = convection_diffusion<double>({.grid = grid, .peclet = 0.0});
    const auto laplacian = stencil<double>({.grid = grid});
    EXPECT_EQ(pattern(a), pattern(laplacian));
    EXPECT_TRUE(dense(a).isApprox(dense(laplacian), 1e-15));
  }
}

TEST(ConvectionDiffusion, ConstantWindTakesFromUpstream) {
  // 3 x 3 points, mesh width 1/2: diffusion 1, wind (1, 1) / sqrt(2) times peclet / 2 times 1/2.
  const double peclet = 8.0, upwind = 0.5 * peclet * 0.5 / std::sqrt(2.0);
  const auto a = dense(convection_diffusion<double>({.grid = {3, 3, 1}, .peclet = peclet, .wind = Wind::constant}));
  EXPECT_NEAR(a(4, 3), -1.0 - upwind, 1e-14);
  EXPECT_NEAR(a(4, 5), -1.0, 1e-14);
  EXPECT_NEAR(a(4, 1), -1.0 - upwind, 1e-14);
  EXPECT_NEAR(a(4, 7), -1.0, 1e-14);
  EXPECT_NEAR(a(4, 4), 4.0 + 2.0 * upwind, 1e-14);
}

TEST(ConvectionDiffusion, VortexStandsStillInTheMiddleAndTurnsAroundIt) {
  const auto a = dense(convection_diffusion<double>({.grid = {3, 3, 1}, .peclet = 100.0}));
  EXPECT_EQ(a.row(4), dense(stencil<double>({.grid = {3, 3, 1}})).row(4));
  EXPECT_LT(a(7, 6), -1.0);  // above the middle it blows along x
  EXPECT_EQ(a(7, 8), -1.0);
  EXPECT_LT(a(1, 2), -1.0);  // below against it
  EXPECT_EQ(a(1, 0), -1.0);
}

TEST(ConvectionDiffusion, IsANonsymmetricMMatrix) {
  for (const Wind wind : {Wind::recirculating, Wind::constant})
    for (const index_t nz : {1, 5}) {
      const auto a = convection_diffusion<double>({.grid = {7, 6, nz}, .peclet = 1e3, .wind = wind});
      const auto d = dense(a);
      EXPECT_FALSE(is_symmetric(a));
      for (Eigen::Index i = 0; i < d.rows(); ++i) {
        EXPECT_GT(d(i, i), 0.0);
        EXPECT_GE(d.row(i).sum(), -1e-12 * d(i, i)) << i;
        for (Eigen::Index j = 0; j < d.cols(); ++j) EXPECT_TRUE(i == j || d(i, j) <= 0.0);
      }
      EXPECT_TRUE(is_regular(a));
    }
}

TEST(ConvectionDiffusion, SinglePrecisionIsTheRoundedDouble) {
  const ConvectionDiffusionOptions options{.grid = {6, 5, 4}, .peclet = 77.0};
  const auto a = convection_diffusion<double>(options);
  const auto b = convection_diffusion<float>(options);
  ASSERT_EQ(a.nnz(), b.nnz());
  for (std::size_t k = 0; k < a.values().size(); ++k) EXPECT_EQ(static_cast<float>(a.values()[k]), b.values()[k]);
}

TEST(ConvectionDiffusion, OptionErrorsAreNamed) {
  const auto refused = [](const ConvectionDiffusionOptions& options, const std::vector<std::string>& parts) {
    expect_refused([&] { (void)convection_diffusion<double>(options); }, parts);
  };
  refused({.grid = {1, 5, 1}}, {"convection_diffusion", "nx is 1"});
  refused({.grid = {5, 1, 1}}, {"ny is 1"});
  refused({.grid = {5, 5, 0}}, {"nz is 0"});
  refused({.peclet = -1.0}, {"peclet is -1"});
}

}  // namespace
