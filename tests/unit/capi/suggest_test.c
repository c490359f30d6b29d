#include "cases.h"
#include "chain.h"
#include "check.h"

#include <string.h>

/* Every candidate, made and solved with, whichever it is that is recommended. */
static void candidates_of(const bj_backend* backend, const bj_csr* matrix, const bj_suggest_options* options) {
  bj_suggestion* suggestion = NULL;
  int32_t candidates = 0, recommended = -1;
  size_t length = 0;
  char text[8192];
  double b[ROWS], x[ROWS], y[ROWS];
  bj_operator* user = NULL;
  for (int i = 0; i < ROWS; ++i) b[i] = 1.0 + i % 7;
  OK(bj_operator_create_csr(backend, matrix, &user));
  OK(bj_suggest(backend, matrix, options, &suggestion));
  OK(bj_suggestion_size(suggestion, &candidates, &recommended));
  CHECK(candidates > 3 && recommended >= 0 && recommended < candidates);
  OK(bj_suggestion_text(suggestion, text, sizeof(text), &length));
  CHECK(length > 100 && strstr(text, "scalar") != NULL && strstr(text, "detect 8") != NULL);
  OK(bj_suggestion_json(suggestion, text, sizeof(text), NULL));
  CHECK(text[0] == '{' && strstr(text, "\"candidates\"") != NULL);
  for (int32_t k = 0; k < candidates; ++k) {
    bj_operator* A = NULL;
    bj_block_jacobi* M = NULL;
    bj_solve_report report;
    OK(bj_suggestion_make(suggestion, k, backend, matrix, NULL, &A, &M));
    memset(x, 0, sizeof(x));
    OK(bj_gmres(A, M, b, x, ROWS, BJ_HOST, NULL, &report));
    CHECK(report.reason == BJ_STOP_CONVERGED);
    OK(bj_operator_apply(user, x, y, ROWS, BJ_HOST));
    for (int i = 0; i < ROWS; ++i) CHECK(y[i] - b[i] < 1e-5 && b[i] - y[i] < 1e-5);
    OK(bj_operator_refresh(A, matrix->values, matrix->nnz, BJ_HOST));
    OK(bj_block_jacobi_refresh(M, matrix->values, matrix->nnz, BJ_HOST));
    bj_operator_destroy(A);
    bj_block_jacobi_destroy(M);
  }
  bj_suggestion_destroy(suggestion);
  bj_operator_destroy(user);
}

/* A diffusion on a square: where iterations are dear, a multigrid is worth while, in whatever numbering. */
static void multigrid_of_suggestion(const bj_backend* backend) {
  enum { EDGE = 40, POINTS = EDGE * EDGE };
  static int32_t offsets[POINTS + 1], columns[5 * POINTS];
  static double values[5 * POINTS], b[POINTS], x[POINTS];
  const int32_t steps[5] = {-EDGE, -1, 0, 1, EDGE};
  bj_csr matrix;
  bj_suggest_options options;
  bj_suggestion* suggestion = NULL;
  bj_operator* A = NULL;
  bj_block_jacobi* M = NULL;
  bj_multigrid_report multigrid;
  bj_solve_report report;
  char text[8192];
  int32_t candidates = 0, recommended = -1, entries_of_all = 0;
  for (int32_t i = 0; i < POINTS; ++i) {
    for (int k = 0; k < 5; ++k) {
      const int32_t j = i + steps[k];
      if (j < 0 || j >= POINTS || (k == 1 && i % EDGE == 0) || (k == 3 && j % EDGE == 0)) continue;
      columns[entries_of_all] = j;
      values[entries_of_all++] = j == i ? 4.0 : -1.0;
    }
    offsets[i + 1] = entries_of_all;
    b[i] = 1.0 + i % 5;
  }
  memset(&matrix, 0, sizeof(matrix));
  matrix.rows = matrix.cols = POINTS;
  matrix.nnz = entries_of_all;
  matrix.scalar = BJ_D;
  matrix.offset_bits = 32;
  matrix.row_offsets = offsets;
  matrix.columns = columns;
  matrix.values = values;
  matrix.space = BJ_HOST;
  OK(bj_suggest_options_init(&options));
  options.probe_share = 0;
  options.latency = 1e-2;
  OK(bj_suggest(backend, &matrix, &options, &suggestion));
  OK(bj_suggestion_size(suggestion, &candidates, &recommended));
  OK(bj_suggestion_text(suggestion, text, sizeof(text), NULL));
  CHECK(strstr(text, " + multigrid\n") != NULL); /* at the end: recommended */
  OK(bj_suggestion_make(suggestion, recommended, backend, &matrix, NULL, &A, &M));
  OK(bj_multigrid_get_report(M, &multigrid));
  CHECK(multigrid.levels >= 2);
  OK(bj_cg(A, M, b, x, POINTS, BJ_HOST, NULL, &report));
  CHECK(report.reason == BJ_STOP_CONVERGED && report.iterations < 30);
  OK(bj_operator_refresh(A, values, matrix.nnz, BJ_HOST));
  OK(bj_block_jacobi_refresh(M, values, matrix.nnz, BJ_HOST));
  bj_operator_destroy(A);
  bj_block_jacobi_destroy(M);
  bj_suggestion_destroy(suggestion);
}

static void misuse_of_suggestions(const bj_backend* backend, const bj_csr* matrix) {
  bj_suggest_options options;
  bj_suggestion* suggestion = NULL;
  bj_block_jacobi_options blocks;
  bj_operator* A = NULL;
  bj_block_jacobi* M = NULL;
  bj_csr wrong = *matrix;
  int32_t candidates = 0, recommended = 0;
  char text[8];
#define SUGGEST bj_suggest(backend, matrix, &options, &suggestion)
#define DEFAULTS bj_suggest_options_init(&options)
  OK(DEFAULTS);
  CHECK(options.rtol == 1e-8 && options.probe_share == 0.1 && options.bandwidth == 0 && options.latency == 0);
  CHECK(options.method == BJ_METHOD_CG && options.restart == 30 && options.singular == BJ_SINGULAR_SCALAR_JACOBI);
  CHECK(options.unknowns == 1 && options.renumber == 1 && options.coarse == 1);
  FAILS(bj_suggest_options_init(NULL), BJ_INVALID_ARGUMENT, "bj_suggest_options_init: options is a null pointer");
  options.method = 2;
  FAILS(SUGGEST, BJ_INVALID_ARGUMENT, "bj_suggest: method is 2, must be in 0..1");
  DEFAULTS;
  options.singular = 5;
  FAILS(SUGGEST, BJ_INVALID_ARGUMENT, "bj_suggest: singular is 5, must be in 0..4");
  DEFAULTS;
  options.renumber = 2;
  FAILS(SUGGEST, BJ_INVALID_ARGUMENT, "bj_suggest: renumber is 2, must be 0 or 1");
  DEFAULTS;
  options.coarse = -1;
  FAILS(SUGGEST, BJ_INVALID_ARGUMENT, "bj_suggest: coarse is -1, must be 0 or 1");
  DEFAULTS;
  options.unknowns = 0;
  CHECK(SUGGEST == BJ_INVALID_ARGUMENT && strstr(bj_last_error(), "is 0, must be in 1..512") != NULL);
  options.unknowns = 7;
  CHECK(SUGGEST == BJ_INVALID_ARGUMENT && strstr(bj_last_error(), "7") != NULL);
  DEFAULTS;
  options.rtol = 1;
  CHECK(SUGGEST == BJ_INVALID_ARGUMENT && strstr(bj_last_error(), "rtol is 1") != NULL);
  DEFAULTS;
  options.probe_share = 2;
  CHECK(SUGGEST == BJ_INVALID_ARGUMENT && strstr(bj_last_error(), "probe_share is 2") != NULL);
  DEFAULTS;
  options.restart = 0;
  CHECK(SUGGEST == BJ_INVALID_ARGUMENT && strstr(bj_last_error(), "restart is 0") != NULL);
  DEFAULTS;
  options.bandwidth = -1;
  CHECK(SUGGEST == BJ_INVALID_ARGUMENT && strstr(bj_last_error(), "bandwidth is -1") != NULL);
  DEFAULTS;
  options.latency = -1;
  CHECK(SUGGEST == BJ_INVALID_ARGUMENT && strstr(bj_last_error(), "-1") != NULL);
  wrong.values = NULL;
  FAILS(bj_suggest(backend, &wrong, NULL, &suggestion), BJ_INVALID_ARGUMENT,
        "bj_suggest: the matrix has 476 entries but no values");
  FAILS(bj_suggest(NULL, matrix, NULL, &suggestion), BJ_INVALID_ARGUMENT, "bj_suggest: backend is a null pointer");
  FAILS(bj_suggest(backend, NULL, NULL, &suggestion), BJ_INVALID_ARGUMENT, "bj_suggest: the matrix is a null pointer");
  FAILS(bj_suggest(backend, matrix, NULL, NULL), BJ_INVALID_ARGUMENT, "bj_suggest: suggestion is a null pointer");
  CHECK(suggestion == NULL);
#undef SUGGEST
#undef DEFAULTS

  OK(bj_suggest(backend, matrix, NULL, &suggestion));
  OK(bj_suggestion_size(suggestion, &candidates, &recommended));
  FAILS(bj_suggestion_size(suggestion, NULL, &recommended), BJ_INVALID_ARGUMENT,
        "bj_suggestion_size: candidates is a null pointer");
  CHECK(bj_suggestion_size(suggestion, &candidates, NULL) == BJ_INVALID_ARGUMENT);
  CHECK(bj_suggestion_size(NULL, &candidates, &recommended) == BJ_INVALID_ARGUMENT);
  CHECK(bj_suggestion_text(NULL, text, sizeof(text), NULL) == BJ_INVALID_ARGUMENT);
  CHECK(bj_suggestion_json(NULL, text, sizeof(text), NULL) == BJ_INVALID_ARGUMENT);
#define MAKE(candidate_, matrix_, blocks_) bj_suggestion_make(suggestion, candidate_, backend, matrix_, blocks_, &A, &M)
  CHECK(MAKE(candidates, matrix, NULL) == BJ_INVALID_ARGUMENT && strstr(bj_last_error(), "must be in 0..") != NULL);
  CHECK(strncmp(bj_last_error(), "bj_suggestion_make: candidate is ", 33) == 0);
  CHECK(MAKE(-1, matrix, NULL) == BJ_INVALID_ARGUMENT);
  FAILS(MAKE(0, NULL, NULL), BJ_INVALID_ARGUMENT, "bj_suggestion_make: the matrix is a null pointer");
  OK(bj_block_jacobi_options_init(&blocks));
  blocks.storage = 6;
  FAILS(MAKE(0, matrix, &blocks), BJ_INVALID_ARGUMENT, "bj_suggestion_make: storage is 6, must be in 0..5");
  wrong = *matrix;
  wrong.rows = wrong.cols = ROWS - 1;
  FAILS(MAKE(0, &wrong, NULL), BJ_INVALID_ARGUMENT, "bj_suggestion_make: the partition has 120 rows, the matrix 119");
#undef MAKE
  FAILS(bj_suggestion_make(NULL, 0, backend, matrix, NULL, &A, &M), BJ_INVALID_ARGUMENT,
        "bj_suggestion_make: suggestion is a null pointer");
  CHECK(bj_suggestion_make(suggestion, 0, NULL, matrix, NULL, &A, &M) == BJ_INVALID_ARGUMENT);
  CHECK(bj_suggestion_make(suggestion, 0, backend, matrix, NULL, NULL, &M) == BJ_INVALID_ARGUMENT);
  CHECK(bj_suggestion_make(suggestion, 0, backend, matrix, NULL, &A, NULL) == BJ_INVALID_ARGUMENT);
  CHECK(A == NULL && M == NULL);
  OK(bj_suggestion_destroy(suggestion));
  OK(bj_suggestion_destroy(NULL));
}

void suggestions(const bj_backend* backend) {
  const bj_csr matrix = matrix_of(BJ_D, entries, 0);
  bj_suggest_options options;
  OK(bj_suggest_options_init(&options));
  candidates_of(backend, &matrix, NULL);
  /* Where anything is slow, many candidates are worth while. */
  options.method = BJ_METHOD_GMRES;
  options.unknowns = 2;
  options.bandwidth = 1;
  options.probe_share = 1;
  candidates_of(backend, &matrix, &options);
  multigrid_of_suggestion(backend);
  misuse_of_suggestions(backend, &matrix);
}
