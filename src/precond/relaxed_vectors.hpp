#pragma once

#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/near_kernel.hpp>

namespace blockjacobi::detail {

/// What a few iterations with M leave of the error: `count` vectors, ones and random ones, from which the solver takes
/// what it reduces soonest. 15 iterations each of CG where A is Hermitian definite, else of GMRES. Waits.
template <Scalar T>
NearKernel<T> relaxed_vectors(const SparseMatrix<T>& matrix, const BlockJacobi<T>& M, index_t count);

}  // namespace blockjacobi::detail
