#include "matrices/generators/elasticity.hpp"

#include "matrices/generators/hexahedron_stiffness.hpp"
#include "matrix_checks.hpp"

#include <Eigen/Geometry>

namespace {

using namespace matrix_checks;
using blockjacobi::matrices::elasticity;
using blockjacobi::matrices::ElasticityOptions;
using blockjacobi::matrices::detail::hexahedron_stiffness;

using AllScalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;

template <class T>
class Elasticity : public ::testing::Test {};
TYPED_TEST_SUITE(Elasticity, AllScalars);

using Element = Eigen::Matrix<double, 24, 24>;
using Displacements = Eigen::Matrix<double, 24, 1>;

Element element_matrix(const std::array<double, 3>& spacing, double poisson) {
  const auto stiffness = hexahedron_stiffness(spacing, poisson);
  return Eigen::Map<const Element>(stiffness.data());
}

/// u(x, y, z) at the corners of the element.
template <class F>
Displacements at_corners(const std::array<double, 3>& spacing, F&& u) {
  Displacements d;
  for (unsigned corner = 0; corner < 8; ++corner) {
    const Eigen::Vector3d at(spacing[0] * (corner & 1U), spacing[1] * ((corner >> 1) & 1U), spacing[2] * (corner >> 2));
    d.segment<3>(3 * static_cast<int>(corner)) = u(at);
  }
  return d;
}

TEST(HexahedronStiffness, RigidMotionsAreFree) {
  const std::array<double, 3> spacing = {1.0, 0.5, 2.0};
  const Element k = element_matrix(spacing, 0.3);
  EXPECT_EQ(k, k.transpose());
  for (int axis = 0; axis < 3; ++axis) {
    const Eigen::Vector3d e = Eigen::Vector3d::Unit(axis);
    const auto translation = at_corners(spacing, [&](const Eigen::Vector3d&) { return e; });
    const auto rotation = at_corners(spacing, [&](const Eigen::Vector3d& x) { return Eigen::Vector3d(e.cross(x)); });
    EXPECT_LT((k * translation).norm(), 1e-14);
    EXPECT_LT((k * rotation).norm(), 1e-14);
  }
  EXPECT_GT(eigenvalues_of(k)(6), 1e-3);  // and nothing else
}

TEST(HexahedronStiffness, UniaxialStrainHasItsEnergy) {
  const std::array<double, 3> spacing = {1.0, 0.5, 2.0};
  const double nu = 0.3, lambda = nu / ((1 + nu) * (1 - 2 * nu)), mu = 0.5 / (1 + nu);
  const Element k = element_matrix(spacing, nu);
  const auto stretch = at_corners(spacing, [](const Eigen::Vector3d& x) { return Eigen::Vector3d(x(0), 0, 0); });
  const double volume = 1.0;
  EXPECT_NEAR(stretch.dot(k * stretch), (lambda + 2 * mu) * volume, 1e-13);
  const auto shear = at_corners(spacing, [](const Eigen::Vector3d& x) { return Eigen::Vector3d(x(1), 0, 0); });
  EXPECT_NEAR(shear.dot(k * shear), mu * volume, 1e-13);
}

TEST(ElasticityEntries, OneElement) {
  // The corners x = 1 of the element are free, in the order of their numbers.
  const auto a = elasticity<double>({.elements = {1, 1, 1}, .young = 2.0});
  const Element k = element_matrix({1.0, 1.0, 1.0}, 0.3);
  const std::array<int, 4> corners = {1, 3, 5, 7};
  ASSERT_EQ(a.rows(), 12);
  const auto d = dense(a);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      EXPECT_EQ((d.block<3, 3>(3 * i, 3 * j)), (2.0 * k.block<3, 3>(3 * corners[static_cast<std::size_t>(i)],
                                                                    3 * corners[static_cast<std::size_t>(j)])));
}

TEST(ElasticityEntries, TranslationIsFreeAwayFromTheClampedFace) {
  const auto a = elasticity<double>({.elements = {3, 2, 2}, .contrast = 100.0});
  const auto d = dense(a);
  for (int component = 0; component < 3; ++component) {
    Eigen::VectorXd translation = Eigen::VectorXd::Zero(a.rows());
    for (index_t row = component; row < a.rows(); row += 3) translation(row) = 1.0;
    const Eigen::VectorXd force = d * translation;
    // Nodes are numbered x fastest; those at x = 0 of each line touch clamped ones.
    for (index_t node = 0; node < a.rows() / 3; ++node) {
      const bool is_beside_clamped = node % 3 == 0;
      EXPECT_TRUE(is_beside_clamped || force.segment<3>(3 * node).norm() < 1e-11) << node;
    }
    EXPECT_GT(force.norm(), 0.1);
  }
}

TEST(ElasticityEntries, Sizes) {
  const auto a = elasticity<float>({.elements = {6, 5, 4}});
  EXPECT_EQ(a.rows(), 3 * 6 * 6 * 5);
  EXPECT_EQ(a.nnz(), 9 * (3 * 6 - 2) * (3 * 6 - 2) * (3 * 5 - 2));
}

TEST(ElasticityEntries, LossFactorGivesComplexSymmetric) {
  const auto a = elasticity<std::complex<double>>({.elements = {2, 2, 1}, .loss_factor = 0.25});
  EXPECT_TRUE(is_symmetric(a));
  EXPECT_FALSE(is_hermitian(a));
  for (const auto& value : a.values()) EXPECT_EQ(value.imag(), 0.25 * value.real());
}

TYPED_TEST(Elasticity, IsPositiveDefinite) {
  const auto a = elasticity<TypeParam>({.elements = {4, 2, 3}, .spacing = {1.0, 2.0, 0.5}, .contrast = 1e3});
  EXPECT_TRUE(is_positive_definite(a));
  for (index_t row = 0; row < a.rows(); row += 3) EXPECT_TRUE(rows_share_pattern(a, row, 3)) << row;
}

TYPED_TEST(Elasticity, SeedDecides) {
  ElasticityOptions options{.elements = {3, 3, 3}, .contrast = 10.0};
  const auto a = elasticity<TypeParam>(options);
  EXPECT_TRUE(same(a, elasticity<TypeParam>(options)));
  options.seed = 2;
  EXPECT_FALSE(same(a, elasticity<TypeParam>(options)));
}

TEST(ElasticityOptionErrors, AreNamed) {
  const auto refused = [](const ElasticityOptions& options, const std::vector<std::string>& parts) {
    expect_refused([&] { (void)elasticity<double>(options); }, parts);
  };
  refused({.elements = {0, 1, 1}}, {"elasticity", "nx is 0"});
  refused({.elements = {1, 2147483647, 1}}, {"2147483648 rows"});
  refused({.elements = {1000, 1000, 1000}}, {"3006003000 rows"});
  refused({.spacing = {1.0, -1.0, 1.0}}, {"spacing is -1"});
  refused({.young = 0.0}, {"young is 0"});
  refused({.poisson = 0.5}, {"poisson is 0.5", "< 0.5"});
  refused({.contrast = 0.0}, {"contrast is 0"});
  refused({.loss_factor = 0.1}, {"loss_factor is 0.1", "real scalar"});
}

}  // namespace
