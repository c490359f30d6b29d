#include "capi/coarse_system.hpp"

#include <algorithm>

namespace blockjacobi::capi {

namespace {

void require_near_kernel(const NearKernelOptions& wanted, index_t rows) {
  if (wanted.unknowns < 1 || wanted.unknowns > max_block_size || rows % wanted.unknowns != 0)
    throw InvalidArgument(
        message("unknowns is {}, must be in 1..{} and divide the {} rows", wanted.unknowns, max_block_size, rows));
  if (wanted.vectors == nullptr) return;
  if (wanted.vector_count < 1 || wanted.vector_count > max_block_size)
    throw InvalidArgument(message("vector_count is {}, must be in 1..{}", wanted.vector_count, max_block_size));
  if (wanted.ld < rows) throw InvalidArgument(message("ld is {}, must be at least the {} rows", wanted.ld, rows));
}

/// By columns: the user's vectors, or ones for each unknown of a node.
template <Scalar T>
NearKernel<T> near_kernel_of(const NearKernelOptions& wanted, index_t rows) {
  NearKernel<T> vectors{rows, wanted.vectors != nullptr ? wanted.vector_count : wanted.unknowns, {}};
  const auto n = static_cast<std::size_t>(rows);
  const auto count = static_cast<std::size_t>(vectors.cols);
  vectors.values.assign(n * count, T(0));
  if (wanted.vectors != nullptr) {
    const T* from = static_cast<const T*>(wanted.vectors);
    for (std::size_t j = 0; j < count; ++j)
      std::copy_n(from + static_cast<offset_t>(j) * wanted.ld, n,
                  vectors.values.begin() + static_cast<offset_t>(j * n));
  } else {
    for (std::size_t i = 0; i < n; ++i) vectors.values[i + i % count * n] = T(1);
  }
  return vectors;
}

template <Scalar T>
CoarseSystem<T> blocks_of(SparseMatrix<T> matrix, std::shared_ptr<Numbering<T>> numbering,
                          const bj_partition& partition, const BlockJacobiOptions& options,
                          const NearKernelOptions& wanted) {
  const auto make = [&](const BlockJacobiOptions& o) { return BlockJacobi<T>(matrix, partition.value, o); };
  BlockJacobi<T> jacobi = numbering ? named_by_user_rows(numbering->permutation(), options, make) : make(options);
  const bool ones_are_told = wanted.relaxed > 0 || matrix.block_size().value_or(1) == wanted.unknowns;
  std::optional<NearKernel<T>> near_kernel;
  if (wanted.vectors != nullptr || !ones_are_told) {
    near_kernel = near_kernel_of<T>(wanted, matrix.rows());
    if (numbering) near_kernel = near_kernel->to_permuted(numbering->permutation());
  }
  return {std::move(matrix), std::move(jacobi), std::move(near_kernel), std::move(numbering)};
}

}  // namespace

OfAnyScalar<CoarseSystem> make_coarse_system(const Backend& backend, const bj_csr* matrix,
                                             const bj_partition& partition, const BlockJacobiOptions& options,
                                             const NearKernelOptions& wanted, double symmetry_tolerance) {
  return with_csr(matrix, [&]<class T, class O>(const CsrView<T, O>& view) -> OfAnyScalar<CoarseSystem> {
    if (view.values == nullptr && view.nnz > 0)
      throw InvalidArgument(message("the matrix has {} entries but no values", view.nnz));
    require_near_kernel(wanted, view.rows);
    SparseMatrixOptions stated;
    stated.symmetry_tolerance = symmetry_tolerance;
    const std::optional<Permutation>& order = partition.permutation;
    if (!order || keeps_nodes(*order, wanted.unknowns)) stated.block_size = wanted.unknowns;
    if (!order) return blocks_of(SparseMatrix<T>(backend, view, stated), {}, partition, options, wanted);
    const Renumbered<T> system(backend, view, *order);
    return blocks_of(SparseMatrix<T>(backend, system.matrix.view(), stated), system.numbering, partition, options,
                     wanted);
  });
}

}  // namespace blockjacobi::capi
