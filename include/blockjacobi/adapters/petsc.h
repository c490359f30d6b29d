#pragma once

/* PETSc (3.18 or newer): block-Jacobi as a type of PC, for sequential and MPI matrices on any number of ranks. CMake
 * component `petsc`. After bj_petsc_register(), which goes between PetscInitialize and PCSetType or PCSetFromOptions:
 *
 *   -pc_type blockjacobi            or PCSetType(pc, PCBLOCKJACOBI)
 *   -pc_blockjacobi_size N          blocks of N rows on every rank, the last one shorter if need be
 *   -pc_blockjacobi_detect          blocks from the pattern
 *   -pc_blockjacobi_clusters        blocks of strongly coupled rows wherever they stand; the blocks that size or matrix
 *                                   state stay whole, see BlockPartition::clusters()
 *   -pc_blockjacobi_coarse none     or ones: a coarse level of the rows of each rank, as TwoLevel has it, additive;
 *                                   a vector for each unknown of a node, as MatSetBlockSize() has them; or
 *                                   near_nullspace: of the vectors of MatSetNearNullSpace(); or multigrid: levels of
 *                                   the rows of each rank, as Multigrid has them, of a Hermitian definite matrix, from
 *                                   those vectors where there are some, else from ones; none has a transpose
 *   -pc_blockjacobi_max_size 32     the largest block or cluster that is found, 1..512
 *   -pc_blockjacobi_singular fail   fail, identity, scalar_jacobi, shift or pseudo_inverse, see SingularPolicy
 *   -pc_blockjacobi_storage full    full, packed, fp32, bf16, fp16 or adaptive, see Storage
 *   -pc_blockjacobi_accuracy 0.1    of adaptive storage
 *   -pc_blockjacobi_l1 false        l1 block-Jacobi, see BlockJacobiOptions
 *   -pc_blockjacobi_threads 1       CPU threads of every rank where the host computes; what it analyses for a device
 *                                   takes those of OMP_NUM_THREADS
 *
 * Without size or detect the blocks are those of MatSetVariableBlockSizes(), else of MatSetBlockSize(), else detected.
 * Every rank inverts blocks of its own diagonal part: of an AIJ matrix in place, of other types that PETSc converts
 * after a conversion. PCMatApply() applies the inverses to all columns of a dense matrix at once. New values in the
 * same nonzero pattern repeat the numeric set-up alone, which allocates nothing. A block that the policy does not
 * accept ends a KSPSolve() with KSP_DIVERGED_PC_FAILED, on all ranks; PCView() names it. That holds for the PC of a
 * KSP; inside a PCCOMPOSITE the KSPSolve() ends with KSP_DIVERGED_NANORINF. Under -ksp_error_if_not_converged
 * PCSetUp() ends with an error on all ranks.
 *
 * A matrix in CUDA memory is taken where it lies, and so are the vectors; for vectors on the host the first application
 * makes the inverses there. Debian's PETSc has no CUDA. */

#include <petscpc.h>

#define PCBLOCKJACOBI "blockjacobi"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(BLOCKJACOBI_STATIC)
#define BJ_PETSC_API
#else
#define BJ_PETSC_API __attribute__((visibility("default")))
#endif

/* Registers the type; more than one call does no harm. */
BJ_PETSC_API PetscErrorCode bj_petsc_register(void);

#ifdef __cplusplus
}
#endif
