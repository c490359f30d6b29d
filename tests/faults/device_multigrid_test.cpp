#include "faults/device_faults.hpp"
#include "faults/every_multigrid.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <vector>

namespace blockjacobi::test {
namespace {

/// An object keeps what it had where another was to take its place.
TEST_F(DeviceFaults, Multigrids) {
  const auto in = [this]<Scalar T>(T one) {
    SCOPED_TRACE(to_char(scalar_type<T>));
    const SparseMatrix<T> matrix(make_backend(), SystemOf<T>(144, true).view());
    const LinearOperator<T> A(matrix);
    const Array<T> r(matrix.backend(), std::vector<T>(144, one));
    Array<T> z(matrix.backend(), r.size());
    for (const auto& [near_kernel, make] : every_multigrid(matrix)) {
      SCOPED_TRACE(near_kernel);
      Multigrid<T> M = make();
      EXPECT_GE(M.report().levels.size(), 3u);
      M.apply(r.view(), z.view());
      const std::vector<T> expected = z.to_host();
      const auto refreshes = [&] {
        z.zero();
        M.refresh();
        M.apply(r.view(), z.view());
        EXPECT_EQ(z.to_host(), expected);
      };
      expect_every_failure_comes_out([&, &make = make] { M = make(); }, refreshes);
      expect_no_allocation(refreshes);
      const auto converges = [&] {
        z.zero();
        EXPECT_TRUE(cg(A, M, r.view(), z.view()).converged());
        EXPECT_FALSE(to_text(M.report()).empty());
      };
      expect_every_failure_comes_out(converges, converges);
    }
  };
  in(1.0);
  in(std::complex<double>(1.0));
}

}  // namespace
}  // namespace blockjacobi::test
