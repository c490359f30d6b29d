/* The C interface as a C99 program sees it: a whole solve for each scalar, and every way in which a call fails. */
#include "cases.h"
#include "chain.h"
#include "check.h"

#include <stdio.h>
#include <string.h>

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
  numberings(backend);
  for (bj_scalar scalar = BJ_S; scalar <= BJ_Z; ++scalar) {
    solve(backend, scalar, 0);
    solve(backend, scalar, 1);
  }
  misuse_of_block_jacobi(backend);
  singular_blocks(backend);
  what_was_found(backend);
  options_of_block_jacobi(backend);
  coarse_levels(backend);
  multigrids(backend);
  suggestions(backend);
  misuse_of_solvers(backend);
  bj_backend_destroy(backend);
  if (failures == 0) printf("c_api_test: passed\n");
  return failures == 0 ? 0 : 1;
}
