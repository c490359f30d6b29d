#pragma once

#include "core/csr_pattern.hpp"
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
  std::optional<L1Rows> l1;
};

/// Threads for work that only the host does.
int host_threads(const Backend& backend);

/// Whether the backend analyses a canonical pattern in its memory.
bool is_analyzed_in(const Backend& backend, const BlockPartition& partition);

/// By the backend, where it can and the pattern lies in its memory; else on the host, whatever memory it lies in.
/// Throws InvalidArgument for a matrix that fails validate().
template <Scalar T, Offset O>
Analysis analyze(const Backend& backend, const CsrView<T, O>& matrix, const BlockPartition& partition,
                 const BlockJacobiOptions& options);

/// The same for a canonical pattern, which is not checked; its fingerprint counts with check_pattern alone.
template <Scalar T, Offset O>
Analysis analyze_canonical(const Backend& backend, const CsrView<T, O>& matrix, const BlockPartition& partition,
                           const BlockJacobiOptions& options, std::uint64_t fingerprint);

}  // namespace blockjacobi::detail
