#include "matrices/generators/circuit.hpp"

#include "matrix_checks.hpp"

namespace {

using namespace matrix_checks;
using blockjacobi::matrices::circuit;
using blockjacobi::matrices::CircuitOptions;

using AllScalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;

template <class T>
class Circuit : public ::testing::Test {};
TYPED_TEST_SUITE(Circuit, AllScalars);

constexpr CircuitOptions small{.nodes = 60, .contrast = 10.0, .sources = 8, .open_sources = 3};

TEST(CircuitEntries, OneResistorAndOneSource) {
  const auto a = circuit<double>(
      {.nodes = 1, .resistors_per_node = 1.0, .contrast = 1.0, .rails = 0, .sources = 1, .open_sources = 0});
  EXPECT_EQ(dense(a), (Eigen::Matrix2d() << 1, 1, 1, 0).finished());
  EXPECT_EQ(a.nnz(), 3);
}

TEST(CircuitEntries, OneOpenSource) {
  const auto a = circuit<double>(
      {.nodes = 1, .resistors_per_node = 1.0, .contrast = 1.0, .rails = 0, .sources = 1, .open_sources = 1});
  EXPECT_EQ(dense(a), (Eigen::Matrix3d() << 1, 0, 1, 0, 0, -1, 1, -1, 0).finished());
  EXPECT_EQ(missing_diagonal_entries(a), 2);
}

TEST(CircuitEntries, ConductancesAreALaplacianWithGround) {
  CircuitOptions options = small;
  options.sources = options.open_sources = 0;
  const auto a = circuit<double>(options);
  EXPECT_TRUE(is_positive_definite(a));
  const auto d = dense(a);
  for (Eigen::Index i = 0; i < d.rows(); ++i) {
    EXPECT_GT(d(i, i), 0.0);
    EXPECT_GE(d.row(i).sum(), -1e-12 * d(i, i));
  }
  EXPECT_GT(d.sum(), 0.9);  // the ground is reached at least once
}

TYPED_TEST(Circuit, IsSymmetricAndRegular) {
  const auto a = circuit<TypeParam>(small);
  ASSERT_EQ(a.rows(), 60 + 3 + 8);
  EXPECT_TRUE(is_symmetric(a));
  EXPECT_EQ(missing_diagonal_entries(a), 3 + 8);
  const auto d = dense(a);
  EXPECT_GT(reciprocal_condition<TypeParam>(d), 1e-8);
}

TYPED_TEST(Circuit, SeedDecides) {
  CircuitOptions options = small;
  const auto a = circuit<TypeParam>(options);
  EXPECT_TRUE(same(a, circuit<TypeParam>(options)));
  options.seed = 2;
  EXPECT_FALSE(same(a, circuit<TypeParam>(options)));
}

TEST(CircuitEntries, RailsAreDenseRows) {
  CircuitOptions options = small;
  options.nodes = 400;
  options.rails = 2;
  options.rail_share = 0.5;
  const auto p = pattern(circuit<double>(options));
  for (Eigen::Index rail = 0; rail < 2; ++rail) EXPECT_NEAR(p.row(rail).sum(), 200, 40);
  EXPECT_LT(p.bottomRows(p.rows() - 2).rowwise().sum().maxCoeff(), 40);
}

TEST(CircuitEntries, ControlledSourcesMakeThePatternNonsymmetric) {
  CircuitOptions options = small;
  options.controlled_sources = 30;
  const auto a = circuit<double>(options);
  EXPECT_NE(pattern(a), pattern(a).transpose());
  EXPECT_GT(reciprocal_condition<double>(dense(a)), 1e-8);
}

TEST(CircuitEntries, FrequencyMakesAdmittancesComplex) {
  CircuitOptions options = small;
  options.frequency = 2.0;
  const auto a = circuit<std::complex<double>>(options);
  EXPECT_TRUE(is_symmetric(a));
  EXPECT_FALSE(is_hermitian(a));
  const auto d = dense(a);
  for (Eigen::Index i = 0; i < 60; ++i) {
    EXPECT_GT(d(i, i).imag(), 0.0);
    EXPECT_LT(d(i, i).imag(), 2.0 * d(i, i).real());
  }
}

TEST(CircuitEntries, ResistorsPerNode) {
  CircuitOptions options{.nodes = 2000, .resistors_per_node = 3.0, .rails = 0, .sources = 0, .open_sources = 0};
  const auto a = circuit<float>(options);
  // Two entries a resistor besides the diagonal; a few are parallel or lead to the ground.
  EXPECT_NEAR(static_cast<double>(a.nnz()), 2000.0 * 7.0, 400.0);
}

TEST(CircuitOptionErrors, AreNamed) {
  const auto refused = [](const CircuitOptions& options, const std::vector<std::string>& parts) {
    expect_refused([&] { (void)circuit<double>(options); }, parts);
  };
  refused({.nodes = 0}, {"circuit", "nodes is 0"});
  refused({.resistors_per_node = 0.5}, {"resistors_per_node is 0.5"});
  refused({.contrast = 0.0}, {"contrast is 0"});
  refused({.nodes = 3, .rails = 4, .sources = 0, .open_sources = 0}, {"rails is 4", "<= 3"});
  refused({.rail_share = 1.0}, {"rail_share is 1", "< 1"});
  refused({.nodes = 3, .rails = 0, .sources = 4}, {"sources is 4", "<= 3"});
  refused({.sources = 2, .open_sources = 3}, {"open_sources is 3", "<= 2"});
  refused({.controlled_sources = -1}, {"controlled_sources is -1"});
  refused({.frequency = 1.0}, {"frequency is 1", "real scalar"});
}

}  // namespace
