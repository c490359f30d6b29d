#include "line.h"

#include "check.h"

#include <stddef.h>

double line_values[ENTRIES_OF_LINE];

static int32_t line_offsets[ROWS + 1], line_columns[ENTRIES_OF_LINE];

bj_csr line(void) {
  int32_t k = 0;
  for (int32_t i = 0; i < ROWS; ++i) {
    for (int32_t j = i > 0 ? i - 1 : 0; j <= i + 1 && j < ROWS; ++j) {
      line_columns[k] = j;
      line_values[k++] = i == j ? 2.0 : -1.0;
    }
    line_offsets[i + 1] = k;
  }
  bj_csr matrix = matrix_of(BJ_D, line_values, 0);
  matrix.nnz = k;
  matrix.row_offsets = line_offsets;
  matrix.columns = line_columns;
  return matrix;
}

int32_t iterations_of(solver solve_by, const bj_operator* A, const bj_block_jacobi* M) {
  double b[ROWS], x[ROWS] = {0};
  bj_solve_report report;
  for (int i = 0; i < ROWS; ++i) b[i] = 1.0 + i % 7;
  OK(solve_by(A, M, b, x, ROWS, BJ_HOST, NULL, &report));
  CHECK(report.reason == BJ_STOP_CONVERGED && report.true_residual <= 1e-8 * report.rhs_norm);
  return report.iterations;
}
