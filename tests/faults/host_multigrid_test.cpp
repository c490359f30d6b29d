#include "faults/every_multigrid.hpp"
#include "faults/host_faults.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <vector>

namespace blockjacobi::test {
namespace {

template <class T>
class HostMultigridFaults : public ::testing::Test {
 protected:
  static std::vector<T> applied(const Multigrid<T>& M) {
    const std::vector<T> r(static_cast<std::size_t>(M.rows()), T(1));
    std::vector<T> z(r.size());
    M.apply(VectorView<const T>(r), VectorView<T>(z));
    return z;
  }

  const SparseMatrix<T> matrix_{Backend::host(3), SystemOf<T>(144, true).view()};
};
using Scalars = ::testing::Types<double, std::complex<double>>;
TYPED_TEST_SUITE(HostMultigridFaults, Scalars, ScalarName);

/// An object keeps what it had where another was to take its place.
TYPED_TEST(HostMultigridFaults, IsUsableBehindASetUp) {
  for (const auto& [near_kernel, make] : every_multigrid(this->matrix_)) {
    SCOPED_TRACE(near_kernel);
    Multigrid<TypeParam> M = make();
    ASSERT_GE(M.report().levels.size(), 3u);
    const auto expected = this->applied(M);
    expect_every_failure_comes_out([&, &make = make] { M = make(); },
                                   [&] {
                                     M.refresh();
                                     EXPECT_EQ(this->applied(M), expected);
                                   });
    EXPECT_EQ(this->applied(M), expected);
  }
}

TYPED_TEST(HostMultigridFaults, IsUsableBehindASolve) {
  using T = TypeParam;
  const std::vector<T> b(static_cast<std::size_t>(this->matrix_.rows()), T(1));
  std::vector<T> x(b.size()), z(b.size());
  for (const auto& [near_kernel, make] : every_multigrid(this->matrix_)) {
    SCOPED_TRACE(near_kernel);
    Multigrid<T> M = make();
    const auto converges = [&] {
      std::fill(x.begin(), x.end(), T(0));
      EXPECT_TRUE(cg(this->matrix_, M, VectorView<const T>(b), VectorView<T>(x)).converged());
      EXPECT_FALSE(to_text(M.report()).empty());
    };
    expect_every_failure_comes_out(converges, converges);
    expect_no_allocation([&] {
      M.refresh();
      M.apply(VectorView<const T>(b), VectorView<T>(z));
    });
  }
}

TYPED_TEST(HostMultigridFaults, RigidBodyModes) {
  const std::vector<double> coordinates(300, 1.0);
  for (const int dimension : {2, 3})
    expect_every_failure_comes_out([&] {
      const NearKernel<TypeParam> modes = rigid_body_modes<TypeParam>(coordinates, dimension);
      EXPECT_EQ(modes.rows, 300);
      EXPECT_EQ(modes.to_permuted(Permutation::identity(300)).cols, modes.cols);
    });
}

}  // namespace
}  // namespace blockjacobi::test
