#pragma once

#include <blockjacobi/blockjacobi.h>

/* All but the first two take a backend of the host with two threads, which they leave as it was. */
void names(void);
void backends(void);
void texts(const bj_backend* backend);
void partitions(const bj_backend* backend);
void numberings(const bj_backend* backend);
void solve(const bj_backend* backend, bj_scalar scalar, int from_1);
void misuse_of_block_jacobi(const bj_backend* backend);
void singular_blocks(const bj_backend* backend);
void what_was_found(const bj_backend* backend);
void options_of_block_jacobi(const bj_backend* backend);
void coarse_levels(const bj_backend* backend);
void multigrids(const bj_backend* backend);
void suggestions(const bj_backend* backend);
void misuse_of_solvers(const bj_backend* backend);
