#include "support/messages.hpp"
#include "support/random.hpp"

#include <blockjacobi/near_kernel.hpp>

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include <limits>

namespace blockjacobi::test {
namespace {

std::vector<double> random_coordinates(std::size_t count) {
  Random random(7);
  std::vector<double> coordinates(count);
  for (double& c : coordinates) c = 5.0 + random.real();
  return coordinates;
}

/// Moves of nodes that change no distance have (u_i - u_j) . (x_i - x_j) = 0; there are no others than the columns
/// span.
TEST(RigidBodyModes, KeepDistances) {
  for (const int dimension : {2, 3}) {
    SCOPED_TRACE(dimension);
    const auto d = static_cast<Eigen::Index>(dimension), nodes = Eigen::Index{9};
    const std::vector<double> coordinates = random_coordinates(static_cast<std::size_t>(d * nodes));
    const NearKernel<double> modes = rigid_body_modes<double>(coordinates, dimension);
    ASSERT_EQ(modes.rows, d * nodes);
    ASSERT_EQ(modes.cols, dimension == 2 ? 3 : 6);
    const Eigen::Map<const Eigen::MatrixXd> all(modes.values.data(), modes.rows, modes.cols);
    const Eigen::Map<const Eigen::VectorXd> x(coordinates.data(), modes.rows);
    for (Eigen::Index i = 0; i < nodes; ++i)
      for (Eigen::Index j = 0; j < i; ++j) {
        const Eigen::VectorXd apart = x.segment(i * d, d) - x.segment(j * d, d);
        const Eigen::MatrixXd moved = all.middleRows(i * d, d) - all.middleRows(j * d, d);
        EXPECT_LE((apart.transpose() * moved).norm(), 1e-14);
      }
    EXPECT_EQ(all.colPivHouseholderQr().rank(), modes.cols);
    for (Eigen::Index c = 0; c < d; ++c) EXPECT_EQ(all(c, c), 1.0);
    // why: about the mean, rotations are orthogonal to translations
    EXPECT_LE((all.leftCols(d).transpose() * all.rightCols(modes.cols - d)).norm(), 1e-12);
  }
}

TEST(RigidBodyModes, AreTheSameInEveryPrecision) {
  const std::vector<double> coordinates = random_coordinates(12);
  const NearKernel<double> exact = rigid_body_modes<double>(coordinates, 3);
  const NearKernel<float> rounded = rigid_body_modes<float>(coordinates, 3);
  const auto complex = rigid_body_modes<std::complex<double>>(coordinates, 3);
  for (std::size_t i = 0; i < exact.values.size(); ++i) {
    EXPECT_EQ(rounded.values[i], static_cast<float>(exact.values[i]));
    EXPECT_EQ(complex.values[i], exact.values[i]);
  }
  EXPECT_EQ(rigid_body_modes<double>({}, 2).rows, 0);
}

TEST(RigidBodyModes, OfARenumberedSystem) {
  const NearKernel<double> modes = rigid_body_modes<double>(random_coordinates(6), 2);
  const auto permutation = Permutation::from_order({4, 5, 0, 1, 2, 3});
  const NearKernel<double> moved = modes.to_permuted(permutation);
  for (int j = 0; j < 3; ++j)
    for (int k = 0; k < 6; ++k)
      EXPECT_EQ(moved.view().data[j * 6 + k], modes.view().data[j * 6 + permutation.order()[static_cast<unsigned>(k)]]);
}

TEST(RigidBodyModes, Misuse) {
  const std::vector<double> coordinates(6, 1.0), infinite{1.0, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(message_of([&] { static_cast<void>(rigid_body_modes<double>(coordinates, 1)); }),
            "rigid_body_modes: dimension is 1, must be 2 or 3");
  EXPECT_EQ(message_of([] { static_cast<void>(rigid_body_modes<double>(std::vector<double>(5), 3)); }),
            "rigid_body_modes: there are 5 coordinates, must be a multiple of 3");
  EXPECT_EQ(message_of([&] { static_cast<void>(rigid_body_modes<double>(infinite, 2)); }),
            "rigid_body_modes: coordinate 1 is NaN or Inf");
  const NearKernel<double> modes = rigid_body_modes<double>(coordinates, 2);
  EXPECT_EQ(message_of([&] { static_cast<void>(modes.to_permuted(Permutation::identity(5))); }),
            "NearKernel::to_permuted: the permutation has 5 numbers, must have 6");
}

}  // namespace
}  // namespace blockjacobi::test
