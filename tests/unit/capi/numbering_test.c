#include "cases.h"
#include "chain.h"
#include "check.h"

#include <math.h>
#include <string.h>

/* Rows 0 and 2, and rows 1 and 3, are coupled: [4 2; 1 4] and [3 1; 2 3]. */
enum { SMALL = 4, SMALL_ENTRIES = 8 };
static const int32_t small_offsets[SMALL + 1] = {0, 2, 4, 6, 8},
                                           small_columns[SMALL_ENTRIES] = {0, 2, 1, 3, 0, 2, 1, 3};
static const double small_values[SMALL_ENTRIES] = {4, 2, 3, 1, 1, 4, 2, 3};
static const int32_t labels[SMALL] = {5, -1, 5, -1}, blocks_of_two[3] = {0, 2, 4};

static bj_csr small_matrix(const double* values) {
  bj_csr matrix = matrix_of(BJ_D, values, 0);
  matrix.rows = SMALL;
  matrix.cols = SMALL;
  matrix.nnz = SMALL_ENTRIES;
  matrix.row_offsets = small_offsets;
  matrix.columns = small_columns;
  return matrix;
}

static int are(const double* found, double a, double b, double c, double d) {
  return fabs(found[0] - a) < 1e-13 && fabs(found[1] - b) < 1e-13 && fabs(found[2] - c) < 1e-13 &&
         fabs(found[3] - d) < 1e-13;
}

static void partitions_with_numbering(void) {
  const bj_csr chain = matrix_of(BJ_D, entries, 0), pattern = matrix_of(BJ_D, NULL, 0);
  bj_partition *partition = NULL, *nodes = NULL, *wrong = NULL;
  int32_t order[ROWS], offsets[ROWS + 1], seen[ROWS] = {0}, rows = 0, blocks = 0;
  OK(bj_partition_create_labels(labels, SMALL, &partition));
  OK(bj_partition_size(partition, &rows, &blocks));
  CHECK(rows == SMALL && blocks == 2);
  OK(bj_partition_order(partition, order));
  CHECK(order[0] == 0 && order[1] == 2 && order[2] == 1 && order[3] == 3);
  OK(bj_partition_offsets(partition, offsets));
  CHECK(memcmp(offsets, blocks_of_two, sizeof(blocks_of_two)) == 0);
  FAILS(bj_partition_create_clusters(&chain, partition, 8, &wrong), BJ_INVALID_ARGUMENT,
        "bj_partition_create_clusters: nodes has a numbering of its own");
  bj_partition_destroy(partition);

  OK(bj_partition_create_uniform(ROWS, 2, &nodes));
  OK(bj_partition_order(nodes, order));
  for (int32_t k = 0; k < ROWS; ++k) CHECK(order[k] == k);
  OK(bj_partition_create_clusters(&chain, nodes, 8, &partition));
  OK(bj_partition_size(partition, &rows, &blocks));
  OK(bj_partition_offsets(partition, offsets));
  OK(bj_partition_order(partition, order));
  CHECK(rows == ROWS && blocks < ROWS / 4);
  for (int32_t b = 0; b < blocks; ++b) CHECK(offsets[b + 1] - offsets[b] <= 8);
  for (int32_t k = 0; k < ROWS; ++k) ++seen[order[k]];
  for (int32_t k = 0; k < ROWS; k += 2) CHECK(seen[k] == 1 && order[k] % 2 == 0 && order[k + 1] == order[k] + 1);
  bj_partition_destroy(partition);
  OK(bj_partition_create_clusters(&chain, NULL, 8, &partition));
  bj_partition_destroy(partition);

  int32_t same[513] = {0};
  FAILS(bj_partition_create_labels(same, 513, &wrong), BJ_INVALID_ARGUMENT,
        "bj_partition_create_labels: BlockPartition::from_labels: 513 rows have the label 0, at most 512 may");
  FAILS(bj_partition_create_labels(labels, -1, &wrong), BJ_INVALID_ARGUMENT,
        "bj_partition_create_labels: rows is -1, must be >= 0");
  FAILS(bj_partition_create_labels(NULL, SMALL, &wrong), BJ_INVALID_ARGUMENT,
        "bj_partition_create_labels: labels is a null pointer");
  CHECK(bj_partition_create_labels(labels, SMALL, NULL) == BJ_INVALID_ARGUMENT);
  FAILS(bj_partition_create_clusters(&chain, NULL, 513, &wrong), BJ_INVALID_ARGUMENT,
        "bj_partition_create_clusters: BlockPartition::clusters: block size is 513, must be in 1..512");
  FAILS(bj_partition_create_clusters(&chain, nodes, 1, &wrong), BJ_INVALID_ARGUMENT,
        "bj_partition_create_clusters: BlockPartition::clusters: node 0 has 2 rows, a block at most 1");
  FAILS(bj_partition_create_clusters(&pattern, NULL, 8, &wrong), BJ_INVALID_ARGUMENT,
        "bj_partition_create_clusters: BlockPartition::clusters: the matrix has 476 entries but no values");
  FAILS(bj_partition_create_clusters(NULL, NULL, 8, &wrong), BJ_INVALID_ARGUMENT,
        "bj_partition_create_clusters: the matrix is a null pointer");
  CHECK(bj_partition_create_clusters(&chain, NULL, 8, NULL) == BJ_INVALID_ARGUMENT);
  bj_partition_destroy(nodes);
  OK(bj_partition_create_uniform(ROWS - 1, 1, &nodes));
  FAILS(bj_partition_create_clusters(&chain, nodes, 8, &wrong), BJ_INVALID_ARGUMENT,
        "bj_partition_create_clusters: BlockPartition::clusters: the matrix has 120 rows, the nodes 119");
  FAILS(bj_partition_order(NULL, order), BJ_INVALID_ARGUMENT, "bj_partition_order: partition is a null pointer");
  FAILS(bj_partition_order(nodes, NULL), BJ_INVALID_ARGUMENT, "bj_partition_order: order is a null pointer");
  CHECK(wrong == NULL);
  bj_partition_destroy(nodes);
}

static void blocks_with_numbering(const bj_backend* backend) {
  const double z[SMALL] = {1, 1, 2, 1}, r[SMALL] = {8, 4, 9, 5}, of_transpose[SMALL] = {6, 5, 10, 4};
  const double twice[SMALL_ENTRIES] = {8, 4, 6, 2, 2, 8, 4, 6}, singular[SMALL_ENTRIES] = {4, 2, 3, 1, 2, 1, 2, 3};
  const double one = 1;
  double found[SMALL], growth[2];
  bj_csr matrix = small_matrix(small_values), wrong;
  bj_partition* partition = NULL;
  bj_block_jacobi *M = NULL, *none = NULL;
  bj_operator* A = NULL;
  bj_block_jacobi_report report;
  char text[512];
  size_t bytes = 0;
  OK(bj_partition_create_labels(labels, SMALL, &partition));
  OK(bj_block_jacobi_create(backend, &matrix, partition, BJ_SINGULAR_IDENTITY, &M));
  OK(bj_operator_create_numbered(backend, &matrix, partition, &A));
  OK(bj_block_jacobi_bytes(&matrix, partition, &bytes));
  OK(bj_block_jacobi_get_report_with(M, &matrix, &report));
  CHECK((size_t)report.bytes == bytes && report.entries_inside == 1 && report.captured == 1);
  OK(bj_operator_apply(A, z, found, SMALL, BJ_HOST));
  CHECK(are(found, 8, 4, 9, 5));
  OK(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, r, found, SMALL, BJ_HOST));
  CHECK(are(found, 1, 1, 2, 1));
  OK(bj_block_jacobi_apply(M, BJ_TRANSPOSE, of_transpose, found, SMALL, BJ_HOST));
  CHECK(are(found, 1, 1, 2, 1));
  OK(bj_block_jacobi_pivot_growth(M, small_values, SMALL_ENTRIES, BJ_HOST, growth));
  CHECK(growth[0] > 0 && growth[1] > 0);

  OK(bj_operator_refresh(A, twice, SMALL_ENTRIES, BJ_HOST));
  OK(bj_operator_apply(A, z, found, SMALL, BJ_HOST));
  CHECK(are(found, 16, 8, 18, 10));
  OK(bj_block_jacobi_refresh(M, twice, SMALL_ENTRIES, BJ_HOST));
  OK(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, r, found, SMALL, BJ_HOST));
  CHECK(are(found, 0.5, 0.5, 1, 0.5));
  OK(bj_block_jacobi_rebuild(M, singular, SMALL_ENTRIES, BJ_HOST));
  OK(bj_block_jacobi_text(M, text, sizeof(text), NULL));
  CHECK(strstr(text, "block 0 (rows 0, 2): pivot 2 is exactly zero") != NULL);
  matrix.values = singular;
  FAILS(bj_block_jacobi_create(backend, &matrix, partition, BJ_SINGULAR_FAIL, &none), BJ_SINGULAR_BLOCK,
        "bj_block_jacobi_create: BlockJacobi: block 0 (rows 0, 2): pivot 2 is exactly zero");
  FAILS(bj_two_level_create(backend, &matrix, partition, NULL, NULL, &none), BJ_SINGULAR_BLOCK,
        "bj_two_level_create: BlockJacobi: block 0 (rows 0, 2): pivot 2 is exactly zero");

  FAILS(bj_block_jacobi_apply_columns(M, 0, &one, r, SMALL, &one, found, SMALL, SMALL, 1, 0, BJ_HOST),
        BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_apply_columns: the blocks of M have a numbering of their own: use bj_block_jacobi_apply");
  FAILS(bj_block_jacobi_refresh_matrix(M, &matrix), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_refresh_matrix: the blocks of M have a numbering of their own: use bj_block_jacobi_refresh");
  FAILS(bj_block_jacobi_refresh(M, twice, SMALL_ENTRIES - 1, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_refresh: 7 values, the pattern has 8");
  FAILS(bj_block_jacobi_refresh(M, NULL, SMALL_ENTRIES, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_refresh: values: null pointer, length 8");
  FAILS(bj_operator_refresh(A, twice, SMALL_ENTRIES, BJ_DEVICE), BJ_INVALID_ARGUMENT,
        "bj_operator_refresh: values: lies on the device, the backend (host, 2 threads) computes on the host");
  FAILS(bj_block_jacobi_apply(M, 0, r, found, SMALL - 1, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_apply: input: length is 3, must be 4");
  FAILS(bj_operator_apply(A, r, NULL, SMALL, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_operator_apply: output: null pointer, length 4");
  CHECK(bj_operator_apply(A, r, found, SMALL, BJ_DEVICE) == BJ_INVALID_ARGUMENT);
  wrong = small_matrix(NULL);
  FAILS(bj_block_jacobi_create(backend, &wrong, partition, 0, &none), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_create: PermutedMatrix: the matrix has 8 entries but no values");
  wrong = small_matrix(small_values);
  wrong.space = BJ_DEVICE;
  FAILS(bj_operator_create_numbered(backend, &wrong, partition, &A), BJ_INVALID_ARGUMENT,
        "bj_operator_create_numbered: PermutedMatrix: the matrix lies on the device, must be on the host");
  CHECK(none == NULL);
  bj_operator_destroy(A);
  bj_block_jacobi_destroy(M);
  bj_partition_destroy(partition);
}

/* ||b - A x|| / ||b|| of column k, by an operator in the user's numbering. */
static double residual(const bj_operator* A, const double* b, const double* x) {
  double y[ROWS], r2 = 0, b2 = 0;
  OK(bj_operator_apply(A, x, y, ROWS, BJ_HOST));
  for (int i = 0; i < ROWS; ++i) {
    r2 += (b[i] - y[i]) * (b[i] - y[i]);
    b2 += b[i] * b[i];
  }
  return sqrt(r2 / b2);
}

static void solves_with_numbering(const bj_backend* backend) {
  enum { COLUMNS = 2, LD = 3 };
  typedef bj_status (*solver)(const bj_operator*, const bj_block_jacobi*, const void*, void*, int32_t, bj_space,
                              const bj_solve_options*, bj_solve_report*);
  const solver solvers[7] = {bj_cg, bj_gmres, bj_fcg, bj_fgmres, bj_minres, bj_bicgstab, bj_richardson};
  const bj_csr matrix = matrix_of(BJ_D, entries, 0);
  bj_partition *partition = NULL, *others = NULL;
  bj_block_jacobi *M = NULL, *plain = NULL, *other = NULL;
  bj_operator *A = NULL, *user = NULL, *copy = NULL, *none = NULL;
  bj_solve_report report, reports[COLUMNS];
  double b[ROWS], x[ROWS], by_rows[ROWS * LD], x_rows[ROWS * LD], by_columns[COLUMNS * ROWS], x_columns[COLUMNS * ROWS];
  int32_t far[ROWS];
  for (int i = 0; i < ROWS; ++i) b[i] = 1.0 + i % 7;
  for (int i = 0; i < ROWS; ++i) far[i] = (i / 2) % (NODES / 2);
  OK(bj_partition_create_labels(far, ROWS, &partition));
  OK(bj_block_jacobi_create(backend, &matrix, partition, BJ_SINGULAR_FAIL, &M));
  OK(bj_operator_create_numbered(backend, &matrix, partition, &A));
  OK(bj_operator_create_csr(backend, &matrix, &user));
  for (int s = 0; s < 7; ++s) {
    memset(x, 0, sizeof(x));
    OK(solvers[s](A, M, b, x, ROWS, BJ_HOST, NULL, &report));
    CHECK(report.reason == BJ_STOP_CONVERGED && residual(user, b, x) <= 1.01e-8);
    /* Nothing is left to do from the solution: x went in by the user's numbering, too. */
    OK(solvers[s](A, M, b, x, ROWS, BJ_HOST, NULL, &report));
    CHECK(report.iterations == 0);
  }
  for (int s = 0; s < 2; ++s) {
    bj_workspace* workspace = NULL;
    bj_solve_status status;
    bj_solve_options options;
    OK(bj_solve_options_init(&options));
    options.max_iterations = 100;
    OK((s == 0 ? bj_workspace_create_cg : bj_workspace_create_gmres)(A, M, &options, &workspace));
    memset(x, 0, sizeof(x));
    OK(bj_enqueue(workspace, b, x, ROWS, BJ_HOST, &status));
    CHECK(status.reason == BJ_STOP_CONVERGED && residual(user, b, x) <= 1.01e-8);
    FAILS(bj_enqueue(workspace, b, x, ROWS, BJ_DEVICE, &status), BJ_INVALID_ARGUMENT,
          "bj_enqueue: b: lies on the device, the backend (host, 2 threads) computes on the host");
    bj_workspace_destroy(workspace);

    for (int i = 0; i < ROWS; ++i)
      for (int c = 0; c < COLUMNS; ++c)
        by_columns[c * ROWS + i] = by_rows[i * LD + c] = c == 0 ? b[i] : b[ROWS - 1 - i];
    memset(x_rows, 0, sizeof(x_rows));
    memset(x_columns, 0, sizeof(x_columns));
    OK((s == 0 ? bj_cg_columns : bj_gmres_columns)(A, M, by_rows, LD, x_rows, LD, ROWS, COLUMNS, 1, BJ_HOST, NULL,
                                                   reports));
    OK((s == 0 ? bj_cg_columns : bj_gmres_columns)(A, M, by_columns, ROWS, x_columns, ROWS, ROWS, COLUMNS, 0, BJ_HOST,
                                                   NULL, reports));
    for (int c = 0; c < COLUMNS; ++c) {
      CHECK(reports[c].reason == BJ_STOP_CONVERGED);
      CHECK(residual(user, by_columns + c * ROWS, x_columns + c * ROWS) <= 1.01e-8);
      for (int i = 0; i < ROWS; ++i) CHECK(x_rows[i * LD + c] == x_columns[c * ROWS + i]);
    }
  }
  CHECK(x_rows[2] == 0);

  /* Without a numbering bj_operator_create_numbered copies. */
  OK(bj_partition_create_uniform(ROWS, 2, &others));
  OK(bj_operator_create_numbered(backend, &matrix, others, &copy));
  OK(bj_block_jacobi_create(backend, &matrix, others, BJ_SINGULAR_FAIL, &plain));
  memset(x, 0, sizeof(x));
  OK(bj_cg(copy, plain, b, x, ROWS, BJ_HOST, NULL, &report));
  CHECK(report.reason == BJ_STOP_CONVERGED && residual(user, b, x) <= 1.01e-8);
  OK(bj_operator_refresh(copy, entries, nnz, BJ_HOST));
  bj_partition_destroy(others);
  for (int i = 0; i < ROWS; ++i) far[i] = i % (ROWS / 4);
  OK(bj_partition_create_labels(far, ROWS, &others));
  OK(bj_block_jacobi_create(backend, &matrix, others, BJ_SINGULAR_FAIL, &other));

#define NUMBERINGS "A and M have different numberings: make A by bj_operator_create_numbered with the partition of M"
  FAILS(bj_cg(user, M, b, x, ROWS, BJ_HOST, NULL, &report), BJ_INVALID_ARGUMENT, "bj_cg: " NUMBERINGS);
  FAILS(bj_gmres(A, plain, b, x, ROWS, BJ_HOST, NULL, &report), BJ_INVALID_ARGUMENT, "bj_gmres: " NUMBERINGS);
  FAILS(bj_cg(A, other, b, x, ROWS, BJ_HOST, NULL, &report), BJ_INVALID_ARGUMENT, "bj_cg: " NUMBERINGS);
  FAILS(bj_cg_columns(user, M, b, ROWS, x, ROWS, ROWS, 1, 0, BJ_HOST, NULL, reports), BJ_INVALID_ARGUMENT,
        "bj_cg_columns: " NUMBERINGS);
#undef NUMBERINGS
  FAILS(bj_cg(A, M, b, x, ROWS - 1, BJ_HOST, NULL, &report), BJ_INVALID_ARGUMENT,
        "bj_cg: b: length is 119, must be 120");
  FAILS(bj_cg(A, M, b, NULL, ROWS, BJ_HOST, NULL, &report), BJ_INVALID_ARGUMENT, "bj_cg: x: null pointer, length 120");
  FAILS(bj_cg(A, M, b, x, ROWS, BJ_DEVICE, NULL, &report), BJ_INVALID_ARGUMENT,
        "bj_cg: b: lies on the device, the backend (host, 2 threads) computes on the host");
  FAILS(bj_cg_columns(A, M, b, ROWS, x, ROWS - 1, ROWS, 1, 0, BJ_HOST, NULL, reports), BJ_INVALID_ARGUMENT,
        "bj_cg_columns: X: the leading dimension is 119, must be at least 120");
  FAILS(bj_cg_columns(A, M, b, ROWS, x, ROWS, ROWS - 1, 1, 0, BJ_HOST, NULL, reports), BJ_INVALID_ARGUMENT,
        "bj_cg_columns: B: has 119 rows, must have 120");
  FAILS(bj_cg_columns(A, M, b, ROWS, x, ROWS, ROWS, -1, 0, BJ_HOST, NULL, reports), BJ_INVALID_ARGUMENT,
        "bj_cg_columns: B: has -1 columns");
  FAILS(bj_gmres_columns(A, M, NULL, ROWS, x, ROWS, ROWS, 1, 0, BJ_HOST, NULL, reports), BJ_INVALID_ARGUMENT,
        "bj_gmres_columns: B: null pointer, length 120");
  bj_csr short_matrix = small_matrix(small_values);
  FAILS(bj_operator_create_numbered(backend, &short_matrix, partition, &none), BJ_INVALID_ARGUMENT,
        "bj_operator_create_numbered: the partition has 120 rows, the matrix 4");
  FAILS(bj_operator_create_numbered(backend, &matrix, NULL, &none), BJ_INVALID_ARGUMENT,
        "bj_operator_create_numbered: partition is a null pointer");
  CHECK(bj_operator_create_numbered(NULL, &matrix, partition, &none) == BJ_INVALID_ARGUMENT);
  CHECK(bj_operator_create_numbered(backend, NULL, partition, &none) == BJ_INVALID_ARGUMENT);
  CHECK(bj_operator_create_numbered(backend, &matrix, partition, NULL) == BJ_INVALID_ARGUMENT);
  CHECK(none == NULL);

  bj_operator_destroy(copy);
  bj_operator_destroy(user);
  bj_operator_destroy(A);
  bj_block_jacobi_destroy(other);
  bj_block_jacobi_destroy(plain);
  bj_block_jacobi_destroy(M);
  bj_partition_destroy(others);
  bj_partition_destroy(partition);
}

void numberings(const bj_backend* backend) {
  partitions_with_numbering();
  blocks_with_numbering(backend);
  solves_with_numbering(backend);
}
