#pragma once

#include "chain.h"

/* -1 2 -1, as many rows as the chain has, which block-Jacobi alone takes one iteration a block for. */
enum { ENTRIES_OF_LINE = 3 * ROWS - 2 };

extern double line_values[ENTRIES_OF_LINE];

/* Sets the values, too. */
bj_csr line(void);

typedef bj_status (*solver)(const bj_operator*, const bj_block_jacobi*, const void*, void*, int32_t, bj_space,
                            const bj_solve_options*, bj_solve_report*);

/* Of a solve that converges. */
int32_t iterations_of(solver solve_by, const bj_operator* A, const bj_block_jacobi* M);
