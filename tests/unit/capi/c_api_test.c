/* The C interface as a C99 program sees it: a whole solve for each scalar, and every way in which a call fails. */
#include <blockjacobi/blockjacobi.h>

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void check(int right, const char* what, int line) {
  if (right) return;
  ++failures;
  fprintf(stderr, "c_api_test.c:%d: %s; last error: %s\n", line, what, bj_last_error());
}
#define CHECK(condition) check((condition) != 0, #condition, __LINE__)
#define OK(call) check((call) == BJ_SUCCESS, #call, __LINE__)

/* The call ends with the status, and its message is as wanted. */
static void check_failure(bj_status found, bj_status wanted, const char* message, const char* what, int line) {
  if (found == wanted && strcmp(bj_last_error(), message) == 0) return;
  ++failures;
  fprintf(stderr, "c_api_test.c:%d: %s: %s, \"%s\"\n  wanted %s, \"%s\"\n", line, what, bj_status_name(found),
          bj_last_error(), bj_status_name(wanted), message);
}
#define FAILS(call, status, message) check_failure((call), (status), (message), #call, __LINE__)

/* ---- a system: two unknowns a node of a chain, coupled within the node ---- */

enum { NODES = 60, ROWS = 2 * NODES, ENTRIES = 8 * NODES - 4 };

static int32_t offsets32[ROWS + 1];
static int64_t offsets64[ROWS + 1];
static int32_t columns[ENTRIES];
static int32_t columns_from_1[ENTRIES];
static double entries[ENTRIES];

static int32_t nnz = 0;

static void put(int32_t column, double value) {
  columns[nnz] = column;
  columns_from_1[nnz] = column + 1;
  entries[nnz++] = value;
}

static void make_system(void) {
  for (int32_t row = 0; row < ROWS; ++row) {
    const int32_t other = row % 2 == 0 ? row + 1 : row - 1;
    if (row >= 2) put(row - 2, -1.0);
    put(row, 3.0 + row % 2);
    put(other, -0.5);
    if (row + 2 < ROWS) put(row + 2, -1.0);
    offsets32[row + 1] = nnz;
    offsets64[row + 1] = nnz + 1;
  }
  offsets64[0] = 1;
}

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

static bj_csr matrix_of(bj_scalar scalar, const void* values, int from_1) {
  bj_csr matrix;
  memset(&matrix, 0, sizeof(matrix));
  matrix.rows = ROWS;
  matrix.cols = ROWS;
  matrix.nnz = nnz;
  matrix.row_offsets = from_1 ? (const void*)offsets64 : (const void*)offsets32;
  matrix.columns = from_1 ? columns_from_1 : columns;
  matrix.values = values;
  matrix.offset_bits = from_1 ? 64 : 32;
  matrix.base = from_1 ? 1 : 0;
  matrix.scalar = scalar;
  matrix.space = BJ_HOST;
  return matrix;
}

/* ---- a whole solve ---- */

static int32_t stop_at_once(void* context, int32_t iteration, double residual, double target) {
  *(int*)context += iteration >= 0 && residual > target;
  return 1;
}

static void solve(const bj_backend* backend, bj_scalar scalar, int from_1) {
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
  double history[3] = {0, 0, 0};
  OK(bj_solve_options_init(&options));
  CHECK(options.rtol == 1e-8 && options.max_iterations == 10000 && options.restart == 30 && options.progress == NULL);
  options.rtol = rtol;
  options.history = history;
  options.history_capacity = 3;
  OK(bj_cg(A, M, b, x, ROWS, BJ_HOST, &options, &cg_report));
  CHECK(cg_report.reason == BJ_STOP_CONVERGED && cg_report.true_residual <= rtol * cg_report.rhs_norm);
  CHECK(cg_report.history_size == cg_report.iterations + 1 && history[2] > 0.0);
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
  const solver solvers[4] = {bj_fcg, bj_bicgstab, bj_fgmres, bj_richardson};
  bj_operator* in_blocks = NULL;
  OK(bj_operator_create_bsr(backend, &matrix, ROWS / NODES, &in_blocks));
  OK(bj_operator_refresh(in_blocks, values, nnz, BJ_HOST));
  for (int i = 0; i < 4; ++i) {
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

/* ---- partitions, status, text ---- */

static void partitions(const bj_backend* backend) {
  bj_partition* partition = NULL;
  int32_t rows = 0, blocks = 0, offsets[4] = {0, 0, 0, 0};
  OK(bj_partition_create_uniform(8, 3, &partition));
  OK(bj_partition_size(partition, &rows, &blocks));
  CHECK(rows == 8 && blocks == 3);
  OK(bj_partition_offsets(partition, offsets));
  CHECK(offsets[0] == 0 && offsets[1] == 3 && offsets[2] == 6 && offsets[3] == 8);
  bj_partition_destroy(partition);

  const int32_t given[3] = {0, 1, 8};
  OK(bj_partition_create_offsets(given, 2, &partition));
  OK(bj_partition_size(partition, &rows, &blocks));
  CHECK(rows == 8 && blocks == 2);
  bj_partition_destroy(partition);

  const int32_t falling[3] = {0, 4, 4};
  const bj_csr pattern = matrix_of(BJ_D, NULL, 0);
  partition = NULL;
  FAILS(bj_partition_create_uniform(8, 0, &partition), BJ_INVALID_ARGUMENT,
        "bj_partition_create_uniform: BlockPartition::uniform: block size is 0, must be in 1..512");
  FAILS(bj_partition_create_uniform(8, 3, NULL), BJ_INVALID_ARGUMENT,
        "bj_partition_create_uniform: partition is a null pointer");
  FAILS(bj_partition_create_offsets(NULL, 2, &partition), BJ_INVALID_ARGUMENT,
        "bj_partition_create_offsets: offsets is a null pointer");
  FAILS(bj_partition_create_offsets(given, -1, &partition), BJ_INVALID_ARGUMENT,
        "bj_partition_create_offsets: blocks is -1, must be >= 0");
  CHECK(bj_partition_create_offsets(falling, 2, &partition) == BJ_INVALID_ARGUMENT);
  FAILS(bj_partition_create_detect(NULL, &pattern, 8, &partition), BJ_INVALID_ARGUMENT,
        "bj_partition_create_detect: backend is a null pointer");
  FAILS(bj_partition_create_detect(backend, NULL, 8, &partition), BJ_INVALID_ARGUMENT,
        "bj_partition_create_detect: the matrix is a null pointer");
  CHECK(bj_partition_create_detect(backend, &pattern, 513, &partition) == BJ_INVALID_ARGUMENT);
  CHECK(bj_partition_size(NULL, &rows, &blocks) == BJ_INVALID_ARGUMENT);
  CHECK(bj_partition_offsets(NULL, offsets) == BJ_INVALID_ARGUMENT);
  CHECK(partition == NULL);
  OK(bj_partition_destroy(NULL));
}

static void names(void) {
  CHECK(strcmp(bj_status_name(BJ_SUCCESS), "BJ_SUCCESS") == 0);
  CHECK(strcmp(bj_status_name(BJ_SINGULAR_BLOCK), "BJ_SINGULAR_BLOCK") == 0);
  CHECK(strcmp(bj_status_name(99), "unknown status") == 0);
  for (bj_status status = BJ_SUCCESS; status <= BJ_INTERNAL_ERROR; ++status)
    CHECK(strncmp(bj_status_name(status), "BJ_", 3) == 0);
  CHECK(strcmp(bj_stop_reason_name(BJ_STOP_CONVERGED), "converged") == 0);
  CHECK(strcmp(bj_stop_reason_name(BJ_STOP_SINGULAR_BLOCK), "singular_block") == 0);
  CHECK(strcmp(bj_stop_reason_name(0), "unknown") == 0 && strcmp(bj_stop_reason_name(11), "unknown") == 0);
  CHECK(strlen(bj_version()) >= 5);
}

static void texts(const bj_backend* backend) {
  char text[64], small[5];
  size_t length = 0;
  OK(bj_backend_text(backend, NULL, 0, &length));
  CHECK(strlen("host, 2 threads") == length);
  OK(bj_backend_text(backend, text, sizeof(text), NULL));
  CHECK(strcmp(text, "host, 2 threads") == 0);
  OK(bj_backend_text(backend, small, sizeof(small), &length));
  CHECK(strcmp(small, "host") == 0 && length == strlen(text));
  FAILS(bj_backend_text(backend, NULL, 4, &length), BJ_INVALID_ARGUMENT, "bj_backend_text: buffer is a null pointer");
  CHECK(bj_backend_text(NULL, text, sizeof(text), NULL) == BJ_INVALID_ARGUMENT);
}

static void backends(void) {
  bj_backend* backend = NULL;
  bj_space space = BJ_DEVICE;
  int32_t available = -1;
  OK(bj_cuda_available(&available));
  CHECK(available == 0 || available == 1);
  FAILS(bj_cuda_available(NULL), BJ_INVALID_ARGUMENT, "bj_cuda_available: available is a null pointer");
  FAILS(bj_backend_create_host(-1, &backend), BJ_INVALID_ARGUMENT,
        "bj_backend_create_host: Backend::host: threads is -1, must be in 0..1024");
  CHECK(bj_backend_create_host(1, NULL) == BJ_INVALID_ARGUMENT);
  if (!available) {
    CHECK(bj_backend_create_cuda(0, &backend) == BJ_BACKEND_UNAVAILABLE && strlen(bj_last_error()) > 20);
    CHECK(bj_backend_create_cuda_stream(0, NULL, &backend) == BJ_BACKEND_UNAVAILABLE);
  }
  CHECK(backend == NULL);
  CHECK(bj_backend_space(NULL, &space) == BJ_INVALID_ARGUMENT);
  CHECK(bj_backend_synchronize(NULL) == BJ_INVALID_ARGUMENT);
  OK(bj_backend_create_host(0, &backend));
  OK(bj_backend_space(backend, &space));
  CHECK(space == BJ_HOST);
  OK(bj_backend_synchronize(backend));
  OK(bj_backend_destroy(backend));
  OK(bj_backend_destroy(NULL));
}

/* ---- misuse ---- */

static void misuse_of_block_jacobi(const bj_backend* backend) {
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

static void singular_blocks(const bj_backend* backend) {
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

static void options_of_block_jacobi(const bj_backend* backend) {
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
  CHECK(fabs(z[0] + 2) < 1e-14);
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

/* y = 2 x on ROWS doubles, or the failure that the context asks for. */
static int32_t twice(void* context, const void* x, void* y) {
  if (context != NULL) return *(const int32_t*)context;
  for (int i = 0; i < ROWS; ++i) ((double*)y)[i] = 2.0 * ((const double*)x)[i];
  return 0;
}

static void misuse_of_solvers(const bj_backend* backend) {
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

  bj_workspace* workspace = NULL;
  bj_operator* csr = NULL;
  bj_solve_status status;
  FAILS(bj_workspace_create_cg(A, NULL, NULL, &workspace), BJ_INVALID_ARGUMENT,
        "bj_workspace_create_cg: CgWorkspace: the matrix is a function with Capture::no");
  CHECK(bj_workspace_create_gmres(NULL, NULL, NULL, &workspace) == BJ_INVALID_ARGUMENT && workspace == NULL);
  OK(bj_operator_create_csr(backend, &matrix, &csr));
  CHECK(bj_workspace_create_cg(csr, NULL, NULL, NULL) == BJ_INVALID_ARGUMENT);
  FAILS(bj_operator_refresh(csr, entries, nnz, BJ_HOST), BJ_INVALID_ARGUMENT,
        "bj_operator_refresh: A was not made by bj_operator_create_bsr");
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

int main(void) {
  bj_backend* backend = NULL;
  CHECK(strcmp(bj_last_error(), "") == 0);
  make_system();
  names();
  backends();
  OK(bj_backend_create_host(2, &backend));
  if (backend == NULL) return 1;
  texts(backend);
  partitions(backend);
  for (bj_scalar scalar = BJ_S; scalar <= BJ_Z; ++scalar) {
    solve(backend, scalar, 0);
    solve(backend, scalar, 1);
  }
  misuse_of_block_jacobi(backend);
  singular_blocks(backend);
  options_of_block_jacobi(backend);
  misuse_of_solvers(backend);
  bj_backend_destroy(backend);
  if (failures == 0) printf("c_api_test: passed\n");
  return failures == 0 ? 0 : 1;
}
