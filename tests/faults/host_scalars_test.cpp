#include "faults/host_faults.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <vector>

// What there is of HostFaults in double, once for each kind of work in other scalars.
namespace blockjacobi::test {
namespace {

template <class T>
class HostFaultsIn : public ::testing::Test {
 protected:
  static constexpr index_t rows = 400;
  const Backend backend_ = Backend::host(3);
  const SystemOf<T> sorted_{rows, true}, unsorted_{rows, false};
  const BlockPartition blocks_ = BlockPartition::uniform(rows, 8);
};
using Scalars = ::testing::Types<float, std::complex<double>>;
TYPED_TEST_SUITE(HostFaultsIn, Scalars, ScalarName);

TYPED_TEST(HostFaultsIn, SetUpsAndAPartition) {
  using T = TypeParam;
  for (const auto* system : {&this->sorted_, &this->unsorted_})
    expect_every_failure_comes_out([&] {
      BlockJacobi<T> M(this->backend_, system->view(), this->blocks_, {.storage = Storage::adaptive});
      EXPECT_FALSE(to_text(M.report(system->view())).empty());
    });
  const DetectOptions coupled{.max_size = 16, .tolerance = 0.3, .merge = Merge::coupled};
  expect_every_failure_comes_out(
      [&] { EXPECT_EQ(BlockPartition::detect(this->backend_, this->unsorted_.view(), coupled).rows(), this->rows); });
}

TYPED_TEST(HostFaultsIn, Solvers) {
  using T = TypeParam;
  const SparseMatrix<T> matrix(this->backend_, this->sorted_.view());
  const LinearOperator<T> A(matrix);
  const BlockJacobi<T> M(matrix, this->blocks_);
  const std::vector<T> b(3 * this->rows, T(1));
  std::vector<T> x(b.size());
  SolveOptions options;
  options.rtol = 1e-4;
  const VectorView<const T> right(b.data(), this->rows, MemorySpace::host);
  const VectorView<T> solution(x.data(), this->rows, MemorySpace::host);
  for (const auto solve : {&cg<T>, &minres<T>, &bicgstab<T>, &gmres<T>}) {
    const auto converges = [&] {
      std::fill(x.begin(), x.end(), T(0));
      EXPECT_TRUE(solve(A, M, right, solution, options).converged());
    };
    expect_every_failure_comes_out(converges, converges);
  }
  const auto columns_converge = [&] {
    std::fill(x.begin(), x.end(), T(0));
    const MultiVectorView<const T> B{b.data(), this->rows, 3, this->rows};
    const MultiVectorView<T> X{x.data(), this->rows, 3, this->rows};
    for (const SolveReport& report : gmres_columns(A, M, B, X, options)) EXPECT_TRUE(report.converged());
  };
  expect_every_failure_comes_out(columns_converge, columns_converge);
}

TYPED_TEST(HostFaultsIn, CoarseLevel) {
  using T = TypeParam;
  const SparseMatrix<T> matrix(this->backend_, this->sorted_.view());
  const std::vector<T> b(this->rows, T(1));
  SolveOptions options;
  options.rtol = 1e-4;
  expect_every_failure_comes_out([&] {
    TwoLevel<T> M(matrix, BlockJacobi<T>(matrix, this->blocks_), {.size = 12});
    M.refresh();
    std::vector<T> x(b.size());
    EXPECT_TRUE(cg(matrix, M, VectorView<const T>(b), VectorView<T>(x), options).converged());
  });
  TwoLevel<T> M(matrix, BlockJacobi<T>(matrix, this->blocks_), {.size = 12});
  std::vector<T> z(b.size());
  expect_no_allocation([&] {
    M.refresh();
    M.apply(VectorView<const T>(b), VectorView<T>(z));
    M.correct(VectorView<const T>(b), VectorView<T>(z));
  });
}

}  // namespace
}  // namespace blockjacobi::test
