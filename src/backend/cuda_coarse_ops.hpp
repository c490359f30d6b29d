#pragma once

#include "backend/coarse_ops.hpp"
#include "backend/cuda_context.hpp"

namespace blockjacobi::detail {

/// The coarse level by kernels/coarse; the factorization of a large E is cuSOLVER's.
template <Scalar T>
class CudaCoarseOps final : public CoarseOps<T> {
  using C = compute_t<T>;

 public:
  explicit CudaCoarseOps(CudaContext& context) : context_(context) {}

  Aggregates aggregate(const Backend& backend, const AnyCsrView<T>& matrix, const BlockPartition& blocks,
                       index_t count) override;
  Aggregates neighbourhoods(const Backend& backend, const AnyCsrView<T>& matrix, const BlockPartition& blocks,
                            double share) override;
  CoarseSpace<T> ones(const Backend& backend, const Aggregates& aggregates, index_t components) override;
  CoarseSpace<T> orthonormal(const Backend& backend, const Aggregates& aggregates, const Array<T>& vectors,
                             index_t count) override;
  CoarsePatterns patterns(const Backend& backend, CoarseSide side, const AnyCsrView<T>& matrix,
                          const CoarseSpace<T>& z) override;
  void fill_restriction(const CoarsePattern& restriction, const CoarseBasis<T>& z, C* values) override;
  void multiply(const CoarsePatterns& patterns, const CoarseBasis<T>& z, const C* values, C* product, C* e) override;
  std::unique_ptr<CoarseInverse<T>> make_inverse(index_t order, CoarseMatrixKind kind) override;
  index_t pieces(index_t order, offset_t entries) const override;
  void solve(const CoarseView<T>& coarse, const C* r, const C* y) override;
  void prolong(const CoarseView<T>& coarse, const C* in, C* z) override;
  CoarseMatrix<T> rows_of(const Backend& backend, const CoarseSpace<T>& z) override;
  CoarsePattern product_pattern(const Backend& backend, const AnyCsrView<T>& a, const CoarsePattern& b) override;
  void multiply(const AnyCsrView<T>& a, const CsrView<C, std::int32_t>& b, const CoarsePattern& product,
                C* values) override;
  std::pair<CoarsePattern, Array<std::int32_t>> transposed(const Backend& backend,
                                                           const CoarsePattern& pattern) override;
  void conjugate(const Array<std::int32_t>& order, const C* from, C* to) override;
  void smooth(const AnyCsrView<T>& a, const CoarseBasis<T>& z, real_t<T> relaxation, const CoarsePattern& p,
              C* values) override;
  void rounding_scales(const AnyCsrView<T>& a, real_t<T>* rounding_scales) override;
  void restrict_rounding_scales(const CsrView<C, std::int32_t>& adjoint, const real_t<T>* fine,
                                real_t<T>* coarse) override;
  void add_product(const CsrView<C, std::int32_t>& matrix, const C* c, C* x) override;
  void subtract_product(const CsrView<C, std::int32_t>& matrix, const C* c, const C* in, C* out) override;

 private:
  CudaContext& context_;
};

/// CoarseOps::solve(), where `stop` is not null only while *stop is 0.
template <Scalar T>
void solve_coarse(const CudaContext& context, const CoarseView<T>& coarse, const compute_t<T>* r, const compute_t<T>* y,
                  const int* stop);

}  // namespace blockjacobi::detail
