#include "cases.h"
#include "check.h"

#include <string.h>

void texts(const bj_backend* backend) {
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

void backends(void) {
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
