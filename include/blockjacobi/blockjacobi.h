#pragma once

/* The C interface, for C99 and whatever calls C: Fortran through iso_c_binding, Python through ctypes. It covers
 * backends, partitions, set-up, refresh, apply, coarse levels, multigrids, the solvers and suggestions; the headers
 * *.hpp beside it say more about each.
 *
 * Conventions
 *  - Every function but bj_version, bj_last_error and those that name a number returns a status. If it is not
 *    BJ_SUCCESS, bj_last_error() tells the calling thread what was wrong, with the numbers, and the results are as
 *    they were; only a solution vector may have changed.
 *  - Objects are opaque. bj_..._create functions make one, the bj_..._destroy of its type ends it; null is accepted
 *    there. What an object was made from may be destroyed before it, except where a comment says otherwise.
 *  - Arrays are the caller's and are used where they lie. `space` says whether that is host or device memory; vectors
 *    and values lie in the space of the backend unless a comment allows others.
 *  - float, double and their complex types (pairs of reals, as in C99 and Fortran) go by BJ_S, BJ_D, BJ_C, BJ_Z.
 *  - On CUDA, bj_block_jacobi_refresh, bj_block_jacobi_apply, bj_operator_refresh and bj_enqueue are enqueued on the
 *    backend's stream, allocate nothing, and can be captured in a graph. All else may wait.
 *  - Thread safety: an object may be read from several threads on a host backend, from one at a time on CUDA; what
 *    changes it excludes every other call on it.
 */

#include <stddef.h>
#include <stdint.h>

#if defined(BLOCKJACOBI_STATIC)
#define BJ_API
#else
#define BJ_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

typedef int32_t bj_status;
enum {
  BJ_SUCCESS = 0,
  BJ_INVALID_ARGUMENT = 1,    /* an argument breaks a documented precondition */
  BJ_BACKEND_UNAVAILABLE = 2, /* CUDA was not compiled in, or its device is absent */
  BJ_CUDA_ERROR = 3,          /* a CUDA or cuSPARSE call failed */
  BJ_SINGULAR_BLOCK = 4,      /* a block has no inverse, under BJ_SINGULAR_FAIL */
  BJ_OUT_OF_MEMORY = 5,       /* host memory; on a device it is BJ_CUDA_ERROR */
  BJ_CALLBACK_FAILED = 6,     /* a function of the caller did not return 0 */
  BJ_INTERNAL_ERROR = 7       /* none of these: a defect of the library */
};

typedef int32_t bj_scalar;
enum { BJ_S = 0, BJ_D = 1, BJ_C = 2, BJ_Z = 3 };

typedef int32_t bj_space;
enum { BJ_HOST = 0, BJ_DEVICE = 1 };

typedef int32_t bj_op;
enum { BJ_NO_TRANSPOSE = 0, BJ_TRANSPOSE = 1, BJ_CONJUGATE_TRANSPOSE = 2 };

/* What takes the place of the inverse of a block that is singular or holds NaN or Inf. */
typedef int32_t bj_singular;
enum {
  BJ_SINGULAR_FAIL = 0,          /* create fails; after a refresh the next solve ends with BJ_STOP_SINGULAR_BLOCK */
  BJ_SINGULAR_IDENTITY = 1,      /* I */
  BJ_SINGULAR_SCALAR_JACOBI = 2, /* diag(1 / a_ii), 1 where a_ii is zero, missing or not finite, or overflow */
  BJ_SINGULAR_SHIFT = 3,         /* the inverse of the block with a diagonal moved away from zero */
  BJ_SINGULAR_PSEUDO_INVERSE = 4 /* the pseudo-inverse of the equilibrated block; block_jacobi.hpp defines both */
};

/* How the inverses are stored. */
typedef int32_t bj_storage;
enum {
  BJ_STORAGE_FULL = 0,
  BJ_STORAGE_PACKED = 1, /* triangles; symmetric or Hermitian blocks, else create fails with BJ_INVALID_ARGUMENT */
  BJ_STORAGE_FP32 = 2,
  BJ_STORAGE_BF16 = 3,
  BJ_STORAGE_FP16 = 4,
  BJ_STORAGE_ADAPTIVE = 5 /* for each block the cheapest that is accurate */
};

/* Why a solve ended. */
typedef int32_t bj_stop_reason;
enum {
  BJ_STOP_CONVERGED = 1, /* the only one that means success */
  BJ_STOP_MAX_ITERATIONS = 2,
  BJ_STOP_BREAKDOWN = 3,
  BJ_STOP_INDEFINITE_MATRIX = 4,
  BJ_STOP_INDEFINITE_PRECONDITIONER = 5,
  BJ_STOP_NAN_OR_INF = 6,
  BJ_STOP_STAGNATION = 7,
  BJ_STOP_TIME_LIMIT = 8,
  BJ_STOP_USER_STOP = 9,
  BJ_STOP_SINGULAR_BLOCK = 10
};

/* How block-Jacobi and the coarse level make one preconditioner; two_level.hpp has the formulas. */
typedef int32_t bj_coarse_mode;
enum {
  BJ_COARSE_AUTOMATIC = 0, /* BJ_COARSE_ADEF2 if the matrix is symmetric (Hermitian), else BJ_COARSE_ADEF1 */
  BJ_COARSE_ADDITIVE = 1,  /* for every solver, the only one for bj_minres */
  BJ_COARSE_ADEF1 = 2,     /* for bj_gmres, bj_fgmres and bj_bicgstab; bj_cg and bj_fcg refuse it */
  BJ_COARSE_ADEF2 = 3      /* for bj_cg, bj_fcg and bj_richardson */
};

typedef struct bj_backend bj_backend;
typedef struct bj_partition bj_partition;
typedef struct bj_block_jacobi bj_block_jacobi;
typedef struct bj_operator bj_operator;
typedef struct bj_workspace bj_workspace;
typedef struct bj_suggestion bj_suggestion;

/* A sparse matrix in compressed rows. Row i holds the entries row_offsets[i] - base .. row_offsets[i+1] - base - 1;
 * columns in any order, duplicates are summed. */
typedef struct bj_csr {
  int32_t rows;
  int32_t cols;
  int64_t nnz;
  const void* row_offsets; /* rows + 1, of int32_t or int64_t */
  const int32_t* columns;  /* nnz */
  const void* values;      /* nnz, of the scalar; may be null where only the pattern is read */
  int32_t offset_bits;     /* 32 or 64 */
  int32_t base;            /* 0 or 1 */
  bj_scalar scalar;
  bj_space space;
} bj_csr;

/* "0.1.0". */
BJ_API const char* bj_version(void);
/* "BJ_SUCCESS" and so on; "unknown status" for other numbers. */
BJ_API const char* bj_status_name(bj_status status);
/* What the last call of this thread that failed had to say; "" before any did. Valid until the next one fails. */
BJ_API const char* bj_last_error(void);

/* Backends: where and how to compute. */

/* CPU threads, 0..1024; 0 takes OpenMP's default. */
BJ_API bj_status bj_backend_create_host(int32_t threads, bj_backend** backend);
/* CUDA device with a stream of its own. */
BJ_API bj_status bj_backend_create_cuda(int32_t device, bj_backend** backend);
/* CUDA device and the caller's stream (a cudaStream_t; null is the legacy default stream), which outlives the backend
 * and all that is made from it. */
BJ_API bj_status bj_backend_create_cuda_stream(int32_t device, struct CUstream_st* stream, bj_backend** backend);
BJ_API bj_status bj_backend_destroy(bj_backend* backend);
/* 1 if CUDA was compiled in and there is a usable device, else 0. */
BJ_API bj_status bj_cuda_available(int32_t* available);
BJ_API bj_status bj_backend_space(const bj_backend* backend, bj_space* space);
/* Waits for everything enqueued. */
BJ_API bj_status bj_backend_synchronize(const bj_backend* backend);

/* Text goes to `buffer`: at most size - 1 characters and a null character. `length`, if not null, receives the length
 * of the whole text; with size 0 the buffer may be null. */

/* "host, 2 threads" or "cuda 0, NVIDIA H200". */
BJ_API bj_status bj_backend_text(const bj_backend* backend, char* buffer, size_t size, size_t* length);

/* Partitions of the rows into diagonal blocks of 1..512 rows: of neighbours or, of bj_partition_create_labels and
 * _clusters, of rows wherever they stand. The latter have a numbering of their own, in which blocks follow each other.
 * M made with one, and A made by bj_operator_create_numbered with the same, compute in it and take and give all vectors
 * and values in the user's numbering; such objects are used by one call at a time, and the matrix that they are made
 * of lies on the host and has values. */

/* Blocks of block_size rows, the last one shorter if need be. */
BJ_API bj_status bj_partition_create_uniform(int32_t rows, int32_t block_size, bj_partition** partition);
/* Block b covers the rows offsets[b] .. offsets[b+1] - 1; blocks + 1 offsets, the first is 0. */
BJ_API bj_status bj_partition_create_offsets(const int32_t* offsets, int32_t blocks, bj_partition** partition);
/* Blocks from the pattern: rows with the same columns, agglomerated up to max_size rows. The matrix lies on the host or
 * on the backend's device. */
BJ_API bj_status bj_partition_create_detect(const bj_backend* backend, const bj_csr* matrix, int32_t max_size,
                                            bj_partition** partition);
/* Rows with equal labels make one block, any numbers serve; blocks follow each other as their first rows do. */
BJ_API bj_status bj_partition_create_labels(const int32_t* labels, int32_t rows, bj_partition** partition);
/* Blocks of at most max_size strongly coupled rows, found by repeated matching from pattern and values. The rows of a
 * node stay together: of a block of `nodes`, which are neighbours, or if null of one that the pattern shows. */
BJ_API bj_status bj_partition_create_clusters(const bj_csr* matrix, const bj_partition* nodes, int32_t max_size,
                                              bj_partition** partition);
BJ_API bj_status bj_partition_destroy(bj_partition* partition);
BJ_API bj_status bj_partition_size(const bj_partition* partition, int32_t* rows, int32_t* blocks);
/* Copies blocks + 1 offsets, in the numbering of the blocks. */
BJ_API bj_status bj_partition_offsets(const bj_partition* partition, int32_t* offsets);
/* Copies `rows` numbers: row order[k] of the matrix has the number k in the numbering of the blocks; order[k] = k where
 * both are the same. */
BJ_API bj_status bj_partition_order(const bj_partition* partition, int32_t* order);

/* The preconditioner M = diag(A_11, ..., A_kk). */

/* The bytes that an object with this pattern will hold in the backend's memory in full storage, without shift,
 * pseudo-inverse or l1, before anything is allocated there; a device may take up to 32 bytes a block more. The pattern
 * lies on the host. */
BJ_API bj_status bj_block_jacobi_bytes(const bj_csr* pattern, const bj_partition* partition, size_t* bytes);
/* Analyses the pattern and inverts the blocks. With matrix->values null only the former: bj_block_jacobi_refresh then
 * brings the values. The matrix lies on the host or on the backend's device and is not referenced afterwards. */
BJ_API bj_status bj_block_jacobi_create(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition,
                                        bj_singular singular, bj_block_jacobi** M);

typedef struct bj_block_jacobi_options {
  double
      accuracy; /* adaptive storage: bound of ||I - A X||, infinity norm, for each block A and its stored inverse X */
  bj_singular singular;
  bj_storage storage;
  int32_t l1; /* 1: l1 block-Jacobi, absolute row sums outside of the blocks are added to the diagonal; else 0 */
  int32_t reserved;
} bj_block_jacobi_options;

/* BJ_SINGULAR_FAIL, BJ_STORAGE_FULL, accuracy 0.1, no l1. */
BJ_API bj_status bj_block_jacobi_options_init(bj_block_jacobi_options* options);
/* As bj_block_jacobi_create; with adaptive storage and matrix->values null the first refresh allocates and waits. */
BJ_API bj_status bj_block_jacobi_create_with(const bj_backend* backend, const bj_csr* matrix,
                                             const bj_partition* partition, const bj_block_jacobi_options* options,
                                             bj_block_jacobi** M);
BJ_API bj_status bj_block_jacobi_destroy(bj_block_jacobi* M);
/* Inverts blocks, and E, for new values of the same pattern, in the order of the matrix given to create. */
BJ_API bj_status bj_block_jacobi_refresh(bj_block_jacobi* M, const void* values, int64_t nnz, bj_space space);
/* The same for the values of `matrix`, which lies in the backend's space, after a comparison of its pattern with that
 * of create: BJ_INVALID_ARGUMENT if they differ, and for M with a numbering or a coarse level. Waits. */
BJ_API bj_status bj_block_jacobi_refresh_matrix(bj_block_jacobi* M, const bj_csr* matrix);
/* z = op(M^-1) r; both have `size` = rows elements and do not overlap. With a coarse level BJ_NO_TRANSPOSE alone. */
BJ_API bj_status bj_block_jacobi_apply(const bj_block_jacobi* M, bj_op op, const void* r, void* z, int32_t size,
                                       bj_space space);
/* Z = alpha op(M^-1) R + beta Z for `columns` vectors of `rows` elements: element (i, k) is r[i + k ld], or r[i ld + k]
 * with row_major = 1. alpha and beta are scalars of M; Z is not read if beta is zero. BJ_INVALID_ARGUMENT for M with a
 * numbering or a coarse level. */
BJ_API bj_status bj_block_jacobi_apply_columns(const bj_block_jacobi* M, bj_op op, const void* alpha, const void* r,
                                               int64_t ldr, const void* beta, void* z, int64_t ldz, int32_t rows,
                                               int32_t columns, int32_t row_major, bj_space space);
/* The formats of adaptive storage chosen anew, after which graphs captured with M before are no longer valid; the same
 * as refresh else. Waits, and fails as create does, and for M with a coarse level. */
BJ_API bj_status bj_block_jacobi_rebuild(bj_block_jacobi* M, const void* values, int64_t nnz, bj_space space);
/* One number a block, to host memory: 0 inverted; k in 1..N: pivot k is exactly zero; N + 1: singular to working
 * precision; -(1 + i + j N): element (i, j) is NaN or Inf. */
BJ_API bj_status bj_block_jacobi_info(const bj_block_jacobi* M, int32_t* info);
/* Reciprocal condition number of each equilibrated block, real numbers in the precision of M's scalar, to host memory:
 * 0 after a zero pivot, NaN for a block with NaN or Inf. */
BJ_API bj_status bj_block_jacobi_rcond(const bj_block_jacobi* M, void* rcond);
/* Where the two lie in the backend's memory, as long as M exists; written by refresh and rebuild in the order of the
 * stream. These do not wait. */
BJ_API bj_status bj_block_jacobi_info_view(const bj_block_jacobi* M, const int32_t** info);
BJ_API bj_status bj_block_jacobi_rcond_view(const bj_block_jacobi* M, const void** rcond);
/* Pivot growth max |u_ij| / max |b_ij| of each equilibrated block, real numbers as above, to host memory. Values as for
 * refresh; M keeps no matrix and has no coarse level. Excludes every other call on M. */
BJ_API bj_status bj_block_jacobi_pivot_growth(bj_block_jacobi* M, const void* values, int64_t nnz, bj_space space,
                                              void* growth);

/* What set-up found. */
typedef struct bj_block_jacobi_report {
  int64_t bytes; /* held in the backend's memory, without a numbering and a coarse level */
  int32_t rows;
  int32_t blocks;
  bj_scalar scalar;
  bj_singular singular;
  int32_t singular_blocks;
  int32_t non_finite_blocks;
  int32_t min_rcond_block; /* -1 if no block was inverted */
  int32_t unsuited_blocks; /* fp32, bf16, fp16: a row or column stored as zeros; after a refresh: packed storage, not
                              Hermitian; adaptive, beyond the accuracy */
  double min_rcond;        /* the smallest reciprocal condition number of the blocks that were inverted */
  double entries_inside;   /* entries inside the blocks / entries */
  /* What bj_block_jacobi_get_report_with finds from the matrix; NaN, NaN and -1 else. */
  double captured;          /* the weight inside the blocks / the weight, without the diagonal */
  double max_growth;        /* the largest pivot growth of the blocks without NaN and Inf; NaN if there is none */
  int32_t max_growth_block; /* its block number, or -1 */
  int32_t reserved;
} bj_block_jacobi_report;

BJ_API bj_status bj_block_jacobi_get_report(const bj_block_jacobi* M, bj_block_jacobi_report* report);
/* The whole report as one JSON object. */
BJ_API bj_status bj_block_jacobi_json(const bj_block_jacobi* M, char* buffer, size_t size, size_t* length);
/* A few lines; names the first ten blocks that could not be inverted. */
BJ_API bj_status bj_block_jacobi_text(const bj_block_jacobi* M, char* buffer, size_t size, size_t* length);

/* The same with what takes the matrix of the last set-up, on the host or on the backend's device, with a numbering on
 * the host; M keeps none and has no coarse level. Exclude every other call on M. */
BJ_API bj_status bj_block_jacobi_get_report_with(bj_block_jacobi* M, const bj_csr* matrix,
                                                 bj_block_jacobi_report* report);
BJ_API bj_status bj_block_jacobi_json_with(bj_block_jacobi* M, const bj_csr* matrix, char* buffer, size_t size,
                                           size_t* length);
BJ_API bj_status bj_block_jacobi_text_with(bj_block_jacobi* M, const bj_csr* matrix, char* buffer, size_t size,
                                           size_t* length);

/* Block-Jacobi with a coarse level, on which what is smooth is solved for: Z of vectors on aggregates of blocks,
 * E = Z^H A Z, Q = Z E^-1 Z^H. It is a bj_block_jacobi like any other, so that solvers, refresh, apply and destroy are
 * those above; what they do not offer with a coarse level fails with BJ_INVALID_ARGUMENT. One call at a time. */

typedef struct bj_two_level_options {
  bj_coarse_mode mode;
  int32_t size;         /* columns of Z at most, in 0..4096; 0: sqrt(nnz), at most 512 on the host, 2048 on CUDA */
  int32_t relaxed;      /* relaxed vectors an aggregate, in 0..512; 0: ones, or `vectors` */
  int32_t unknowns;     /* of a node, in 1..512, dividing the rows: ones for each; rows k unknowns + c are unknown c */
  const void* vectors;  /* of Z, on the host, finite: column j from its element j ld on; null for none */
  int64_t ld;           /* of vectors, at least the rows */
  int32_t vector_count; /* columns of vectors, in 1..512 */
  int32_t reserved;
} bj_two_level_options;

/* BJ_COARSE_AUTOMATIC, size 0, ones, one unknown, no vectors. */
BJ_API bj_status bj_two_level_options_init(bj_two_level_options* options);
/* Inverts the blocks, as bj_block_jacobi_create_with, and sets up the coarse level; null takes the defaults of either
 * options. Of vectors, relaxed vectors and unknowns, vectors come first, and relaxed must be 0 with them. size, if it
 * is not 0, is at least the number of vectors of an aggregate. The matrix has values, on the host or on the backend's
 * device; M keeps a copy. */
BJ_API bj_status bj_two_level_create(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition,
                                     const bj_block_jacobi_options* blocks, const bj_two_level_options* coarse,
                                     bj_block_jacobi** M);
/* u = Q r; both have `size` = rows elements in the backend's space and do not overlap. Enqueued. Own loops of conjugate
 * gradients with BJ_COARSE_ADEF2 begin at x + Q (b - A x). */
BJ_API bj_status bj_two_level_correct(const bj_block_jacobi* M, const void* r, void* u, int32_t size, bj_space space);

/* What set-up found. */
typedef struct bj_two_level_report {
  int64_t bytes; /* held in the backend's memory, beside blocks and matrix */
  double rcond;  /* reciprocal condition of E, equilibrated; 0 after a zero pivot */
  bj_coarse_mode mode;
  int32_t rows;
  int32_t aggregates;
  int32_t size;           /* order of E */
  int32_t uncovered_rows; /* of blocks that no entry couples with others */
  int32_t is_singular;    /* 1: E is singular to working precision; two_level.hpp says what takes the place of E^-1 */
  int32_t is_finite;      /* 0: E has NaN or Inf */
  int32_t reserved;
} bj_two_level_report;

/* These wait, and fail with BJ_INVALID_ARGUMENT for M without a coarse level and for a multigrid, as
 * bj_two_level_correct does. */
BJ_API bj_status bj_two_level_get_report(const bj_block_jacobi* M, bj_two_level_report* report);
/* One or two lines. */
BJ_API bj_status bj_two_level_text(const bj_block_jacobi* M, char* buffer, size_t size, size_t* length);

/* Block-Jacobi as the smoother of a multigrid by smoothed aggregation, for symmetric (Hermitian) positive definite
 * matrices: iterations hardly grow with the mesh. multigrid.hpp has the formulas. It is a bj_block_jacobi as well, for
 * every solver, and offers what one with a coarse level does: bj_block_jacobi_refresh sets up all levels, and
 * bj_block_jacobi_apply is one cycle. One call at a time. */

typedef struct bj_multigrid_options {
  int32_t coarsest;     /* rows of a coarser level from which on it is inverted, in 1..512; without more, A is left to
                           the blocks */
  int32_t relaxed;      /* relaxed vectors in place of ones, in 0..512; 0: ones, or `vectors` */
  int32_t unknowns;     /* of a node, in 1..512, dividing the rows; rows k unknowns + c are unknown c. Aggregates are of
                           nodes, with ones for each unknown; of rows where the numbering of the blocks parts nodes */
  int32_t vector_count; /* columns of vectors, in 1..512 */
  const void* vectors;  /* of the near-kernel, on the host, finite: column j from its element j ld on; null for none */
  int64_t ld;           /* of vectors, at least the rows */
  double symmetry_tolerance; /* the matrix is taken for symmetric (Hermitian) where |a_ij - conj(a_ji)| is at most this
                                times the largest of |a_ij|, |a_ji| and sqrt(|a_ii a_jj|), or 1000 epsilons of its
                                precision if that is more */
} bj_multigrid_options;

/* coarsest 512, ones, one unknown, no vectors, symmetry_tolerance 0. */
BJ_API bj_status bj_multigrid_options_init(bj_multigrid_options* options);
/* As bj_two_level_create, with all levels; fails with BJ_INVALID_ARGUMENT for a matrix that is not symmetric
 * (Hermitian) but for rounding. Of vectors, relaxed vectors and unknowns the same holds. Aggregates, Z and relaxations
 * are those for the values given here. */
BJ_API bj_status bj_multigrid_create(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition,
                                     const bj_block_jacobi_options* blocks, const bj_multigrid_options* options,
                                     bj_block_jacobi** M);

/* What set-up found. */
typedef struct bj_multigrid_report {
  int64_t bytes;       /* held in the backend's memory, beside blocks and matrix */
  double rcond;        /* reciprocal condition of the coarsest matrix, equilibrated */
  int32_t levels;      /* the matrix itself is one */
  int32_t is_singular; /* 1: a matrix below the first is singular but for rounding; pseudo-inverses are there */
  int32_t is_finite;   /* 0: a matrix below the first has NaN or Inf, and its diagonal is where inverses were */
  int32_t reserved;
} bj_multigrid_report;

/* One matrix of the hierarchy. */
typedef struct bj_multigrid_level {
  int64_t nnz;
  double relaxation; /* 4/3 over what was found for the largest eigenvalue of M^-1 A; 0 for the coarsest level */
  int32_t rows;
  int32_t reserved;
} bj_multigrid_level;

/* These wait, and fail with BJ_INVALID_ARGUMENT for M that is no multigrid. */
BJ_API bj_status bj_multigrid_get_report(const bj_block_jacobi* M, bj_multigrid_report* report);
/* Copies as many levels as the report says, the matrix itself first. */
BJ_API bj_status bj_multigrid_levels(const bj_block_jacobi* M, bj_multigrid_level* levels);
/* A line for each level. */
BJ_API bj_status bj_multigrid_text(const bj_block_jacobi* M, char* buffer, size_t size, size_t* length);

/* Operators: the matrix of a linear system. */

/* A matrix in the backend's space is used in place and must outlive the operator; a host matrix with a CUDA backend is
 * copied. */
BJ_API bj_status bj_operator_create_csr(const bj_backend* backend, const bj_csr* matrix, bj_operator** A);
/* The matrix in dense blocks of `block` rows and columns, 1..32, which divide its rows: a copy, for systems with that
 * many unknowns a node. */
BJ_API bj_status bj_operator_create_bsr(const bj_backend* backend, const bj_csr* matrix, int32_t block,
                                        bj_operator** A);
/* A copy of the matrix in the numbering of the partition's blocks, for solves with M of the same partition: they go the
 * whole way in that numbering, with b and x in the user's. The matrix has the partition's rows; it lies on the host or,
 * where the partition has no numbering of its own, also on the backend's device. */
BJ_API bj_status bj_operator_create_numbered(const bj_backend* backend, const bj_csr* matrix,
                                             const bj_partition* partition, bj_operator** A);
/* New values of the same pattern for an operator of bj_operator_create_bsr or _numbered, in the order of the matrix
 * given there. */
BJ_API bj_status bj_operator_refresh(bj_operator* A, const void* values, int64_t nnz, bj_space space);
/* y = A x by the caller's function, on vectors in the backend's space; on CUDA it enqueues its work on the backend's
 * stream. It returns 0, or another number to end the solve with BJ_CALLBACK_FAILED. */
typedef int32_t (*bj_product)(void* context, const void* x, void* y);
BJ_API bj_status bj_operator_create_function(const bj_backend* backend, int32_t rows, bj_scalar scalar,
                                             bj_product product, void* context, bj_operator** A);
BJ_API bj_status bj_operator_destroy(bj_operator* A);
/* y = A x. */
BJ_API bj_status bj_operator_apply(const bj_operator* A, const void* x, void* y, int32_t size, bj_space space);

/* Solvers. */

/* Returns 0 to go on, another number to stop. */
typedef int32_t (*bj_progress)(void* context, int32_t iteration, double residual, double target);

/* What rtol is relative to. */
typedef int32_t bj_relative_to;
enum { BJ_RELATIVE_TO_RHS = 0, BJ_RELATIVE_TO_INITIAL_RESIDUAL = 1 };

/* Precision of the basis that GMRES stores. */
typedef int32_t bj_basis;
enum { BJ_BASIS_WORKING = 0, BJ_BASIS_SINGLE = 1 };

/* Whether CG, BiCGSTAB and GMRES may take a whole CUDA device in one launch, where the system lives in its caches. Such
 * a launch waits until every multiprocessor has room, behind any long kernel, and other work waits for its end. */
typedef int32_t bj_resident;
enum { BJ_RESIDENT_AUTOMATIC = 0, BJ_RESIDENT_NEVER = 1 };

typedef struct bj_solve_options {
  double rtol;          /* relative to ||b||, or to ||b - A x0|| */
  double atol;          /* absolute; the larger of the two targets counts */
  double max_seconds;   /* 0 for no limit */
  double relaxation;    /* omega of Richardson iteration */
  bj_progress progress; /* called between batches of iterations; may be null */
  void* context;        /* of progress */
  double* history;      /* receives ||r|| before and after each iteration; may be null */
  int32_t history_capacity;
  int32_t max_iterations;
  int32_t restart; /* of GMRES */
  bj_relative_to relative_to;
  bj_basis basis; /* of GMRES */
  bj_resident resident;
} bj_solve_options;

typedef struct bj_solve_report {
  double rhs_norm;            /* ||b|| */
  double initial_residual;    /* ||b - A x0|| */
  double recurrence_residual; /* ||r|| as the recurrence has it at the end */
  double true_residual;       /* ||b - A x||, recomputed at the end, of a matrix in double whatever the scalar is */
  double seconds;
  bj_stop_reason reason;
  int32_t iterations;
  int32_t history_size; /* how many values there are, whatever the capacity was */
  int32_t reserved;
} bj_solve_report;

/* rtol 1e-8, 10000 iterations, restart 30, relaxation 1, nothing else. */
BJ_API bj_status bj_solve_options_init(bj_solve_options* options);
/* Preconditioned conjugate gradients and right-preconditioned GMRES(restart); their flexible variants, for functions as
 * operators that change; MINRES for symmetric (Hermitian) A, definite or not, and definite M;
 * right-preconditioned BiCGSTAB; damped Richardson iteration. x holds the initial guess and receives the solution; b
 * and x have `size` = rows elements on the host or in the backend's space. M may be null (no preconditioner) and has
 * A's backend, scalar and numbering; options may be null. A solve that does not converge is no error: look at
 * report->reason. */
BJ_API bj_status bj_cg(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, int32_t size,
                       bj_space space, const bj_solve_options* options, bj_solve_report* report);
BJ_API bj_status bj_gmres(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, int32_t size,
                          bj_space space, const bj_solve_options* options, bj_solve_report* report);
BJ_API bj_status bj_fcg(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, int32_t size,
                        bj_space space, const bj_solve_options* options, bj_solve_report* report);
BJ_API bj_status bj_fgmres(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, int32_t size,
                           bj_space space, const bj_solve_options* options, bj_solve_report* report);
BJ_API bj_status bj_minres(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, int32_t size,
                           bj_space space, const bj_solve_options* options, bj_solve_report* report);
BJ_API bj_status bj_bicgstab(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, int32_t size,
                             bj_space space, const bj_solve_options* options, bj_solve_report* report);
BJ_API bj_status bj_richardson(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, int32_t size,
                               bj_space space, const bj_solve_options* options, bj_solve_report* report);

/* The same for several columns at once, rows x columns with leading dimensions ldb and ldx, row-major if row_major is 1
 * (not on a device with a numbering) and column-major if it is 0; matrix and blocks are read once an iteration for all
 * of them. reports[c] is that of column c. Of the history of each column, options->history receives up to
 * history_capacity norms, from its element c history_capacity on. */
BJ_API bj_status bj_cg_columns(const bj_operator* A, const bj_block_jacobi* M, const void* b, int64_t ldb, void* x,
                               int64_t ldx, int32_t rows, int32_t columns, int32_t row_major, bj_space space,
                               const bj_solve_options* options, bj_solve_report* reports);
BJ_API bj_status bj_gmres_columns(const bj_operator* A, const bj_block_jacobi* M, const void* b, int64_t ldb, void* x,
                                  int64_t ldx, int32_t rows, int32_t columns, int32_t row_major, bj_space space,
                                  const bj_solve_options* options, bj_solve_report* reports);

/* Solves without a report on the host, to be recorded in the caller's CUDA graph and replayed with new values. */

/* The outcome, in the backend's memory. */
typedef struct bj_solve_status {
  bj_stop_reason reason;
  int32_t iterations;
  double rhs_norm;
  double initial_residual;
  double target; /* ||r|| that ends the solve */
  double recurrence_residual;
  double true_residual;
} bj_solve_status;

/* All that an enqueued solve needs, for CG or GMRES. A, what it refers to, and M, which may be null, must outlive it.
 * Of the options max_seconds and progress must not be set, and history is not written; null takes the defaults. A is
 * not a function. */
BJ_API bj_status bj_workspace_create_cg(const bj_operator* A, const bj_block_jacobi* M, const bj_solve_options* options,
                                        bj_workspace** workspace);
BJ_API bj_status bj_workspace_create_gmres(const bj_operator* A, const bj_block_jacobi* M,
                                           const bj_solve_options* options, bj_workspace** workspace);
BJ_API bj_status bj_workspace_destroy(bj_workspace* workspace);
/* Enqueues max_iterations iterations, of which those after the stop change nothing, and *status. b, x and status lie in
 * the backend's memory. */
BJ_API bj_status bj_enqueue(bj_workspace* workspace, const void* b, void* x, int32_t size, bj_space space,
                            bj_solve_status* status);
/* "converged", "max_iterations" and so on; "unknown" for other numbers. */
BJ_API const char* bj_stop_reason_name(bj_stop_reason reason);

/* Suggestions: which blocks to take, and whether with a coarse level or a multigrid. */

typedef int32_t bj_method;
enum { BJ_METHOD_CG = 0, BJ_METHOD_GMRES = 1 };

typedef struct bj_suggest_options {
  double rtol;          /* of the solves to come, in (0, 1) */
  double probe_share;   /* part of the predicted time to solution that probes may cost, in [0, 1] */
  double bandwidth;     /* bytes per second of the cost model; 0 takes the constant of the backend */
  double latency;       /* seconds per iteration; 0 as well */
  bj_method method;     /* of the solves to come */
  int32_t restart;      /* of GMRES */
  bj_singular singular; /* of the probes */
  int32_t unknowns;     /* of a node, in 1..512, dividing the rows; 1: not known */
  int32_t renumber;     /* 1: also blocks with a numbering of their own; else 0 */
  int32_t coarse;       /* 1: also a coarse level or a multigrid; else 0 */
} bj_suggest_options;

/* CG, rtol 1e-8, restart 30, BJ_SINGULAR_SCALAR_JACOBI, probe_share 0.1, one unknown, with renumber and coarse. */
BJ_API bj_status bj_suggest_options_init(bj_suggest_options* options);
/* Compares choices of blocks for solves with this matrix on this backend, by a cost model and by probes of the solver;
 * suggest.hpp says how. The matrix has values, on the host or on the backend's device, and is not referenced
 * afterwards; options may be null. Waits. */
BJ_API bj_status bj_suggest(const bj_backend* backend, const bj_csr* matrix, const bj_suggest_options* options,
                            bj_suggestion** suggestion);
BJ_API bj_status bj_suggestion_destroy(bj_suggestion* suggestion);
/* How many candidates there are, and the number of the one that is recommended; 0 is scalar Jacobi. */
BJ_API bj_status bj_suggestion_size(const bj_suggestion* suggestion, int32_t* candidates, int32_t* recommended);
/* A table, one line a candidate, and a sentence. */
BJ_API bj_status bj_suggestion_text(const bj_suggestion* suggestion, char* buffer, size_t size, size_t* length);
/* The same as one JSON object. */
BJ_API bj_status bj_suggestion_json(const bj_suggestion* suggestion, char* buffer, size_t size, size_t* length);
/* Makes what a candidate stands for, A by bj_operator_create_numbered and M by bj_block_jacobi_create_with,
 * bj_two_level_create or bj_multigrid_create; null takes the defaults of `blocks`, but BJ_SINGULAR_SCALAR_JACOBI. The
 * matrix is as these ask for: on the host where rows are renumbered. Waits. */
BJ_API bj_status bj_suggestion_make(const bj_suggestion* suggestion, int32_t candidate, const bj_backend* backend,
                                    const bj_csr* matrix, const bj_block_jacobi_options* blocks, bj_operator** A,
                                    bj_block_jacobi** M);

#ifdef __cplusplus
}
#endif
