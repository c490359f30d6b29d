#include "chain.h"

#include <string.h>

int32_t nnz = 0;
double entries[ENTRIES];

static int32_t offsets32[ROWS + 1];
static int64_t offsets64[ROWS + 1];
static int32_t columns[ENTRIES];
static int32_t columns_from_1[ENTRIES];

static void put(int32_t column, double value) {
  columns[nnz] = column;
  columns_from_1[nnz] = column + 1;
  entries[nnz++] = value;
}

void make_system(void) {
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

bj_csr matrix_of(bj_scalar scalar, const void* values, int from_1) {
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
