#pragma once

#include "capi/handles.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace blockjacobi::capi {

/// The near-kernel as the options of a coarse level and of a multigrid describe it.
struct NearKernelOptions {
  template <class Options>
  explicit NearKernelOptions(const Options& o)
      : vectors(o.vectors), ld(o.ld), vector_count(o.vector_count), unknowns(o.unknowns), relaxed(o.relaxed) {}

  const void* vectors;
  std::int64_t ld;
  std::int32_t vector_count, unknowns, relaxed;
};

/// What a TwoLevel and a Multigrid are made of, in the numbering of the blocks.
template <Scalar T>
struct CoarseSystem {
  SparseMatrix<T> matrix;
  BlockJacobi<T> jacobi;
  /// Where the matrix itself does not tell it.
  std::optional<NearKernel<T>> near_kernel;
  std::shared_ptr<Numbering<T>> numbering;
};

OfAnyScalar<CoarseSystem> make_coarse_system(const Backend& backend, const bj_csr* matrix,
                                             const bj_partition& partition, const BlockJacobiOptions& options,
                                             const NearKernelOptions& wanted, double symmetry_tolerance = 0.0);

/// A TwoLevel or a Multigrid of it.
template <template <class> class Kind, class Options>
std::unique_ptr<bj_block_jacobi> make_coarse(OfAnyScalar<CoarseSystem> system, const Options& options) {
  return std::visit(
      [&]<class T>(CoarseSystem<T>& s) {
        Kind<T> kind = s.near_kernel ? Kind<T>(s.matrix, std::move(s.jacobi), s.near_kernel->view(), options)
                                     : Kind<T>(s.matrix, std::move(s.jacobi), options);
        return std::unique_ptr<bj_block_jacobi>(
            new bj_block_jacobi{HeldPreconditioner<T>{std::move(kind), std::move(s.matrix), std::move(s.numbering)}});
      },
      system);
}

}  // namespace blockjacobi::capi
