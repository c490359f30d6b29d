#include "cases.h"
#include "chain.h"
#include "check.h"

#include <math.h>
#include <string.h>

void misuse_of_block_jacobi(const bj_backend* backend) {
  const bj_csr matrix = matrix_of(BJ_D, entries, 0);
  bj_csr wrong;
  bj_partition *partition = NULL, *short_partition = NULL;
  bj_block_jacobi* M = NULL;
  bj_block_jacobi_report report;
  size_t bytes = 0;
  double r[ROWS] = {0}, z[ROWS];
  int32_t info[NODES];
  char text[16];
  OK(bj_partition_create_uniform(ROWS, 2, &partition));
  OK(bj_partition_create_uniform(ROWS - 1, 2, &short_partition));

#define CREATE(matrix_, partition_, singular_) bj_block_jacobi_create(backend, matrix_, partition_, singular_, &M)
  FAILS(CREATE(&matrix, partition, 5), BJ_INVALID_ARGUMENT, "bj_block_jacobi_create: singular is 5, must be in 0..4");
  FAILS(CREATE(NULL, partition, 0), BJ_INVALID_ARGUMENT, "bj_block_jacobi_create: the matrix is a null pointer");
  FAILS(CREATE(&matrix, NULL, 0), BJ_INVALID_ARGUMENT, "bj_block_jacobi_create: partition is a null pointer");
  FAILS(CREATE(&matrix, short_partition, 0), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_create: BlockJacobi: the partition has 119 rows, the matrix 120");
  FAILS(bj_block_jacobi_create(NULL, &matrix, partition, 0, &M), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_create: backend is a null pointer");
  FAILS(bj_block_jacobi_create(backend, &matrix, partition, 0, NULL), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_create: M is a null pointer");
  wrong = matrix;
  wrong.scalar = 4;
  FAILS(CREATE(&wrong, partition, 0), BJ_INVALID_ARGUMENT, "bj_block_jacobi_create: scalar is 4, must be in 0..3");
  wrong = matrix;
  wrong.base = 2;
  FAILS(CREATE(&wrong, partition, 0), BJ_INVALID_ARGUMENT, "bj_block_jacobi_create: base is 2, must be in 0..1");
  wrong = matrix;
  wrong.space = -1;
  FAILS(CREATE(&wrong, partition, 0), BJ_INVALID_ARGUMENT, "bj_block_jacobi_create: space is -1, must be in 0..1");
  wrong = matrix;
  wrong.offset_bits = 16;
  FAILS(CREATE(&wrong, partition, 0), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_create: offset_bits is 16, must be 32 or 64");
  wrong = matrix;
  wrong.columns = NULL;
  FAILS(CREATE(&wrong, partition, 0), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_create: BlockJacobi: the matrix has a null pointer for its columns");
  wrong = matrix;
  wrong.space = BJ_DEVICE;
  FAILS(CREATE(&wrong, partition, 0), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_create: BlockJacobi: the matrix lies on the device, the backend is host, 2 threads");
#undef CREATE
  CHECK(M == NULL);
  CHECK(bj_block_jacobi_bytes(&matrix, short_partition, &bytes) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_bytes(&matrix, NULL, &bytes) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_bytes(&matrix, partition, NULL) == BJ_INVALID_ARGUMENT);

  wrong = matrix;
  wrong.values = NULL;
  OK(bj_block_jacobi_create(backend, &wrong, partition, BJ_SINGULAR_FAIL, &M));
  FAILS(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, r, z, ROWS, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_apply: BlockJacobi::apply: there are no inverses yet, refresh() comes first after "
        "BlockJacobi::analyze()");
  CHECK(bj_block_jacobi_info(M, info) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_get_report(M, &report) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_text(M, text, sizeof(text), NULL) == BJ_INVALID_ARGUMENT);
  FAILS(bj_block_jacobi_refresh(M, entries, nnz - 1, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_refresh: BlockJacobi::refresh: 475 values, the pattern has 476");
  CHECK(bj_block_jacobi_refresh(M, NULL, nnz, BJ_HOST) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_refresh(M, entries, nnz, BJ_DEVICE) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_refresh(M, entries, nnz, 2) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_refresh(NULL, entries, nnz, BJ_HOST) == BJ_INVALID_ARGUMENT);
  OK(bj_block_jacobi_refresh(M, entries, nnz, BJ_HOST));

  FAILS(bj_block_jacobi_apply(M, 3, r, z, ROWS, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_apply: op is 3, must be in 0..2");
  FAILS(bj_block_jacobi_apply(M, BJ_TRANSPOSE, r, z, ROWS - 1, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_apply: BlockJacobi::apply: r: length is 119, must be 120");
  FAILS(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, r, r, ROWS, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_apply: BlockJacobi::apply: input and output overlap");
  CHECK(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, NULL, z, ROWS, BJ_HOST) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, r, NULL, ROWS, BJ_HOST) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, r, z, ROWS, BJ_DEVICE) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_apply(NULL, BJ_NO_TRANSPOSE, r, z, ROWS, BJ_HOST) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_info(M, NULL) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_get_report(M, NULL) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_get_report(NULL, &report) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_text(NULL, text, sizeof(text), NULL) == BJ_INVALID_ARGUMENT);
  OK(bj_block_jacobi_info(M, info));
  CHECK(info[0] == 0 && info[NODES - 1] == 0);

  bj_block_jacobi_destroy(M);
  OK(bj_block_jacobi_destroy(NULL));
  bj_partition_destroy(partition);
  bj_partition_destroy(short_partition);
}

void singular_blocks(const bj_backend* backend) {
  /* [1 2; 2 4] and [3], and for the refresh a NaN in the last. */
  const int32_t offsets[4] = {0, 2, 4, 5}, cols[5] = {0, 1, 0, 1, 2}, blocks[3] = {0, 2, 3};
  const double regular[5] = {2, 0, 0, 2, 3}, singular[5] = {1, 2, 2, 4, 3}, bad[5] = {2, 0, 0, 2, NAN};
  bj_csr matrix = matrix_of(BJ_D, singular, 0);
  bj_partition* partition = NULL;
  bj_block_jacobi* M = NULL;
  bj_operator* A = NULL;
  bj_block_jacobi_report report;
  bj_solve_report solve_report;
  int32_t info[2];
  double b[3] = {1, 1, 1}, x[3] = {0, 0, 0};
  char text[512];
  matrix.rows = 3;
  matrix.cols = 3;
  matrix.nnz = 5;
  matrix.row_offsets = offsets;
  matrix.columns = cols;
  OK(bj_partition_create_offsets(blocks, 2, &partition));
  FAILS(bj_block_jacobi_create(backend, &matrix, partition, BJ_SINGULAR_FAIL, &M), BJ_SINGULAR_BLOCK,
        "bj_block_jacobi_create: BlockJacobi: block 0 (rows 0..1): pivot 2 is exactly zero");
  CHECK(M == NULL);
  OK(bj_block_jacobi_create(backend, &matrix, partition, BJ_SINGULAR_SCALAR_JACOBI, &M));
  OK(bj_block_jacobi_get_report(M, &report));
  CHECK(report.singular_blocks == 1 && report.non_finite_blocks == 0 && report.min_rcond_block == 1);
  OK(bj_block_jacobi_apply(M, BJ_TRANSPOSE, b, x, 3, BJ_HOST));
  CHECK(x[0] == 1.0 && x[1] == 0.25);
  OK(bj_block_jacobi_text(M, text, sizeof(text), NULL));
  CHECK(strstr(text, "block 0 (rows 0..1): pivot 2 is exactly zero") != NULL);
  bj_block_jacobi_destroy(M);

  matrix.values = regular;
  OK(bj_block_jacobi_create(backend, &matrix, partition, BJ_SINGULAR_FAIL, &M));
  OK(bj_operator_create_csr(backend, &matrix, &A));
  OK(bj_block_jacobi_refresh(M, bad, 5, BJ_HOST));
  OK(bj_block_jacobi_info(M, info));
  CHECK(info[0] == 0 && info[1] == -1);
  OK(bj_cg(A, M, b, x, 3, BJ_HOST, NULL, &solve_report));
  CHECK(solve_report.reason == BJ_STOP_SINGULAR_BLOCK);
  OK(bj_block_jacobi_refresh(M, regular, 5, BJ_HOST));
  OK(bj_gmres(A, M, b, x, 3, BJ_HOST, NULL, &solve_report));
  CHECK(solve_report.reason == BJ_STOP_CONVERGED);
  bj_operator_destroy(A);
  bj_block_jacobi_destroy(M);
  bj_partition_destroy(partition);
}

void what_was_found(const bj_backend* backend) {
  /* [1 4; 2 4], where elimination of the equilibrated block grows nothing, and [3], beside a coupling of 1. */
  const int32_t offsets[4] = {0, 3, 5, 6}, cols[6] = {0, 1, 2, 0, 1, 2}, blocks[3] = {0, 2, 3};
  const int32_t other[6] = {0, 1, 2, 1, 0, 2};
  const double values[6] = {1, 4, 1, 2, 4, 3}, bad[6] = {1, 4, 1, 2, 4, NAN};
  bj_csr matrix = matrix_of(BJ_D, values, 0), wrong;
  bj_partition* partition = NULL;
  bj_block_jacobi* M = NULL;
  bj_block_jacobi_report report;
  double rcond[2] = {-1, -1}, growth[2] = {-1, -1};
  const int32_t* info = NULL;
  const void* view = NULL;
  char text[1024];
  matrix.rows = 3;
  matrix.cols = 3;
  matrix.nnz = 6;
  matrix.row_offsets = offsets;
  matrix.columns = cols;
  OK(bj_partition_create_offsets(blocks, 2, &partition));
  OK(bj_block_jacobi_create(backend, &matrix, partition, BJ_SINGULAR_IDENTITY, &M));
  OK(bj_block_jacobi_rcond(M, rcond));
  CHECK(rcond[0] > 0.05 && rcond[0] < 1 && rcond[1] == 1);
  OK(bj_block_jacobi_info_view(M, &info));
  OK(bj_block_jacobi_rcond_view(M, &view));
  CHECK(info[0] == 0 && info[1] == 0 && ((const double*)view)[0] == rcond[0]);
  OK(bj_block_jacobi_pivot_growth(M, values, 6, BJ_HOST, growth));
  CHECK(growth[0] >= 0.5 && growth[0] <= 2 && growth[1] == 1);

  OK(bj_block_jacobi_get_report(M, &report));
  CHECK(isnan(report.captured) && isnan(report.max_growth) && report.max_growth_block == -1);
  OK(bj_block_jacobi_get_report_with(M, &matrix, &report));
  CHECK(report.captured > 0.5 && report.captured < 1 && report.max_growth >= 1 && report.min_rcond == rcond[0]);
  CHECK(report.max_growth_block == (growth[0] >= 1 ? 0 : 1));
  OK(bj_block_jacobi_json_with(M, &matrix, text, sizeof(text), NULL));
  CHECK(strstr(text, "\"captured\": 0.") != NULL);
  OK(bj_block_jacobi_text_with(M, &matrix, text, sizeof(text), NULL));
  CHECK(strstr(text, "captured weight") != NULL);
  OK(bj_block_jacobi_text(M, text, sizeof(text), NULL));
  CHECK(strstr(text, "captured weight") == NULL);
  OK(bj_block_jacobi_refresh(M, bad, 6, BJ_HOST));
  CHECK(info[1] == -1);
  OK(bj_block_jacobi_refresh_matrix(M, &matrix));
  CHECK(info[1] == 0);
  wrong = matrix;
  wrong.columns = other;
  FAILS(
      bj_block_jacobi_refresh_matrix(M, &wrong), BJ_INVALID_ARGUMENT,
      "bj_block_jacobi_refresh_matrix: BlockJacobi::refresh: the pattern is not the one given at construction, though "
      "it has the same number of rows and entries");
  CHECK(bj_block_jacobi_refresh_matrix(NULL, &matrix) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_refresh_matrix(M, NULL) == BJ_INVALID_ARGUMENT);
  OK(bj_block_jacobi_refresh(M, bad, 6, BJ_HOST));
  OK(bj_block_jacobi_rcond(M, rcond));
  CHECK(isnan(rcond[1]));

  wrong = matrix;
  wrong.scalar = BJ_S;
  FAILS(bj_block_jacobi_get_report_with(M, &wrong, &report), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_get_report_with: the matrix has scalar s, M d");
  wrong = matrix;
  wrong.nnz = 5;
  CHECK(bj_block_jacobi_get_report_with(M, &wrong, &report) == BJ_INVALID_ARGUMENT);
  FAILS(bj_block_jacobi_get_report_with(M, NULL, &report), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_get_report_with: the matrix is a null pointer");
  CHECK(bj_block_jacobi_get_report_with(NULL, &matrix, &report) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_get_report_with(M, &matrix, NULL) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_json_with(NULL, &matrix, text, sizeof(text), NULL) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_text_with(M, NULL, text, sizeof(text), NULL) == BJ_INVALID_ARGUMENT);
  FAILS(bj_block_jacobi_pivot_growth(M, values, 5, BJ_HOST, growth), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_pivot_growth: BlockJacobi::pivot_growth: 5 values, the pattern has 6");
  CHECK(bj_block_jacobi_pivot_growth(M, values, 6, BJ_HOST, NULL) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_pivot_growth(M, values, 6, 2, growth) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_pivot_growth(NULL, values, 6, BJ_HOST, growth) == BJ_INVALID_ARGUMENT);
  FAILS(bj_block_jacobi_rcond(M, NULL), BJ_INVALID_ARGUMENT, "bj_block_jacobi_rcond: rcond is a null pointer");
  CHECK(bj_block_jacobi_rcond(NULL, rcond) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_info_view(M, NULL) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_info_view(NULL, &info) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_rcond_view(M, NULL) == BJ_INVALID_ARGUMENT);
  CHECK(bj_block_jacobi_rcond_view(NULL, &view) == BJ_INVALID_ARGUMENT);
  bj_block_jacobi_destroy(M);
  bj_partition_destroy(partition);
}

void options_of_block_jacobi(const bj_backend* backend) {
  /* [1 2; 2 4] and [4]. */
  const int32_t offsets[4] = {0, 2, 4, 5}, cols[5] = {0, 1, 0, 1, 2}, blocks[3] = {0, 2, 3};
  const double singular[5] = {1, 2, 2, 4, 4}, lopsided[5] = {4, 1, 2, 4, 4};
  const double alpha = 2, beta = -1, r[6] = {8, 16, 4, 0, 0, 8};
  double z[6] = {1, 1, 1, 1, 1, 1};
  bj_csr matrix = matrix_of(BJ_D, singular, 0);
  bj_block_jacobi_options options;
  bj_partition* partition = NULL;
  bj_block_jacobi* M = NULL;
  bj_block_jacobi_report report;
  char text[1024];
  matrix.rows = 3;
  matrix.cols = 3;
  matrix.nnz = 5;
  matrix.row_offsets = offsets;
  matrix.columns = cols;
  OK(bj_partition_create_offsets(blocks, 2, &partition));
  OK(bj_block_jacobi_options_init(&options));
  CHECK(options.singular == BJ_SINGULAR_FAIL && options.storage == BJ_STORAGE_FULL && options.accuracy == 0.1);
  CHECK(options.l1 == 0);
#define CREATE_WITH bj_block_jacobi_create_with(backend, &matrix, partition, &options, &M)
  options.singular = BJ_SINGULAR_PSEUDO_INVERSE;
  options.storage = BJ_STORAGE_PACKED;
  OK(CREATE_WITH);
  /* [1/4 1/8; 1/8 1/16] and [1/4], two columns, first as columns, then as rows */
  OK(bj_block_jacobi_apply_columns(M, BJ_NO_TRANSPOSE, &alpha, r, 3, &beta, z, 3, 3, 2, 0, BJ_HOST));
  CHECK(fabs(z[0] - 7) < 1e-14 && fabs(z[1] - 3) < 1e-14 && fabs(z[2] - 1) < 1e-14 && fabs(z[5] - 3) < 1e-14);
  CHECK(z[3] == -1);
  OK(bj_block_jacobi_apply_columns(M, BJ_TRANSPOSE, &alpha, r, 2, &beta, z, 2, 3, 2, 1, BJ_HOST));
  const double by_rows[6] = {-2, 5, 1.5, 5, 1, 1};
  for (int k = 0; k < 6; ++k) CHECK(fabs(z[k] - by_rows[k]) < 1e-14);
  FAILS(bj_block_jacobi_apply_columns(M, 0, &alpha, r, 2, &beta, z, 3, 3, 2, 0, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_apply_columns: BlockJacobi::apply: R: the leading dimension is 2, must be at least 3");
  FAILS(bj_block_jacobi_apply_columns(M, 0, NULL, r, 3, &beta, z, 3, 3, 2, 0, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_apply_columns: alpha is a null pointer");
  OK(bj_block_jacobi_json(M, text, sizeof(text), NULL));
  CHECK(strstr(text, "\"storage\": \"packed\"") != NULL && strstr(text, "\"singular_blocks\": 1") != NULL);
  FAILS(bj_block_jacobi_rebuild(M, lopsided, 5, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_rebuild: BlockJacobi: packed storage needs Hermitian blocks; block 0 (rows 0..1): element "
        "(1, 0) is 2, (0, 1) is 1");
  OK(bj_block_jacobi_refresh(M, lopsided, 5, BJ_HOST));
  OK(bj_block_jacobi_get_report(M, &report));
  CHECK(report.unsuited_blocks == 1);
  OK(bj_block_jacobi_rebuild(M, singular, 5, BJ_HOST));
  OK(bj_block_jacobi_get_report(M, &report));
  CHECK(report.unsuited_blocks == 0);
  bj_block_jacobi_destroy(M);
  options.storage = 6;
  FAILS(CREATE_WITH, BJ_INVALID_ARGUMENT, "bj_block_jacobi_create_with: storage is 6, must be in 0..5");
  options.storage = BJ_STORAGE_ADAPTIVE;
  options.accuracy = -1;
  FAILS(CREATE_WITH, BJ_INVALID_ARGUMENT, "bj_block_jacobi_create_with: BlockJacobi: accuracy is -1, must be positive");
  options.l1 = 2;
  FAILS(CREATE_WITH, BJ_INVALID_ARGUMENT, "bj_block_jacobi_create_with: l1 is 2, must be 0 or 1");
#undef CREATE_WITH
  bj_partition_destroy(partition);
}
