#include "matrices/generators/stencil.hpp"

#include "matrix_checks.hpp"

#include <cmath>
#include <limits>

namespace {

using namespace matrix_checks;
using blockjacobi::offset_t;
using blockjacobi::matrices::stencil;
using blockjacobi::matrices::StencilOptions;
using blockjacobi::matrices::StencilShape;

using AllScalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;

template <class T>
class Stencil : public ::testing::Test {};
TYPED_TEST_SUITE(Stencil, AllScalars);

/// Everything at once.
StencilOptions rough() {
  StencilOptions options;
  options.grid = {4, 3, 3};
  options.shape = StencilShape::box;
  options.anisotropy = {1.0, 0.01, 10.0};
  options.contrast = 1e4;
  options.unknowns = 3;
  options.coupling = 0.9;
  options.shift = 0.125;
  return options;
}

TEST(StencilEntries, ThreePoint) {
  const auto a = stencil<double>({.grid = {3, 1, 1}});
  EXPECT_EQ(dense(a), (Eigen::Matrix3d() << 2, -1, 0, -1, 2, -1, 0, -1, 2).finished());
  EXPECT_EQ(a.nnz(), 7);
}

TEST(StencilEntries, FivePoint) {
  const auto a = stencil<double>({.grid = {2, 2, 1}});
  EXPECT_EQ(dense(a), (Eigen::Matrix4d() << 4, -1, -1, 0, -1, 4, 0, -1, -1, 0, 4, -1, 0, -1, -1, 4).finished());
  EXPECT_EQ(a.nnz(), 12);
}

TEST(StencilEntries, NinePoint) {
  const auto a = stencil<double>({.grid = {2, 2, 1}, .shape = StencilShape::box});
  EXPECT_EQ(dense(a), (Eigen::Matrix4d() << 8, -1, -1, -1, -1, 8, -1, -1, -1, -1, 8, -1, -1, -1, -1, 8).finished());
}

TEST(StencilEntries, RowsInTheMiddle) {
  struct Case {
    StencilShape shape;
    index_t neighbours;
  };
  for (const Case& c : {Case{StencilShape::star, 6}, Case{StencilShape::box, 26}}) {
    const auto a = dense(stencil<double>({.grid = {3, 3, 3}, .shape = c.shape}));
    EXPECT_EQ(a(13, 13), c.neighbours);
    EXPECT_EQ(a.row(13).sum(), 0.0);
    EXPECT_EQ(a.row(13).minCoeff(), -1.0);
    EXPECT_EQ(a.diagonal(), Eigen::VectorXd::Constant(27, c.neighbours));
  }
}

TEST(StencilEntries, SizesOfLargerGrids) {
  const auto star = stencil<float>({.grid = {20, 30, 40}});
  EXPECT_EQ(star.rows(), 24000);
  EXPECT_EQ(star.nnz(), offset_t{7} * 24000 - 2 * (30 * 40 + 20 * 40 + 20 * 30));
  const auto box = stencil<float>({.grid = {10, 10, 10}, .shape = StencilShape::box, .unknowns = 2});
  EXPECT_EQ(box.rows(), 2000);
  EXPECT_EQ(box.nnz(), offset_t{28} * 28 * 28 * 4);
}

TEST(StencilEntries, Anisotropy) {
  const auto a = dense(stencil<double>({.grid = {3, 3, 3}, .anisotropy = {1.0, 0.5, 0.25}}));
  EXPECT_EQ(a(13, 12), -1.0);
  EXPECT_EQ(a(13, 10), -0.5);
  EXPECT_EQ(a(13, 4), -0.25);
  EXPECT_EQ(a(13, 13), 3.5);
}

TEST(StencilEntries, DiagonalStepsHaveTheMeanOfTheirAxes) {
  const auto a =
      dense(stencil<double>({.grid = {3, 3, 3}, .shape = StencilShape::box, .anisotropy = {1.0, 0.5, 0.25}}));
  EXPECT_EQ(a(13, 9), -0.75);
  EXPECT_EQ(a(13, 1), -0.375);
  EXPECT_NEAR(a(13, 0), -1.75 / 3.0, 1e-15);
}

TEST(StencilEntries, JumpsAreHarmonicMeans) {
  // Three cells k0, k1, k2: the entries give the means, and these must come from one set of coefficients.
  const auto a = dense(stencil<double>({.grid = {3, 1, 1}, .contrast = 1e3, .seed = 7}));
  const double h01 = -a(0, 1), h12 = -a(1, 2);
  const double k0 = a(0, 0) - h01, k2 = a(2, 2) - h12;  // what leaves the grid has the coefficient of the cell
  const double k1 = 1.0 / (2.0 / h01 - 1.0 / k0);
  EXPECT_NEAR(h12, 2.0 * k1 * k2 / (k1 + k2), 1e-9 * h12);
  EXPECT_NEAR(a(1, 1), h01 + h12, 1e-12 * a(1, 1));
  for (const double k : {k0, k1, k2}) EXPECT_TRUE(k >= 1.0 - 1e-9 && k <= 1e3) << k;
}

TEST(StencilEntries, CouplingOfUnknowns) {
  const auto a = dense(stencil<double>({.grid = {2, 1, 1}, .unknowns = 2, .coupling = 0.5}));
  Eigen::Matrix2d c;
  c << 0.75, 0.25, 0.25, 0.75;
  EXPECT_TRUE(a.topLeftCorner(2, 2).isApprox(2.0 * c, 1e-15));
  EXPECT_TRUE(a.topRightCorner(2, 2).isApprox(-c, 1e-15));
}

TEST(StencilEntries, Shift) {
  const auto plain = dense(stencil<double>({.grid = {3, 3, 1}, .unknowns = 2}));
  const auto shifted = dense(stencil<double>({.grid = {3, 3, 1}, .unknowns = 2, .shift = 0.5}));
  EXPECT_TRUE((shifted - plain).isApprox(0.5 * Eigen::MatrixXd::Identity(18, 18), 1e-14));
}

TEST(StencilEntries, ImaginaryShiftIsComplexSymmetricWithoutPhases) {
  const auto a = stencil<std::complex<double>>({.grid = {3, 3, 1}, .phase = 0.0, .shift_imaginary = 0.5});
  EXPECT_TRUE(is_symmetric(a));
  EXPECT_FALSE(is_hermitian(a));
  EXPECT_EQ(a.values()[0], std::complex<double>(4.0, 0.5));
}

TEST(StencilEntries, ComplexPhasesHaveModulusOne) {
  const auto a = dense(stencil<std::complex<double>>({.grid = {4, 4, 1}}));
  const auto real = dense(stencil<double>({.grid = {4, 4, 1}}));
  EXPECT_TRUE(a.cwiseAbs().isApprox(real.cwiseAbs(), 1e-14));
  // The flux through a cell is gauge invariant: it must be there, else the matrix is similar to the real one.
  const auto flux = a(5, 6) * a(6, 10) * a(10, 9) * a(9, 5);
  EXPECT_GT(std::abs(std::arg(flux)), 0.1);
}

TYPED_TEST(Stencil, IsPositiveDefinite) {
  EXPECT_TRUE(is_positive_definite(stencil<TypeParam>(rough())));
  EXPECT_TRUE(is_positive_definite(stencil<TypeParam>({.grid = {9, 8, 1}})));
  EXPECT_TRUE(is_positive_definite(stencil<TypeParam>({.grid = {5, 4, 3}, .unknowns = 6, .coupling = 0.75})));
}

TYPED_TEST(Stencil, ComplexMatrixIsReallyComplex) {
  const auto a = stencil<TypeParam>(rough());
  EXPECT_EQ(is_symmetric(a), !blockjacobi::is_complex<TypeParam>);
}

TYPED_TEST(Stencil, UnknownsOfANodeShareTheirPattern) {
  const auto a = stencil<TypeParam>(rough());
  ASSERT_EQ(a.rows(), 108);
  for (index_t row = 0; row < a.rows(); row += 3) EXPECT_TRUE(rows_share_pattern(a, row, 3)) << row;
}

TYPED_TEST(Stencil, SeedDecides) {
  auto options = rough();
  const auto a = stencil<TypeParam>(options);
  EXPECT_TRUE(same(a, stencil<TypeParam>(options)));
  options.seed = 2;
  EXPECT_FALSE(same(a, stencil<TypeParam>(options)));
}

TYPED_TEST(Stencil, SinglePoint) {
  const auto a = stencil<TypeParam>({.grid = {1, 1, 1}, .shift = 3.0});
  ASSERT_EQ(a.nnz(), 1);
  EXPECT_EQ(a.values()[0], TypeParam(3));
}

TEST(StencilOptionErrors, AreNamed) {
  const auto refused = [](const StencilOptions& options, const std::vector<std::string>& parts) {
    expect_refused([&] { (void)stencil<double>(options); }, parts);
  };
  refused({.grid = {0, 4, 1}}, {"stencil", "nx is 0"});
  refused({.grid = {4, 4, -2}}, {"nz is -2"});
  refused({.grid = {50000, 50000, 1}}, {"2500000000 rows"});
  refused({.grid = {40000, 20000, 1}, .unknowns = 3}, {"2400000000 rows"});
  refused({.anisotropy = {1.0, 0.0, 1.0}}, {"anisotropy is 0"});
  refused({.anisotropy = {1.0, std::numeric_limits<double>::quiet_NaN(), 1.0}}, {"anisotropy is nan"});
  refused({.contrast = 0.5}, {"contrast is 0.5", ">= 1"});
  refused({.unknowns = 7}, {"unknowns is 7", "<= 6"});
  refused({.unknowns = 0}, {"unknowns is 0", ">= 1"});
  refused({.coupling = 1.0}, {"coupling is 1", "< 1"});
  refused({.shift = std::numeric_limits<double>::infinity()}, {"shift is inf"});
  refused({.shift_imaginary = 0.5}, {"shift_imaginary is 0.5", "real scalar"});
}

}  // namespace
