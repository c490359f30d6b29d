#include "faults/device_faults.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <vector>

namespace blockjacobi::test {
namespace {

/// What the other tests have in double, once for each kind of work.
TEST_F(DeviceFaults, OtherScalars) {
  const auto in = [this]<Scalar T>(T one) {
    SCOPED_TRACE(to_char(scalar_type<T>));
    const Backend backend = make_backend();
    const SystemOf<T> sorted(rows, true), unsorted(rows, false);
    for (const auto* system : {&sorted, &unsorted}) {
      const auto arrays = on(backend, *system);
      expect_every_failure_comes_out([&] {
        BlockJacobi<T> M(backend, arrays.view(), blocks_, {.storage = Storage::adaptive});
        EXPECT_FALSE(to_text(M.report(arrays.view())).empty());
      });
      expect_every_failure_comes_out([&] { EXPECT_EQ(SparseMatrix<T>(backend, arrays.view()).rows(), rows); });
    }
    of_every_solve<T>([this](const auto& solve) { expect_every_failure_comes_out(solve, solve); });
    const SparseMatrix<T> matrix(backend, sorted.view());
    const Array<T> b(backend, std::vector<T>(rows, one));
    Array<T> x(backend, rows);
    SolveOptions options;
    options.rtol = 1e-4;
    expect_every_failure_comes_out([&] {
      TwoLevel<T> M(matrix, BlockJacobi<T>(matrix, blocks_), {.size = 12});
      M.refresh();
      x.zero();
      EXPECT_TRUE(cg(matrix, M, b.view(), x.view(), options).converged());
    });
  };
  in(1.0F);
  in(std::complex<double>(1.0));
}

}  // namespace
}  // namespace blockjacobi::test
