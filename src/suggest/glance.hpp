#pragma once

#include <blockjacobi/suggest.hpp>

#include <cstddef>
#include <optional>

namespace blockjacobi::detail {

/// The suggestion of a candidate without blocks.
Suggestion scalar_alone(BlockCandidate scalar, index_t rows);

/// Scalar Jacobi, where the look at others takes longer than it is worth: on CUDA with CG, whose iterations are few
/// microseconds. GMRES, which may not converge with it, is worth a look.
std::optional<Suggestion> without_a_look(const Backend& backend, index_t rows, offset_t nnz, std::size_t scalar_bytes,
                                         const SuggestOptions& options);

/// The same, and beside it a multigrid of a large diffusion, which the device tells at a glance. Waits.
template <Scalar T>
std::optional<Suggestion> at_a_glance(const SparseMatrix<T>& matrix, const SuggestOptions& options);

}  // namespace blockjacobi::detail
