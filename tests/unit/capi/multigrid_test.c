#include "cases.h"
#include "check.h"
#include "line.h"

#include <math.h>
#include <string.h>

enum { MOST_LEVELS = 10 };

/* Options for more than one level of the line. */
static bj_multigrid_options small(void) {
  bj_multigrid_options options;
  OK(bj_multigrid_options_init(&options));
  options.coarsest = 10;
  return options;
}

static int32_t levels_of(const bj_block_jacobi* M, bj_multigrid_level* levels) {
  bj_multigrid_report report;
  OK(bj_multigrid_get_report(M, &report));
  CHECK(report.levels >= 1 && report.levels <= MOST_LEVELS);
  OK(bj_multigrid_levels(M, levels));
  return report.levels;
}

static void solvers(const bj_operator* A, const bj_block_jacobi* M, int32_t without) {
  const solver all[6] = {bj_cg, bj_fcg, bj_minres, bj_bicgstab, bj_gmres, bj_fgmres};
  double b[2 * ROWS], x[2 * ROWS] = {0};
  bj_solve_report reports[2];
  bj_solve_options options;
  bj_workspace* workspace = NULL;
  bj_solve_status status;
  for (int s = 0; s < 6; ++s) CHECK(iterations_of(all[s], A, M) < without);
  iterations_of(bj_richardson, A, M);
  for (int i = 0; i < 2 * ROWS; ++i) b[i] = 1.0 + i % 5;
  OK(bj_cg_columns(A, M, b, ROWS, x, ROWS, ROWS, 2, 0, BJ_HOST, NULL, reports));
  CHECK(reports[0].reason == BJ_STOP_CONVERGED && reports[1].reason == BJ_STOP_CONVERGED);
  OK(bj_solve_options_init(&options));
  options.max_iterations = without;
  OK(bj_workspace_create_cg(A, M, &options, &workspace));
  memset(x, 0, sizeof(x));
  OK(bj_enqueue(workspace, b, x, ROWS, BJ_HOST, &status));
  options.rtol *= 0.9; /* as far as an enqueued solve goes on */
  memset(x, 0, sizeof(x));
  OK(bj_cg(A, M, b, x, ROWS, BJ_HOST, &options, reports));
  CHECK(status.reason == BJ_STOP_CONVERGED && status.iterations == reports[0].iterations);
  bj_workspace_destroy(workspace);
}

static void what_it_found(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition,
                          const bj_operator* A, int32_t without) {
  const bj_multigrid_options options = small();
  bj_multigrid_level levels[MOST_LEVELS];
  bj_multigrid_report report;
  bj_block_jacobi* M = NULL;
  char text[512];
  OK(bj_multigrid_create(backend, matrix, partition, NULL, &options, &M));
  const int32_t count = levels_of(M, levels);
  CHECK(count >= 2 && levels[0].rows == ROWS && levels[0].nnz == matrix->nnz);
  for (int32_t l = 1; l < count; ++l) {
    CHECK(2 * levels[l].rows <= levels[l - 1].rows && levels[l].nnz >= levels[l].rows);
    CHECK(levels[l - 1].relaxation > 0.5 && levels[l - 1].relaxation < 1.4);
  }
  CHECK(levels[count - 1].rows <= 10 && levels[count - 1].relaxation == 0);
  OK(bj_multigrid_get_report(M, &report));
  CHECK(report.bytes > 0 && report.rcond > 0 && report.rcond < 1 && !report.is_singular && report.is_finite == 1);
  OK(bj_multigrid_text(M, text, sizeof(text), NULL));
  CHECK(strstr(text, "multigrid: ") == text && strstr(text, "\n  120 rows, 358 entries, relaxation ") != NULL);
  solvers(A, M, without);
  bj_block_jacobi_destroy(M);

  OK(bj_multigrid_create(backend, matrix, partition, NULL, NULL, &M));
  CHECK(levels_of(M, levels) == 1 && levels[0].relaxation == 0);
  CHECK(iterations_of(bj_cg, A, M) == without);
  bj_block_jacobi_destroy(M);
}

enum { KEEPING_NODES, PARTING_NODES, NUMBERINGS };

static void number(const bj_csr* matrix, bj_partition** numbered) {
  int32_t labels[ROWS];
  bj_partition* nodes = NULL;
  for (int i = 0; i < ROWS; ++i) labels[i] = i % 2 + 2 * (i / 8);
  OK(bj_partition_create_uniform(ROWS, 2, &nodes));
  OK(bj_partition_create_clusters(matrix, nodes, 4, &numbered[KEEPING_NODES]));
  OK(bj_partition_create_labels(labels, ROWS, &numbered[PARTING_NODES]));
  bj_partition_destroy(nodes);
}

static int32_t iterations_with(const bj_multigrid_options* options, const bj_backend* backend, const bj_csr* matrix,
                               const bj_partition* partition, const bj_operator* A) {
  bj_block_jacobi* M = NULL;
  OK(bj_multigrid_create(backend, matrix, partition, NULL, options, &M));
  const int32_t iterations = iterations_of(bj_cg, A, M);
  bj_block_jacobi_destroy(M);
  return iterations;
}

/* D A D with D of random signs, which are its near-kernel: ones are far from it, and relaxed vectors find it. */
static void near_kernels(const bj_backend* backend, const bj_partition* uniform) {
  enum { LD = ROWS + 3 };
  bj_csr matrix = line();
  double vectors[2 * LD];
  bj_partition* numbered[NUMBERINGS] = {NULL};
  uint32_t random = 1;
  for (int i = 0; i < ROWS; ++i) {
    random = 1664525u * random + 1013904223u;
    vectors[i] = 1.0 + i;
    vectors[LD + i] = random >> 31 ? 2.0 : -2.0;
  }
  for (int i = 0; i + 1 < ROWS; ++i)
    line_values[3 * i + 1] = line_values[3 * i + 2] = -0.25 * vectors[LD + i] * vectors[LD + i + 1];
  number(&matrix, numbered);
  const bj_partition* partitions_[3] = {uniform, numbered[KEEPING_NODES], numbered[PARTING_NODES]};
  for (int p = 0; p < 3; ++p) {
    bj_multigrid_options options = small();
    bj_operator* A = NULL;
    OK(bj_operator_create_numbered(backend, &matrix, partitions_[p], &A));
    const int32_t of_ones = iterations_with(&options, backend, &matrix, partitions_[p], A);
    options.relaxed = 2;
    const int32_t of_relaxed = iterations_with(&options, backend, &matrix, partitions_[p], A);
    CHECK(of_relaxed < of_ones);
    options.relaxed = 0;
    options.vectors = vectors;
    options.ld = LD;
    options.vector_count = 2;
    const int32_t of_two = iterations_with(&options, backend, &matrix, partitions_[p], A);
    CHECK(of_two < of_ones);
    options.vectors = vectors + LD;
    options.vector_count = 1;
    const int32_t of_signs = iterations_with(&options, backend, &matrix, partitions_[p], A);
    CHECK(4 * of_signs < 3 * of_ones);
    bj_operator_destroy(A);
  }
  for (int p = 0; p < NUMBERINGS; ++p) bj_partition_destroy(numbered[p]);
  line();
}

/* The near-kernel of A with changing signs is spanned by ones for each of two unknowns, whatever the numbering does. */
static void unknowns(const bj_backend* backend, const bj_partition* uniform) {
  bj_csr matrix = line();
  double ones[2 * ROWS], r[ROWS], z[ROWS], other[ROWS];
  bj_multigrid_level levels[MOST_LEVELS];
  bj_partition* numbered[NUMBERINGS] = {NULL};
  for (int k = 0; k < ENTRIES_OF_LINE; ++k) line_values[k] = fabs(line_values[k]);
  for (int i = 0; i < ROWS; ++i) {
    ones[i] = i % 2 == 0;
    ones[ROWS + i] = i % 2 == 1;
    r[i] = 1.0 + i % 3;
  }
  number(&matrix, numbered);
  const bj_partition* partitions_[3] = {uniform, numbered[KEEPING_NODES], numbered[PARTING_NODES]};
  for (int p = 0; p < 3; ++p) {
    bj_multigrid_options options = small();
    bj_block_jacobi* M = NULL;
    bj_operator* A = NULL;
    OK(bj_operator_create_numbered(backend, &matrix, partitions_[p], &A));
    const int32_t of_one = iterations_with(&options, backend, &matrix, partitions_[p], A);
    options.unknowns = 2;
    OK(bj_multigrid_create(backend, &matrix, partitions_[p], NULL, &options, &M));
    const int32_t of_two = iterations_of(bj_cg, A, M);
    CHECK(of_two < of_one);
    OK(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, r, z, ROWS, BJ_HOST));
    for (int32_t l = levels_of(M, levels) - 1; l > 0; --l) CHECK(levels[l].rows % 2 == 0);
    bj_block_jacobi_destroy(M);

    /* The same by given vectors, on nodes, but for relaxations found in other coordinates; on rows that is another
     * multigrid, but where nodes are parted. */
    options.vectors = ones;
    options.ld = ROWS;
    options.vector_count = 2;
    for (options.unknowns = 1; options.unknowns <= 2; ++options.unknowns) {
      double most = 0;
      OK(bj_multigrid_create(backend, &matrix, partitions_[p], NULL, &options, &M));
      OK(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, r, other, ROWS, BJ_HOST));
      for (int i = 0; i < ROWS; ++i) most = fmax(most, fabs(z[i] - other[i]));
      CHECK((most <= 0.05) == (options.unknowns == 2 || p == 2));
      bj_block_jacobi_destroy(M);
    }
    bj_operator_destroy(A);
  }
  for (int p = 0; p < NUMBERINGS; ++p) bj_partition_destroy(numbered[p]);
  line();
}

static void floating_and_not_finite(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition) {
  bj_multigrid_options options = small();
  double changed[ENTRIES_OF_LINE];
  bj_multigrid_report report;
  bj_block_jacobi* M = NULL;
  char text[512];
  options.coarsest = 40; /* each level adds rounding errors to what is singular */
  memcpy(changed, line_values, sizeof(changed));
  changed[0] = changed[ENTRIES_OF_LINE - 1] = 1.0;
  OK(bj_multigrid_create(backend, matrix, partition, NULL, &options, &M));
  OK(bj_block_jacobi_refresh(M, changed, matrix->nnz, BJ_HOST));
  OK(bj_multigrid_get_report(M, &report));
  CHECK(report.is_singular == 1 && report.is_finite == 1 && report.rcond < 1e-10);
  OK(bj_multigrid_text(M, text, sizeof(text), NULL));
  CHECK(strstr(text, "pseudo-inverse") != NULL);
  changed[100] = NAN;
  OK(bj_block_jacobi_refresh(M, changed, matrix->nnz, BJ_HOST));
  OK(bj_multigrid_get_report(M, &report));
  CHECK(report.is_finite == 0);
  bj_block_jacobi_destroy(M);
}

static void what_a_multigrid_offers(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition) {
  const bj_multigrid_options options = small();
  double r[ROWS], z[ROWS], half[ROWS], twice[ENTRIES_OF_LINE], growth[ROWS];
  const double one = 1;
  int32_t info[ROWS];
  bj_block_jacobi* M = NULL;
  bj_block_jacobi_report report;
  bj_two_level_report coarse;
  bj_multigrid_report found;
  bj_multigrid_level levels[MOST_LEVELS];
  char text[256];
  for (int i = 0; i < ROWS; ++i) r[i] = 1.0 + i % 3;
  for (int k = 0; k < ENTRIES_OF_LINE; ++k) twice[k] = 2.0 * line_values[k];
  OK(bj_multigrid_create(backend, matrix, partition, NULL, &options, &M));
  OK(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, r, z, ROWS, BJ_HOST));
  OK(bj_block_jacobi_refresh(M, twice, matrix->nnz, BJ_HOST));
  OK(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, r, half, ROWS, BJ_HOST));
  for (int i = 0; i < ROWS; ++i) CHECK(fabs(half[i] - 0.5 * z[i]) <= 1e-12 * fabs(z[i]));
  OK(bj_block_jacobi_info(M, info));
  CHECK(info[0] == 0);
  OK(bj_block_jacobi_get_report(M, &report));
  CHECK(report.rows == ROWS && report.singular_blocks == 0);

#define NOT_OFFERED "M is a multigrid, with which there is no such operation"
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
  FAILS(bj_two_level_correct(M, r, z, ROWS, BJ_HOST), BJ_INVALID_ARGUMENT, "bj_two_level_correct: " NOT_OFFERED);
  FAILS(bj_two_level_get_report(M, &coarse), BJ_INVALID_ARGUMENT, "bj_two_level_get_report: " NOT_OFFERED);
  FAILS(bj_two_level_text(M, text, sizeof(text), NULL), BJ_INVALID_ARGUMENT, "bj_two_level_text: " NOT_OFFERED);
#undef NOT_OFFERED
  FAILS(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, r, z, ROWS - 1, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_apply: Multigrid::apply: r: length is 119, must be 120");
  CHECK(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, r, r, ROWS, BJ_HOST) == BJ_INVALID_ARGUMENT);
  FAILS(bj_block_jacobi_refresh(M, twice, matrix->nnz - 1, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_block_jacobi_refresh: SparseMatrix::update_values: 357 values, must be 358");
  FAILS(bj_multigrid_get_report(M, NULL), BJ_INVALID_ARGUMENT, "bj_multigrid_get_report: report is a null pointer");
  FAILS(bj_multigrid_levels(M, NULL), BJ_INVALID_ARGUMENT, "bj_multigrid_levels: levels is a null pointer");
  FAILS(bj_multigrid_text(M, NULL, 1, NULL), BJ_INVALID_ARGUMENT, "bj_multigrid_text: buffer is a null pointer");
  bj_block_jacobi_destroy(M);

  for (int k = 0; k < 3; ++k) {
    const char* message[3] = {"M is a null pointer", "M is no multigrid", "M is no multigrid"};
    char wanted[3][64];
    M = NULL;
    if (k == 1) OK(bj_block_jacobi_create(backend, matrix, partition, BJ_SINGULAR_FAIL, &M));
    if (k == 2) OK(bj_two_level_create(backend, matrix, partition, NULL, NULL, &M));
    strcat(strcpy(wanted[0], "bj_multigrid_get_report: "), message[k]);
    strcat(strcpy(wanted[1], "bj_multigrid_levels: "), message[k]);
    strcat(strcpy(wanted[2], "bj_multigrid_text: "), message[k]);
    FAILS(bj_multigrid_get_report(M, &found), BJ_INVALID_ARGUMENT, wanted[0]);
    FAILS(bj_multigrid_levels(M, levels), BJ_INVALID_ARGUMENT, wanted[1]);
    FAILS(bj_multigrid_text(M, text, sizeof(text), NULL), BJ_INVALID_ARGUMENT, wanted[2]);
    bj_block_jacobi_destroy(M);
  }
}

static void misuse_of_create(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition) {
  double vectors[ROWS] = {0}, tilted[ENTRIES_OF_LINE];
  bj_multigrid_options options;
  bj_block_jacobi_options blocks;
  bj_block_jacobi* M = NULL;
  bj_csr other = *matrix;
#define CREATE bj_multigrid_create(backend, matrix, partition, &blocks, &options, &M)
#define DEFAULTS bj_multigrid_options_init(&options)
  OK(bj_block_jacobi_options_init(&blocks));
  OK(DEFAULTS);
  CHECK(options.coarsest == 512 && options.relaxed == 0 && options.unknowns == 1 && options.symmetry_tolerance == 0);
  CHECK(options.vectors == NULL && options.vector_count == 0 && options.ld == 0);
  FAILS(bj_multigrid_options_init(NULL), BJ_INVALID_ARGUMENT, "bj_multigrid_options_init: options is a null pointer");
  options.coarsest = 0;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_multigrid_create: Multigrid: coarsest is 0, must be in 1..512");
  options.coarsest = 513;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_multigrid_create: Multigrid: coarsest is 513, must be in 1..512");
  DEFAULTS;
  options.relaxed = 513;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_multigrid_create: Multigrid: relaxed is 513, must be in 0..512");
  DEFAULTS;
  options.unknowns = 7;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_multigrid_create: unknowns is 7, must be in 1..512 and divide the 120 rows");
  DEFAULTS;
  options.vectors = vectors;
  options.ld = ROWS;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_multigrid_create: vector_count is 0, must be in 1..512");
  options.vector_count = 1;
  options.ld = ROWS - 1;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_multigrid_create: ld is 119, must be at least the 120 rows");
  options.ld = ROWS;
  options.relaxed = 1;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_multigrid_create: Multigrid: relaxed is 1, must be 0 where vectors are given");
  options.relaxed = 0;
  vectors[3] = NAN;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_multigrid_create: Multigrid: element 3 of vector 0 is NaN or Inf");
  DEFAULTS;
  options.symmetry_tolerance = -1;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_multigrid_create: SparseMatrix: symmetry_tolerance is -1, must be >= 0");
  DEFAULTS;
  blocks.l1 = 2;
  FAILS(CREATE, BJ_INVALID_ARGUMENT, "bj_multigrid_create: l1 is 2, must be 0 or 1");
  other.values = NULL;
  FAILS(bj_multigrid_create(backend, &other, partition, NULL, NULL, &M), BJ_INVALID_ARGUMENT,
        "bj_multigrid_create: the matrix has 358 entries but no values");
  FAILS(bj_multigrid_create(NULL, matrix, partition, NULL, NULL, &M), BJ_INVALID_ARGUMENT,
        "bj_multigrid_create: backend is a null pointer");
  FAILS(bj_multigrid_create(backend, NULL, partition, NULL, NULL, &M), BJ_INVALID_ARGUMENT,
        "bj_multigrid_create: the matrix is a null pointer");
  FAILS(bj_multigrid_create(backend, matrix, NULL, NULL, NULL, &M), BJ_INVALID_ARGUMENT,
        "bj_multigrid_create: partition is a null pointer");
  FAILS(bj_multigrid_create(backend, matrix, partition, NULL, NULL, NULL), BJ_INVALID_ARGUMENT,
        "bj_multigrid_create: M is a null pointer");

  memcpy(tilted, line_values, sizeof(tilted));
  tilted[1] *= 1 + 1e-14;
  other.values = tilted;
  OK(bj_multigrid_create(backend, &other, partition, NULL, &options, &M));
  bj_block_jacobi_destroy(M);
  M = NULL;
  tilted[1] *= 1 + 1e-6;
  CHECK(bj_multigrid_create(backend, &other, partition, NULL, &options, &M) == BJ_INVALID_ARGUMENT);
  CHECK(strstr(bj_last_error(), "bj_multigrid_create: Multigrid: the matrix is not symmetric") == bj_last_error());
  CHECK(M == NULL);
  options.symmetry_tolerance = 1e-5;
  OK(bj_multigrid_create(backend, &other, partition, NULL, &options, &M));
  bj_block_jacobi_destroy(M);
#undef CREATE
#undef DEFAULTS
}

void multigrids(const bj_backend* backend) {
  const bj_csr matrix = line();
  bj_partition* partition = NULL;
  bj_block_jacobi* plain = NULL;
  bj_operator* A = NULL;
  OK(bj_partition_create_uniform(ROWS, 4, &partition));
  OK(bj_operator_create_csr(backend, &matrix, &A));
  OK(bj_block_jacobi_create(backend, &matrix, partition, BJ_SINGULAR_FAIL, &plain));
  what_it_found(backend, &matrix, partition, A, iterations_of(bj_cg, A, plain));
  near_kernels(backend, partition);
  unknowns(backend, partition);
  floating_and_not_finite(backend, &matrix, partition);
  what_a_multigrid_offers(backend, &matrix, partition);
  misuse_of_create(backend, &matrix, partition);
  bj_operator_destroy(A);
  bj_block_jacobi_destroy(plain);
  bj_partition_destroy(partition);
}
