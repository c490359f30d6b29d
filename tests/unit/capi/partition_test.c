#include "cases.h"
#include "chain.h"
#include "check.h"

void partitions(const bj_backend* backend) {
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
