#include "cases.h"
#include "check.h"

#include <string.h>

void names(void) {
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
