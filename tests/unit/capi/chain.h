#pragma once

#include <blockjacobi/blockjacobi.h>

/* A system: two unknowns a node of a chain, coupled within the node. */
enum { NODES = 60, ROWS = 2 * NODES, ENTRIES = 8 * NODES - 4 };

extern int32_t nnz;
extern double entries[ENTRIES];

void make_system(void);

/* The matrix with the values given: indices from 0 and offsets of 32 bits, or from 1 and of 64 bits. */
bj_csr matrix_of(bj_scalar scalar, const void* values, int from_1);
