// Example 4: from C.
//
// The whole way in C99: a matrix in compressed rows, blocks from its pattern, the preconditioner, conjugate gradients.
// Every call returns a status, and bj_last_error() says what was wrong. It then takes new values into the same
// preconditioner and solves again.
//
// sample run: 04_from_c
// sample run: 04_from_c 500

#include <blockjacobi/blockjacobi.h>

#include <stdio.h>
#include <stdlib.h>

// Ends the program with the message of the library if the call failed.
static void must(bj_status status) {
  if (status == BJ_SUCCESS) return;
  fprintf(stderr, "error: %s: %s\n", bj_status_name(status), bj_last_error());
  exit(2);
}

// A chain of nodes with two unknowns each, which are coupled by a full 2 x 2 block; neighbours are coupled weakly.
struct chain {
  int32_t rows;
  int32_t* offsets;
  int32_t* columns;
  double* values;
};

static void put(struct chain* chain, int32_t* nnz, int32_t column, double value) {
  chain->columns[*nnz] = column;
  chain->values[*nnz] = value;
  ++*nnz;
}

static struct chain make_chain(int32_t nodes) {
  struct chain chain;
  const size_t rows = 2 * (size_t)nodes;
  chain.rows = 2 * nodes;
  chain.offsets = malloc((rows + 1) * sizeof(int32_t));
  chain.columns = malloc(4 * rows * sizeof(int32_t));
  chain.values = malloc(4 * rows * sizeof(double));
  if (chain.offsets == NULL || chain.columns == NULL || chain.values == NULL) exit(2);
  int32_t nnz = 0;
  chain.offsets[0] = 0;
  for (int32_t row = 0; row < chain.rows; ++row) {
    const int32_t first = row - row % 2;
    const double coupling = row % 2 == 0 ? -0.2 : -0.1;
    if (row >= 2) put(&chain, &nnz, row - 2, coupling);
    put(&chain, &nnz, first, row % 2 == 0 ? 4.0 : 1.5);
    put(&chain, &nnz, first + 1, row % 2 == 0 ? 1.5 : 1.0);
    if (row + 2 < chain.rows) put(&chain, &nnz, row + 2, coupling);
    chain.offsets[row + 1] = nnz;
  }
  return chain;
}

int main(int argc, char** argv) {
  const int32_t nodes = argc > 1 ? atoi(argv[1]) : 1000;
  if (nodes < 1 || nodes > 100000000) {
    fprintf(stderr, "usage: 04_from_c [NODES]; NODES is positive\n");
    return 2;
  }
  const struct chain chain = make_chain(nodes);

  // 1. Where to compute: the GPU if there is one. On CUDA too we hand over host arrays here; device pointers go with
  //    BJ_DEVICE, and bj_backend_create_cuda_stream takes a stream of yours.
  int32_t cuda = 0;
  bj_backend* backend = NULL;
  must(bj_cuda_available(&cuda));
  must(cuda ? bj_backend_create_cuda(0, &backend) : bj_backend_create_host(0, &backend));

  // 2. The matrix, described where it lies.
  bj_csr matrix = {0};
  matrix.rows = chain.rows;
  matrix.cols = chain.rows;
  matrix.nnz = chain.offsets[chain.rows];
  matrix.row_offsets = chain.offsets;
  matrix.offset_bits = 32;
  matrix.columns = chain.columns;
  matrix.values = chain.values;
  matrix.scalar = BJ_D;
  matrix.space = BJ_HOST;

  // 3. Blocks from the pattern, at most 8 rows each, and what they will need.
  bj_partition* partition = NULL;
  size_t bytes = 0;
  must(bj_partition_create_detect(backend, &matrix, 8, &partition));
  must(bj_block_jacobi_bytes(&matrix, partition, &bytes));
  printf("the preconditioner will hold %zu bytes\n", bytes);

  // 4. Set-up, and what it found.
  bj_block_jacobi* M = NULL;
  char text[1024];
  must(bj_block_jacobi_create(backend, &matrix, partition, BJ_SINGULAR_FAIL, &M));
  must(bj_block_jacobi_text(M, text, sizeof(text), NULL));
  printf("%s", text);

  // 5. Solve. x holds the initial guess and receives the solution.
  double* b = malloc((size_t)chain.rows * sizeof(double));
  double* x = calloc((size_t)chain.rows, sizeof(double));
  if (b == NULL || x == NULL) return 2;
  for (int32_t i = 0; i < chain.rows; ++i) b[i] = 1.0;
  bj_operator* A = NULL;
  bj_solve_report report;
  must(bj_operator_create_csr(backend, &matrix, &A));
  must(bj_cg(A, M, b, x, chain.rows, BJ_HOST, NULL, &report));
  printf("cg: %s after %d iterations, ||b - A x|| = %.1e\n", bj_stop_reason_name(report.reason), (int)report.iterations,
         report.true_residual);
  int converged = report.reason == BJ_STOP_CONVERGED;

  // 6. New values, same pattern. With host arrays and a CUDA backend this would need a copy on the device first, so we
  //    show it on the host.
  if (!cuda) {
    for (int32_t k = 0; k < chain.offsets[chain.rows]; ++k) chain.values[k] *= 2.0;
    must(bj_block_jacobi_refresh(M, chain.values, matrix.nnz, BJ_HOST));
    must(bj_gmres(A, M, b, x, chain.rows, BJ_HOST, NULL, &report));
    printf("gmres after the refresh: %s after %d iterations\n", bj_stop_reason_name(report.reason),
           (int)report.iterations);
    converged = converged && report.reason == BJ_STOP_CONVERGED;
  }

  // 7. Nothing is freed behind your back.
  bj_operator_destroy(A);
  bj_block_jacobi_destroy(M);
  bj_partition_destroy(partition);
  bj_backend_destroy(backend);
  free(chain.offsets);
  free(chain.columns);
  free(chain.values);
  free(b);
  free(x);
  return converged ? 0 : 1;
}
