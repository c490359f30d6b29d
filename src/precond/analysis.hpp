#pragma once

#include "precond/l1_values.hpp"
#include "precond/position_map.hpp"

#include <blockjacobi/block_jacobi.hpp>

#include <cstdint>
#include <optional>

namespace blockjacobi::detail {

/// What pattern analysis found.
struct Analysis {
  BlockLayout layout;
  offset_t nnz;
  std::uint64_t fingerprint;
  BackendMap map;
  std::optional<L1Pattern> l1;
};

template <Scalar T, Offset O>
CsrView<const void, O> pattern_of(const CsrView<T, O>& matrix) {
  return {matrix.rows, matrix.cols, matrix.nnz, matrix.row_offsets, matrix.columns, nullptr, matrix.base, matrix.space};
}

/// Threads for work that only the host does.
int host_threads(const Backend& backend);

/// By the backend, where it can and the pattern lies in its memory; else on the host, whatever memory it lies in.
/// Throws InvalidArgument for a matrix that fails validate().
template <Scalar T, Offset O>
Analysis analyze(const Backend& backend, const CsrView<T, O>& matrix, const BlockPartition& partition,
                 const BlockJacobiOptions& options);

}  // namespace blockjacobi::detail
