#pragma once

#include <blockjacobi/array.hpp>
#include <blockjacobi/block_jacobi.hpp>

namespace blockjacobi::detail {

/// What a few iterations with M leave of the error: `count` vectors, ones and random ones, from which the solver takes
/// what it reduces soonest. 15 iterations each of CG where A is Hermitian definite, else of GMRES. rows x count, row by
/// row. Waits.
template <Scalar T>
Array<T> relaxed_vectors(const SparseMatrix<T>& matrix, const BlockJacobi<T>& M, index_t count);

}  // namespace blockjacobi::detail
