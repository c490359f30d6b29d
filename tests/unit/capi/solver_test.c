#include "cases.h"
#include "chain.h"
#include "check.h"

#include <math.h>

/* y = 2 x on ROWS doubles, or the failure that the context asks for. */
static int32_t twice(void* context, const void* x, void* y) {
  if (context != NULL) return *(const int32_t*)context;
  for (int i = 0; i < ROWS; ++i) ((double*)y)[i] = 2.0 * ((const double*)x)[i];
  return 0;
}

void misuse_of_solvers(const bj_backend* backend) {
  int32_t failure = 42;
  float single[ENTRIES] = {0};
  double b[ROWS], x[ROWS] = {0};
  const bj_csr matrix = matrix_of(BJ_D, entries, 0);
  bj_csr wrong = matrix_of(BJ_S, single, 0);
  bj_operator *A = NULL, *failing = NULL;
  bj_partition* partition = NULL;
  bj_block_jacobi* M = NULL;
  bj_solve_options options;
  bj_solve_report report;
  for (int i = 0; i < ROWS; ++i) b[i] = i;
  for (int k = 0; k < nnz; ++k) single[k] = (float)entries[k];

  OK(bj_operator_create_function(backend, ROWS, BJ_D, twice, NULL, &A));
  OK(bj_cg(A, NULL, b, x, ROWS, BJ_HOST, NULL, &report));
  CHECK(report.reason == BJ_STOP_CONVERGED && fabs(x[7] - 3.5) < 1e-12);
  OK(bj_operator_create_function(backend, ROWS, BJ_D, twice, &failure, &failing));
  FAILS(bj_operator_apply(failing, b, x, ROWS, BJ_HOST), BJ_CALLBACK_FAILED,
        "bj_operator_apply: the caller's product returned 42");
  CHECK(bj_gmres(failing, NULL, b, x, ROWS, BJ_HOST, NULL, &report) == BJ_CALLBACK_FAILED);
  bj_operator_destroy(failing);

  failing = NULL;
  CHECK(bj_operator_create_function(backend, -1, BJ_D, twice, NULL, &failing) == BJ_INVALID_ARGUMENT);
  CHECK(bj_operator_create_function(backend, ROWS, 7, twice, NULL, &failing) == BJ_INVALID_ARGUMENT);
  CHECK(bj_operator_create_function(backend, ROWS, BJ_D, NULL, NULL, &failing) == BJ_INVALID_ARGUMENT);
  CHECK(bj_operator_create_function(NULL, ROWS, BJ_D, twice, NULL, &failing) == BJ_INVALID_ARGUMENT);
  CHECK(bj_operator_create_function(backend, ROWS, BJ_D, twice, NULL, NULL) == BJ_INVALID_ARGUMENT);
  CHECK(bj_operator_create_csr(NULL, &matrix, &failing) == BJ_INVALID_ARGUMENT);
  CHECK(bj_operator_create_csr(backend, NULL, &failing) == BJ_INVALID_ARGUMENT);
  CHECK(bj_operator_create_csr(backend, &matrix, NULL) == BJ_INVALID_ARGUMENT);
  CHECK(failing == NULL);
  CHECK(bj_operator_apply(NULL, b, x, ROWS, BJ_HOST) == BJ_INVALID_ARGUMENT);
  CHECK(bj_operator_apply(A, b, x, ROWS + 1, BJ_HOST) == BJ_INVALID_ARGUMENT);
  OK(bj_operator_destroy(NULL));

  OK(bj_partition_create_uniform(ROWS, 2, &partition));
  OK(bj_block_jacobi_create(backend, &wrong, partition, BJ_SINGULAR_FAIL, &M));
  FAILS(bj_cg(A, M, b, x, ROWS, BJ_HOST, NULL, &report), BJ_INVALID_ARGUMENT,
        "bj_cg: the preconditioner has scalar s, the operator d");
  FAILS(bj_cg(NULL, M, b, x, ROWS, BJ_HOST, NULL, &report), BJ_INVALID_ARGUMENT, "bj_cg: A is a null pointer");
  FAILS(bj_gmres(A, NULL, b, x, ROWS, BJ_HOST, NULL, NULL), BJ_INVALID_ARGUMENT, "bj_gmres: report is a null pointer");
  FAILS(bj_gmres(A, NULL, b, x, ROWS, 5, NULL, &report), BJ_INVALID_ARGUMENT, "bj_gmres: space is 5, must be in 0..1");
  CHECK(bj_fcg(NULL, NULL, b, x, ROWS, BJ_HOST, NULL, &report) == BJ_INVALID_ARGUMENT);
  CHECK(bj_minres(NULL, NULL, b, x, ROWS, BJ_HOST, NULL, &report) == BJ_INVALID_ARGUMENT);
  CHECK(bj_bicgstab(NULL, NULL, b, x, ROWS, BJ_HOST, NULL, &report) == BJ_INVALID_ARGUMENT);
  CHECK(bj_fgmres(NULL, NULL, b, x, ROWS, BJ_HOST, NULL, &report) == BJ_INVALID_ARGUMENT);
  OK(bj_solve_options_init(&options));
  CHECK(options.relaxation == 1.0);
  options.relaxation = -1.0;
  FAILS(bj_richardson(A, NULL, b, x, ROWS, BJ_HOST, &options, &report), BJ_INVALID_ARGUMENT,
        "bj_richardson: richardson: relaxation is -1, must be > 0 and finite");
  OK(bj_solve_options_init(&options));
  options.relative_to = 2;
  FAILS(bj_cg(A, NULL, b, x, ROWS, BJ_HOST, &options, &report), BJ_INVALID_ARGUMENT,
        "bj_cg: relative_to is 2, must be in 0..1");
  options.relative_to = 0;
  options.basis = -1;
  FAILS(bj_gmres(A, NULL, b, x, ROWS, BJ_HOST, &options, &report), BJ_INVALID_ARGUMENT,
        "bj_gmres: basis is -1, must be in 0..1");
  OK(bj_solve_options_init(&options));
  options.resident = 2;
  FAILS(bj_cg(A, NULL, b, x, ROWS, BJ_HOST, &options, &report), BJ_INVALID_ARGUMENT,
        "bj_cg: resident is 2, must be in 0..1");

  FAILS(bj_cg_columns(A, NULL, b, ROWS, x, ROWS, ROWS, 1, 2, BJ_HOST, NULL, &report), BJ_INVALID_ARGUMENT,
        "bj_cg_columns: row_major is 2, must be in 0..1");
  FAILS(bj_cg_columns(A, NULL, b, ROWS - 1, x, ROWS, ROWS, 1, 0, BJ_HOST, NULL, &report), BJ_INVALID_ARGUMENT,
        "bj_cg_columns: cg_columns: B: the leading dimension is 119, must be at least 120");
  FAILS(bj_gmres_columns(A, NULL, b, ROWS, x, ROWS, ROWS, 1, 0, BJ_HOST, NULL, NULL), BJ_INVALID_ARGUMENT,
        "bj_gmres_columns: reports is a null pointer");
  CHECK(bj_gmres_columns(NULL, NULL, b, ROWS, x, ROWS, ROWS, 1, 0, BJ_HOST, NULL, &report) == BJ_INVALID_ARGUMENT);

  bj_workspace* workspace = NULL;
  bj_operator* csr = NULL;
  bj_solve_status status;
  FAILS(bj_workspace_create_cg(A, NULL, NULL, &workspace), BJ_INVALID_ARGUMENT,
        "bj_workspace_create_cg: CgWorkspace: the matrix is a function with Capture::no");
  CHECK(bj_workspace_create_gmres(NULL, NULL, NULL, &workspace) == BJ_INVALID_ARGUMENT && workspace == NULL);
  OK(bj_operator_create_csr(backend, &matrix, &csr));
  CHECK(bj_workspace_create_cg(csr, NULL, NULL, NULL) == BJ_INVALID_ARGUMENT);
  FAILS(bj_operator_refresh(csr, entries, nnz, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_operator_refresh: A was not made by bj_operator_create_bsr or bj_operator_create_numbered");
  CHECK(bj_operator_refresh(NULL, entries, nnz, BJ_HOST) == BJ_INVALID_ARGUMENT);
  CHECK(bj_operator_create_bsr(backend, &matrix, 33, &failing) == BJ_INVALID_ARGUMENT && failing == NULL);
  OK(bj_workspace_create_cg(csr, NULL, NULL, &workspace));
  FAILS(bj_enqueue(workspace, b, x, ROWS, BJ_HOST, NULL), BJ_INVALID_ARGUMENT,
        "bj_enqueue: cg_enqueue: status is a null pointer");
  CHECK(bj_enqueue(NULL, b, x, ROWS, BJ_HOST, &status) == BJ_INVALID_ARGUMENT);
  OK(bj_workspace_destroy(workspace));
  OK(bj_workspace_destroy(NULL));
  bj_operator_destroy(csr);
  CHECK(bj_cg(A, NULL, b, x, 7, BJ_HOST, NULL, &report) == BJ_INVALID_ARGUMENT);
  CHECK(bj_cg(A, NULL, NULL, x, ROWS, BJ_HOST, NULL, &report) == BJ_INVALID_ARGUMENT);
  CHECK(bj_cg(A, NULL, b, b, ROWS, BJ_HOST, NULL, &report) == BJ_INVALID_ARGUMENT);
  CHECK(bj_solve_options_init(NULL) == BJ_INVALID_ARGUMENT);
  bj_solve_options_init(&options);
  options.rtol = -1.0;
  CHECK(bj_cg(A, NULL, b, x, ROWS, BJ_HOST, &options, &report) == BJ_INVALID_ARGUMENT);
  bj_solve_options_init(&options);
  options.restart = 0;
  CHECK(bj_gmres(A, NULL, b, x, ROWS, BJ_HOST, &options, &report) == BJ_INVALID_ARGUMENT);
  bj_solve_options_init(&options);
  options.history = b;
  options.history_capacity = -1;
  FAILS(bj_cg(A, NULL, b, x, ROWS, BJ_HOST, &options, &report), BJ_INVALID_ARGUMENT,
        "bj_cg: history_capacity is -1, must be >= 0");

  bj_block_jacobi_destroy(M);
  bj_partition_destroy(partition);
  bj_operator_destroy(A);
}
