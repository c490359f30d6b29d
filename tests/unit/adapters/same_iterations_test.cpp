// One system, partition, right-hand side and stopping test through Eigen, C and PETSc.
#include "matrices/generators.hpp"
#include "support/petsc.hpp"

#include <blockjacobi/blockjacobi.h>
#include <blockjacobi/adapters/eigen.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace blockjacobi::test {
namespace {

using T = PetscScalar;
constexpr double rtol = 1e-8;
/// Each sums in its own order, PETSc in another one on every number of ranks: a residual that passes the tolerance
/// closely does so an iteration earlier or later.
constexpr int rounding = 1;

std::vector<T> whole_right_hand_side(index_t rows) {
  std::vector<T> b;
  for (index_t i = 0; i < rows; ++i) b.push_back(right_hand_side(i));
  return b;
}

index_t iterations_of_eigen_cg(const CsrMatrix<T>& matrix, const BlockPartition& partition) {
  using Sparse = Eigen::SparseMatrix<T, Eigen::RowMajor, int>;
  const std::vector<int> offsets(matrix.row_offsets().begin(), matrix.row_offsets().end());
  const Sparse A = Eigen::Map<const Sparse>(matrix.rows(), matrix.cols(), matrix.nnz(), offsets.data(),
                                            matrix.columns().data(), matrix.values().data());
  const std::vector<T> rhs = whole_right_hand_side(matrix.rows());
  const Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>> b(rhs.data(), matrix.rows());
  Eigen::ConjugateGradient<Sparse, Eigen::Lower | Eigen::Upper, EigenBlockJacobi<T>> cg;
  cg.preconditioner().setPartition(partition);
  cg.setTolerance(rtol);
  cg.setMaxIterations(5000);
  cg.compute(A);
  const Eigen::Matrix<T, Eigen::Dynamic, 1> x = cg.solve(b);
  EXPECT_EQ(cg.info(), Eigen::Success);
  // Eigen leaves its loop before it counts the step that converged.
  return static_cast<index_t>(cg.iterations()) + 1;
}

/// `solver`: bj_cg or bj_gmres.
template <class Solver>
index_t iterations_of_c(Solver solver, const CsrMatrix<T>& matrix, const BlockPartition& partition) {
  const bj_csr csr{matrix.rows(),
                   matrix.cols(),
                   matrix.nnz(),
                   matrix.row_offsets().data(),
                   matrix.columns().data(),
                   matrix.values().data(),
                   64,
                   0,
                   static_cast<bj_scalar>(scalar_type<T>),
                   BJ_HOST};
  const std::vector<T> b = whole_right_hand_side(matrix.rows());
  std::vector<T> x(b.size(), T(0));
  bj_backend* backend = nullptr;
  bj_partition* blocks = nullptr;
  bj_block_jacobi* M = nullptr;
  bj_operator* A = nullptr;
  bj_solve_report report{};
  bj_solve_options options;
  bj_solve_options_init(&options);
  options.rtol = rtol;
  const bool done =
      bj_backend_create_host(1, &backend) == BJ_SUCCESS &&
      bj_partition_create_offsets(partition.offsets().data(), partition.blocks(), &blocks) == BJ_SUCCESS &&
      bj_block_jacobi_create(backend, &csr, blocks, BJ_SINGULAR_FAIL, &M) == BJ_SUCCESS &&
      bj_operator_create_csr(backend, &csr, &A) == BJ_SUCCESS &&
      solver(A, M, b.data(), x.data(), matrix.rows(), BJ_HOST, &options, &report) == BJ_SUCCESS;
  EXPECT_TRUE(done) << bj_last_error();
  EXPECT_EQ(report.reason, BJ_STOP_CONVERGED);
  bj_operator_destroy(A);
  bj_block_jacobi_destroy(M);
  bj_partition_destroy(blocks);
  bj_backend_destroy(backend);
  return report.iterations;
}

index_t iterations_of_petsc(const CsrMatrix<T>& matrix, const BlockPartition& partition, const char* method) {
  const OwnedMat A = distribute(matrix, partition);
  const Outcome outcome = solve(A, std::string(method) +
                                       " -ksp_norm_type unpreconditioned -ksp_rtol 1e-8 -ksp_max_it 5000 "
                                       "-ksp_divtol 1e30 -pc_type blockjacobi");
  EXPECT_EQ(outcome.reason, KSP_CONVERGED_RTOL);
  return static_cast<index_t>(outcome.iterations);
}

void expect_same_cg(const CsrMatrix<T>& matrix, const BlockPartition& partition) {
  const index_t by_c = iterations_of_c(bj_cg, matrix, partition);
  EXPECT_NEAR(iterations_of_eigen_cg(matrix, partition), by_c, rounding);
  EXPECT_NEAR(iterations_of_petsc(matrix, partition, "-ksp_type cg"), by_c, rounding);
}

void expect_same_gmres(const CsrMatrix<T>& matrix, const BlockPartition& partition) {
  EXPECT_NEAR(iterations_of_petsc(matrix, partition,
                                  "-ksp_type gmres -ksp_pc_side right -ksp_gmres_cgs_refinement_type refine_always"),
              iterations_of_c(bj_gmres, matrix, partition), rounding);
}

TEST(SameIterations, CgThroughEigenCAndPetsc) {
  matrices::ElasticityOptions options;
  options.elements = {8, 5, 5};
  const auto matrix = matrices::elasticity<T>(options);
  for (const index_t size : {1, 3, 24}) {
    SCOPED_TRACE(size);
    expect_same_cg(matrix, BlockPartition::uniform(matrix.rows(), size));
  }
  expect_same_cg(matrix, BlockPartition::detect(matrix, 32));
}

TEST(SameIterations, GmresThroughCAndPetsc) {
  matrices::ConvectionDiffusionOptions options;
  options.grid = {24, 24, 1};
  const auto matrix = matrices::convection_diffusion<T>(options);
  for (const index_t size : {4, 48}) {
    SCOPED_TRACE(size);
    expect_same_gmres(matrix, BlockPartition::uniform(matrix.rows(), size));
  }
}

TEST(SameIterations, RealMatrices) {
  const char* folder = std::getenv("BLOCKJACOBI_MATRICES");
  if (folder == nullptr) GTEST_SKIP() << "BLOCKJACOBI_MATRICES is not set";
  const auto bcsstk16 = read_matrix_market<T>(std::filesystem::path(folder) / "bcsstk16.mtx.gz");
  expect_same_cg(bcsstk16, BlockPartition::detect(bcsstk16, 32));
  const auto sherman5 = read_matrix_market<T>(std::filesystem::path(folder) / "sherman5.mtx.gz");
  expect_same_gmres(sherman5, BlockPartition::detect(sherman5, 32));
}

}  // namespace
}  // namespace blockjacobi::test
