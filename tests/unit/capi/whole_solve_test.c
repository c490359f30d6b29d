#include "cases.h"
#include "chain.h"
#include "check.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t scalar_bytes(bj_scalar scalar) {
  switch (scalar) {
    case BJ_S: return sizeof(float);
    case BJ_D: return sizeof(double);
    case BJ_C: return sizeof(float complex);
    default: return sizeof(double complex);
  }
}

static void put_real(bj_scalar scalar, void* array, int32_t i, double value) {
  switch (scalar) {
    case BJ_S: ((float*)array)[i] = (float)value; break;
    case BJ_D: ((double*)array)[i] = value; break;
    case BJ_C: ((float complex*)array)[i] = (float)value; break;
    default: ((double complex*)array)[i] = value;
  }
}

static double real_of(bj_scalar scalar, const void* array, int32_t i) {
  switch (scalar) {
    case BJ_S: return (double)((const float*)array)[i];
    case BJ_D: return ((const double*)array)[i];
    case BJ_C: return (double)crealf(((const float complex*)array)[i]);
    default: return creal(((const double complex*)array)[i]);
  }
}

static void* array_of(bj_scalar scalar, int32_t size) {
  void* array = calloc((size_t)size, scalar_bytes(scalar));
  if (array == NULL) exit(2);
  return array;
}

static int32_t stop_at_once(void* context, int32_t iteration, double residual, double target) {
  *(int*)context += iteration >= 0 && residual > target;
  return 1;
}

/* b, zeros and 2 b, row-major with a gap, from zero; b takes CG so many iterations alone. */
static void columns_at_once(const bj_operator* A, const bj_block_jacobi* M, bj_scalar scalar, const void* b,
                            double rtol, int32_t iterations) {
  enum { COLUMNS = 3, LD = 4, NORMS = 2 };
  void* B = array_of(scalar, ROWS * LD);
  void* X = array_of(scalar, ROWS * LD);
  bj_solve_options options;
  OK(bj_solve_options_init(&options));
  for (int32_t i = 0; i < ROWS; ++i) {
    put_real(scalar, B, i * LD, real_of(scalar, b, i));
    put_real(scalar, B, i * LD + 2, 2.0 * real_of(scalar, b, i));
  }
  for (int solver = 0; solver < 2; ++solver) {
    bj_solve_report reports[COLUMNS];
    double histories[COLUMNS * NORMS] = {-1, -1, -1, -1, -1, -1};
    options.rtol = rtol;
    options.history = histories;
    options.history_capacity = NORMS;
    memset(X, 0, ROWS * LD * scalar_bytes(scalar));
    OK((solver == 0 ? bj_cg_columns : bj_gmres_columns)(A, M, B, LD, X, LD, ROWS, COLUMNS, 1, BJ_HOST, &options,
                                                        reports));
    for (int c = 0; c < COLUMNS; ++c)
      CHECK(reports[c].reason == BJ_STOP_CONVERGED && reports[c].true_residual <= rtol * reports[c].rhs_norm);
    CHECK(solver == 1 || abs(reports[0].iterations - iterations) <= 2);
    CHECK(reports[0].iterations > 0 && reports[1].iterations == 0 && reports[1].history_size == 0);
    CHECK(histories[0] == reports[0].initial_residual && histories[1] > 0.0);
    CHECK(histories[NORMS] == -1.0 && histories[2 * NORMS] == reports[2].initial_residual);
    for (int32_t i = 0; i < ROWS; ++i) {
      const double x = real_of(scalar, X, i * LD), twice = real_of(scalar, X, i * LD + 2);
      CHECK(fabs(twice - 2.0 * x) <= 10.0 * rtol * reports[2].rhs_norm);
      CHECK(real_of(scalar, X, i * LD + 1) == 0.0 && real_of(scalar, X, i * LD + 3) == 0.0);
    }
  }
  free(B);
  free(X);
}

void solve(const bj_backend* backend, bj_scalar scalar, int from_1) {
  const double rtol = scalar == BJ_S || scalar == BJ_C ? 1e-4 : 1e-10;
  void* values = array_of(scalar, nnz);
  void* b = array_of(scalar, ROWS);
  void* x = array_of(scalar, ROWS);
  void* y = array_of(scalar, ROWS);
  for (int32_t k = 0; k < nnz; ++k) put_real(scalar, values, k, entries[k]);
  for (int32_t i = 0; i < ROWS; ++i) put_real(scalar, b, i, 1.0 + i % 5);

  const bj_csr matrix = matrix_of(scalar, values, from_1);
  bj_csr pattern = matrix;
  pattern.values = NULL;
  bj_partition* partition = NULL;
  bj_block_jacobi* M = NULL;
  bj_operator* A = NULL;
  size_t bytes = 0;
  OK(bj_partition_create_detect(backend, &pattern, 8, &partition));
  OK(bj_block_jacobi_bytes(&pattern, partition, &bytes));
  OK(bj_block_jacobi_create(backend, &pattern, partition, BJ_SINGULAR_FAIL, &M));
  OK(bj_block_jacobi_refresh(M, values, nnz, BJ_HOST));
  OK(bj_operator_create_csr(backend, &matrix, &A));

  bj_block_jacobi_report report;
  OK(bj_block_jacobi_get_report(M, &report));
  CHECK(report.rows == ROWS && report.scalar == scalar && report.singular == BJ_SINGULAR_FAIL);
  CHECK((size_t)report.bytes == bytes);
  CHECK(report.singular_blocks == 0 && report.non_finite_blocks == 0);
  CHECK(report.min_rcond > 0.0 && report.min_rcond <= 1.0 && report.min_rcond_block >= 0);

  bj_solve_options options;
  bj_solve_report cg_report, gmres_report;
  double history[4] = {0, 0, 0, -1};
  OK(bj_solve_options_init(&options));
  CHECK(options.rtol == 1e-8 && options.max_iterations == 10000 && options.restart == 30 && options.progress == NULL);
  options.rtol = rtol;
  options.history = history;
  options.history_capacity = 3;
  OK(bj_cg(A, M, b, x, ROWS, BJ_HOST, &options, &cg_report));
  CHECK(cg_report.reason == BJ_STOP_CONVERGED && cg_report.true_residual <= rtol * cg_report.rhs_norm);
  CHECK(cg_report.history_size == cg_report.iterations + 1 && history[2] > 0.0);
  CHECK(history[0] == cg_report.initial_residual && history[3] == -1);
  OK(bj_operator_apply(A, x, y, ROWS, BJ_HOST));
  double error = 0.0;
  for (int32_t i = 0; i < ROWS; ++i) error = fmax(error, fabs(real_of(scalar, y, i) - real_of(scalar, b, i)));
  CHECK(error <= 2 * rtol * cg_report.rhs_norm);

  memset(x, 0, ROWS * scalar_bytes(scalar));
  OK(bj_gmres(A, M, b, x, ROWS, BJ_HOST, &options, &gmres_report));
  CHECK(gmres_report.reason == BJ_STOP_CONVERGED);

  /* The other solvers, and those whose status lies in the backend's memory; with the matrix in block rows. */
  typedef bj_status (*solver)(const bj_operator*, const bj_block_jacobi*, const void*, void*, int32_t, bj_space,
                              const bj_solve_options*, bj_solve_report*);
  const solver solvers[5] = {bj_fcg, bj_minres, bj_bicgstab, bj_fgmres, bj_richardson};
  bj_operator* in_blocks = NULL;
  OK(bj_operator_create_bsr(backend, &matrix, ROWS / NODES, &in_blocks));
  OK(bj_operator_refresh(in_blocks, values, nnz, BJ_HOST));
  for (int i = 0; i < 5; ++i) {
    bj_solve_report found;
    memset(x, 0, ROWS * scalar_bytes(scalar));
    OK(solvers[i](in_blocks, M, b, x, ROWS, BJ_HOST, &options, &found));
    CHECK(found.reason == BJ_STOP_CONVERGED && found.true_residual <= rtol * found.rhs_norm);
  }
  options.max_iterations = 60;
  for (int i = 0; i < 2; ++i) {
    bj_workspace* workspace = NULL;
    bj_solve_status status;
    options.relative_to = BJ_RELATIVE_TO_INITIAL_RESIDUAL;
    options.basis = BJ_BASIS_SINGLE;
    OK((i == 0 ? bj_workspace_create_cg : bj_workspace_create_gmres)(in_blocks, M, &options, &workspace));
    memset(x, 0, ROWS * scalar_bytes(scalar));
    memset(&status, 0, sizeof(status));
    OK(bj_enqueue(workspace, b, x, ROWS, BJ_HOST, &status));
    CHECK(status.reason == BJ_STOP_CONVERGED && status.iterations > 0 && status.true_residual <= status.target);
    CHECK(fabs(status.target - rtol * status.initial_residual) <= 1e-12 * status.target);
    bj_workspace_destroy(workspace);
  }
  bj_operator_destroy(in_blocks);
  options.max_iterations = 10000;
  options.relative_to = BJ_RELATIVE_TO_RHS;
  options.basis = BJ_BASIS_WORKING;

  columns_at_once(A, M, scalar, b, rtol, cg_report.iterations);

  /* Without a preconditioner more iterations, with one iteration none that converged. */
  bj_solve_report other;
  memset(x, 0, ROWS * scalar_bytes(scalar));
  OK(bj_cg(A, NULL, b, x, ROWS, BJ_HOST, &options, &other));
  CHECK(other.reason == BJ_STOP_CONVERGED && other.iterations > cg_report.iterations);
  memset(x, 0, ROWS * scalar_bytes(scalar));
  options.max_iterations = 1;
  OK(bj_cg(A, M, b, x, ROWS, BJ_HOST, &options, &other));
  CHECK(other.reason == BJ_STOP_MAX_ITERATIONS && other.iterations == 1);
  int calls = 0;
  options.max_iterations = 100;
  options.progress = stop_at_once;
  options.context = &calls;
  OK(bj_gmres(A, M, b, x, ROWS, BJ_HOST, &options, &other));
  CHECK(other.reason == BJ_STOP_USER_STOP && calls == 1);

  bj_operator_destroy(A);
  bj_block_jacobi_destroy(M);
  bj_partition_destroy(partition);
  free(values);
  free(b);
  free(x);
  free(y);
}
