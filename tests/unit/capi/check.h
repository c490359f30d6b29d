#pragma once

#include <blockjacobi/blockjacobi.h>

/* How many checks have failed. */
extern int failures;

void check(int right, const char* what, const char* file, int line);
#define CHECK(condition) check((condition) != 0, #condition, __FILE__, __LINE__)
#define OK(call) check((call) == BJ_SUCCESS, #call, __FILE__, __LINE__)

/* The call ends with the status, and its message is as wanted. */
void check_failure(bj_status found, bj_status wanted, const char* message, const char* what, const char* file,
                   int line);
#define FAILS(call, status, message) check_failure((call), (status), (message), #call, __FILE__, __LINE__)
