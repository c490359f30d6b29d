#include "check.h"

#include <stdio.h>
#include <string.h>

int failures = 0;

void check(int right, const char* what, const char* file, int line) {
  if (right) return;
  ++failures;
  fprintf(stderr, "%s:%d: %s; last error: %s\n", file, line, what, bj_last_error());
}

void check_failure(bj_status found, bj_status wanted, const char* message, const char* what, const char* file,
                   int line) {
  if (found == wanted && strcmp(bj_last_error(), message) == 0) return;
  ++failures;
  fprintf(stderr, "%s:%d: %s: %s, \"%s\"\n  wanted %s, \"%s\"\n", file, line, what, bj_status_name(found),
          bj_last_error(), bj_status_name(wanted), message);
}
