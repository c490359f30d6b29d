#include "cases.h"
#include "check.h"
#include "line.h"

#include <math.h>
#include <string.h>

/* The largest difference of Q A v and v, which is 0 for v in the space of Z. */
static double outside_of_z(const bj_operator* A, const bj_block_jacobi* M, const double* v) {
  double product[ROWS], u[ROWS], most = 0;
  OK(bj_operator_apply(A, v, product, ROWS, BJ_HOST));
  OK(bj_two_level_correct(M, product, u, ROWS, BJ_HOST));
  for (int i = 0; i < ROWS; ++i) most = fmax(most, fabs(u[i] - v[i]));
  return most;
}

static void modes(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition, const bj_operator* A,
                  int32_t without) {
  const solver additive[5] = {bj_cg, bj_fcg, bj_minres, bj_gmres, bj_fgmres};
  const solver adef1[3] = {bj_gmres, bj_fgmres, bj_bicgstab};
  const solver adef2[2] = {bj_cg, bj_fcg};
  const struct {
    bj_coarse_mode mode;
    const solver* solvers;
    int count;
  } cases[3] = {{BJ_COARSE_ADDITIVE, additive, 5}, {BJ_COARSE_ADEF1, adef1, 3}, {BJ_COARSE_ADEF2, adef2, 2}};
  bj_two_level_options options;
  double b[ROWS] = {1}, x[ROWS] = {0};
  bj_solve_report report;
  OK(bj_two_level_options_init(&options));
  for (int c = 0; c < 3; ++c) {
    bj_block_jacobi* M = NULL;
    bj_two_level_report found;
    options.mode = cases[c].mode;
    OK(bj_two_level_create(backend, matrix, partition, NULL, &options, &M));
    OK(bj_two_level_get_report(M, &found));
    CHECK(found.mode == cases[c].mode);
    for (int s = 0; s < cases[c].count; ++s) CHECK(iterations_of(cases[c].solvers[s], A, M) < without);
    if (cases[c].mode == BJ_COARSE_ADEF1)
      FAILS(bj_cg(A, M, b, x, ROWS, BJ_HOST, NULL, &report), BJ_INVALID_ARGUMENT,
            "bj_cg: cg: the mode of the coarse level is adef1, must be additive or adef2");
    if (cases[c].mode == BJ_COARSE_ADEF2) iterations_of(bj_richardson, A, M);
    bj_block_jacobi_destroy(M);
  }
}

/* Ones for each of two unknowns, by number, by the user's vectors, and in a numbering of the blocks. */
static void vectors_of_z(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition,
                         const bj_operator* A) {
  enum { LD = ROWS + 3 };
  double vectors[2 * LD] = {0}, smooth[ROWS], v[ROWS];
  bj_partition *nodes = NULL, *clusters = NULL;
  bj_two_level_options options;
  bj_block_jacobi* M = NULL;
  bj_operator* numbered = NULL;
  bj_two_level_report report;
  for (int i = 0; i < ROWS; ++i) {
    vectors[(i % 2) * LD + i] = 1.0;
    v[i] = i % 2 == 0 ? 3.0 : -5.0;
    smooth[i] = 1.0 + 0.01 * i;
  }
  OK(bj_partition_create_uniform(ROWS, 2, &nodes));
  OK(bj_partition_create_clusters(matrix, nodes, 8, &clusters));
  OK(bj_operator_create_numbered(backend, matrix, clusters, &numbered));
  const bj_partition* partitions_[2] = {partition, clusters};
  for (int p = 0; p < 2; ++p) {
    const bj_operator* a = p == 0 ? A : numbered;
    OK(bj_two_level_options_init(&options));
    options.size = 8;
    OK(bj_two_level_create(backend, matrix, partitions_[p], NULL, &options, &M));
    OK(bj_two_level_get_report(M, &report));
    CHECK(report.size > 4 && report.size <= 8 && report.aggregates == report.size);
    CHECK(report.rows == ROWS && report.uncovered_rows == 0);
    CHECK(report.is_finite == 1 && report.is_singular == 0 && report.rcond > 0 && report.rcond < 1 && report.bytes > 0);
    CHECK(outside_of_z(a, M, v) > 0.1);
    const int32_t of_ones = iterations_of(bj_cg, a, M);
    bj_block_jacobi_destroy(M);

    options.relaxed = 2;
    OK(bj_two_level_create(backend, matrix, partitions_[p], NULL, &options, &M));
    OK(bj_two_level_get_report(M, &report));
    CHECK(report.aggregates > 2 && report.aggregates <= 4 && report.size == 2 * report.aggregates);
    iterations_of(bj_cg, a, M);
    bj_block_jacobi_destroy(M);
    options.relaxed = 0;

    options.unknowns = 2;
    OK(bj_two_level_create(backend, matrix, partitions_[p], NULL, &options, &M));
    CHECK(outside_of_z(a, M, v) < 1e-10);
    CHECK(outside_of_z(a, M, smooth) > 0.01);
    bj_block_jacobi_destroy(M);

    options.vectors = vectors;
    options.ld = LD;
    options.vector_count = 2;
    options.unknowns = 1;
    OK(bj_two_level_create(backend, matrix, partitions_[p], NULL, &options, &M));
    CHECK(outside_of_z(a, M, v) < 1e-10);
    bj_block_jacobi_destroy(M);
    options.vectors = smooth;
    options.vector_count = 1;
    options.ld = ROWS;
    OK(bj_two_level_create(backend, matrix, partitions_[p], NULL, &options, &M));
    CHECK(outside_of_z(a, M, smooth) < 1e-10);
    CHECK(iterations_of(bj_cg, a, M) <= 2 * of_ones);
    bj_block_jacobi_destroy(M);
  }
  bj_operator_destroy(numbered);
  bj_partition_destroy(clusters);
  bj_partition_destroy(nodes);
}

static void what_a_coarse_level_offers(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition) {
  double r[ROWS], z[ROWS], half[ROWS], twice[ENTRIES_OF_LINE], growth[ROWS];
  const double one = 1;
  int32_t info[ROWS];
  bj_block_jacobi* M = NULL;
  bj_block_jacobi_report report;
  char text[256];
  for (int i = 0; i < ROWS; ++i) r[i] = 1.0 + i % 3;
  for (int k = 0; k < ENTRIES_OF_LINE; ++k) twice[k] = 2.0 * line_values[k];
  OK(bj_two_level_create(backend, matrix, partition, NULL, NULL, &M));
  OK(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, r, z, ROWS, BJ_HOST));
  OK(bj_block_jacobi_refresh(M, twice, matrix->nnz, BJ_HOST));
  OK(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, r, half, ROWS, BJ_HOST));
  for (int i = 0; i < ROWS; ++i) CHECK(fabs(half[i] - 0.5 * z[i]) <= 1e-12 * fabs(z[i]));
  OK(bj_block_jacobi_info(M, info));
  CHECK(info[0] == 0);
  OK(bj_block_jacobi_get_report(M, &report));
  CHECK(report.rows == ROWS && report.singular_blocks == 0);
  OK(bj_two_level_text(M, text, sizeof(text), NULL));
  CHECK(strstr(text, "coarse level (adef2): ") != NULL);

#define NOT_OFFERED "M has a coarse level, with which there is no such operation"
  FAILS(bj_block_jacobi_apply(M, BJ_TRANSPOSE, r, z, ROWS, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_apply: " NOT_OFFERED);
  FAILS(bj_block_jacobi_apply_columns(M, 0, &one, r, ROWS, &one, z, ROWS, ROWS, 1, 0, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_apply_columns: " NOT_OFFERED);
  FAILS(bj_block_jacobi_rebuild(M, twice, matrix->nnz, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_rebuild: " NOT_OFFERED);
  FAILS(bj_block_jacobi_refresh_matrix(M, matrix), BJ_INVALID_ARGUMENT, "bj_block_jacobi_refresh_matrix: " NOT_OFFERED);
  FAILS(bj_block_jacobi_pivot_growth(M, twice, matrix->nnz, BJ_HOST, growth), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_pivot_growth: " NOT_OFFERED);
  FAILS(bj_block_jacobi_get_report_with(M, matrix, &report), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_get_report_with: " NOT_OFFERED);
#undef NOT_OFFERED
  FAILS(bj_two_level_correct(M, r, z, ROWS - 1, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_two_level_correct: TwoLevel::correct: r: length is 119, must be 120");
  CHECK(bj_two_level_correct(M, r, r, ROWS, BJ_HOST) == BJ_INVALID_ARGUMENT);
  CHECK(bj_two_level_correct(M, r, z, ROWS, 2) == BJ_INVALID_ARGUMENT);
  FAILS(bj_two_level_get_report(M, NULL), BJ_INVALID_ARGUMENT, "bj_two_level_get_report: report is a null pointer");
  FAILS(bj_block_jacobi_refresh(M, twice, matrix->nnz - 1, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_refresh: SparseMatrix::update_values: 357 values, must be 358");
  bj_block_jacobi_destroy(M);

  bj_two_level_report coarse;
  OK(bj_block_jacobi_create(backend, matrix, partition, BJ_SINGULAR_FAIL, &M));
  FAILS(bj_two_level_correct(M, r, z, ROWS, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_two_level_correct: M has no coarse level");
  FAILS(bj_two_level_get_report(M, &coarse), BJ_INVALID_ARGUMENT, "bj_two_level_get_report: M has no coarse level");
  FAILS(bj_two_level_text(M, text, sizeof(text), NULL), BJ_INVALID_ARGUMENT,
        "bj_two_level_text: M has no coarse level");
  CHECK(bj_two_level_text(NULL, text, sizeof(text), NULL) == BJ_INVALID_ARGUMENT);
  bj_block_jacobi_destroy(M);
}

static void misuse_of_create(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition) {
  double vectors[ROWS] = {0};
  bj_two_level_options options;
  bj_block_jacobi_options blocks;
  bj_block_jacobi* M = NULL;
  bj_csr pattern = *matrix;
#define CREATE bj_two_level_create(backend, matrix, partition, &blocks, &options, &M)
#define DEFAULTS bj_two_level_options_init(&options)
  OK(bj_block_jacobi_options_init(&blocks));
  OK(DEFAULTS);
  CHECK(options.mode == BJ_COARSE_AUTOMATIC && options.size == 0 && options.relaxed == 0 && options.unknowns == 1);
  CHECK(options.vectors == NULL && options.vector_count == 0 && options.ld == 0);
  FAILS(bj_two_level_options_init(NULL), BJ_INVALID_ARGUMENT, "bj_two_level_options_init: options is a null pointer");
  options.mode = 4;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_two_level_create: mode is 4, must be in 0..3");
  DEFAULTS;
  options.size = 4097;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_two_level_create: TwoLevel: size is 4097, must be in 0..4096");
  options.size = 1;
  options.relaxed = 2;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_two_level_create: TwoLevel: size is 1, an aggregate has 2 vectors");
  options.relaxed = 513;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_two_level_create: TwoLevel: relaxed is 513, must be in 0..512");
  DEFAULTS;
  options.unknowns = 7;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_two_level_create: unknowns is 7, must be in 1..512 and divide the 120 rows");
  options.unknowns = 0;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_two_level_create: unknowns is 0, must be in 1..512 and divide the 120 rows");
  DEFAULTS;
  options.vectors = vectors;
  options.ld = ROWS;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_two_level_create: vector_count is 0, must be in 1..512");
  options.vector_count = 513;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_two_level_create: vector_count is 513, must be in 1..512");
  options.vector_count = 1;
  options.ld = ROWS - 1;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_two_level_create: ld is 119, must be at least the 120 rows");
  options.ld = ROWS;
  options.relaxed = 1;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_two_level_create: TwoLevel: relaxed is 1, must be 0 where vectors are given");
  options.relaxed = 0;
  vectors[3] = NAN;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_two_level_create: TwoLevel: element 3 of vector 0 is NaN or Inf");
  DEFAULTS;
  blocks.l1 = 2;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_two_level_create: l1 is 2, must be 0 or 1");
  pattern.values = NULL;
  FAILS(bj_two_level_create(backend, &pattern, partition, NULL, NULL, &M), BJ_INVALID_ARGUMENT,
        "bj_two_level_create: the matrix has 358 entries but no values");
  FAILS(bj_two_level_create(NULL, matrix, partition, NULL, NULL, &M), BJ_INVALID_ARGUMENT,
        "bj_two_level_create: backend is a null pointer");
  FAILS(bj_two_level_create(backend, NULL, partition, NULL, NULL, &M), BJ_INVALID_ARGUMENT,
        "bj_two_level_create: the matrix is a null pointer");
  FAILS(bj_two_level_create(backend, matrix, NULL, NULL, NULL, &M), BJ_INVALID_ARGUMENT,
        "bj_two_level_create: partition is a null pointer");
  FAILS(bj_two_level_create(backend, matrix, partition, NULL, NULL, NULL), BJ_INVALID_ARGUMENT,
        "bj_two_level_create: M is a null pointer");
  CHECK(M == NULL);
#undef CREATE
#undef DEFAULTS
}

void coarse_levels(const bj_backend* backend) {
  const bj_csr matrix = line();
  bj_partition* partition = NULL;
  bj_block_jacobi* plain = NULL;
  bj_operator* A = NULL;
  OK(bj_partition_create_uniform(ROWS, 4, &partition));
  OK(bj_operator_create_csr(backend, &matrix, &A));
  OK(bj_block_jacobi_create(backend, &matrix, partition, BJ_SINGULAR_FAIL, &plain));
  modes(backend, &matrix, partition, A, iterations_of(bj_cg, A, plain));
  vectors_of_z(backend, &matrix, partition, A);
  what_a_coarse_level_offers(backend, &matrix, partition);
  misuse_of_create(backend, &matrix, partition);
  bj_operator_destroy(A);
  bj_block_jacobi_destroy(plain);
  bj_partition_destroy(partition);
}
