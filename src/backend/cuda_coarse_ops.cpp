#include "backend/cuda_coarse_ops.hpp"

#include "backend/cuda_check.hpp"
#include "kernels/coarse/launch.hpp"
#include "kernels/coarse/policy.hpp"

#include <cusolverDn.h>

#include <algorithm>
#include <limits>

namespace blockjacobi::detail {

namespace {

/// cuSOLVER's functions by scalar.
template <Scalar T>
struct Solver;
template <>
struct Solver<float> {
  using Element = float;
  static constexpr auto lu_size = cusolverDnSgetrf_bufferSize;
  static constexpr auto lu = cusolverDnSgetrf;
  static constexpr auto lu_solve = cusolverDnSgetrs;
  static constexpr auto cholesky_size = cusolverDnSpotrf_bufferSize;
  static constexpr auto cholesky = cusolverDnSpotrf;
  static constexpr auto cholesky_solve = cusolverDnSpotrs;
};
template <>
struct Solver<double> {
  using Element = double;
  static constexpr auto lu_size = cusolverDnDgetrf_bufferSize;
  static constexpr auto lu = cusolverDnDgetrf;
  static constexpr auto lu_solve = cusolverDnDgetrs;
  static constexpr auto cholesky_size = cusolverDnDpotrf_bufferSize;
  static constexpr auto cholesky = cusolverDnDpotrf;
  static constexpr auto cholesky_solve = cusolverDnDpotrs;
};
template <>
struct Solver<std::complex<float>> {
  using Element = cuComplex;
  static constexpr auto lu_size = cusolverDnCgetrf_bufferSize;
  static constexpr auto lu = cusolverDnCgetrf;
  static constexpr auto lu_solve = cusolverDnCgetrs;
  static constexpr auto cholesky_size = cusolverDnCpotrf_bufferSize;
  static constexpr auto cholesky = cusolverDnCpotrf;
  static constexpr auto cholesky_solve = cusolverDnCpotrs;
};
template <>
struct Solver<std::complex<double>> {
  using Element = cuDoubleComplex;
  static constexpr auto lu_size = cusolverDnZgetrf_bufferSize;
  static constexpr auto lu = cusolverDnZgetrf;
  static constexpr auto lu_solve = cusolverDnZgetrs;
  static constexpr auto cholesky_size = cusolverDnZpotrf_bufferSize;
  static constexpr auto cholesky = cusolverDnZpotrf;
  static constexpr auto cholesky_solve = cusolverDnZpotrs;
};

template <Scalar T>
class CudaCoarseInverse final : public CoarseInverse<T> {
  using C = compute_t<T>;
  using R = real_t<T>;
  using Element = typename Solver<T>::Element;

 public:
  CudaCoarseInverse(CudaContext& context, index_t order, CoarseMatrixKind kind)
      : context_(context),
        order_(order),
        kind_(kind),
        factors_(context, elements() * sizeof(T)),
        inverse_(context, elements() * sizeof(T)),
        single_(context, elements() * sizeof(single_t<T>)),
        scale_(context, size() * sizeof(R)),
        sums_(context, 2 * size() * sizeof(R)),
        pivots_(context, size() * sizeof(int)),
        info_(context, 3 * sizeof(int)),
        rcond_(context, sizeof(double)) {
    const DeviceGuard guard(context_.device());
    int words = 0;
    if (kind_ == CoarseMatrixKind::definite)
      check(Solver<T>::cholesky_size(context_.cusolver(), lower, order_, element(factors_), order_, &words),
            "cusolverDn potrf_bufferSize");
    else
      check(Solver<T>::lu_size(context_.cusolver(), order_, order_, element(factors_), order_, &words),
            "cusolverDn getrf_bufferSize");
    work_words_ = words;
    work_ = CudaMemory(context_, work_bytes());
  }

  void refresh(const CsrView<C, std::int32_t>& e) override {
    const DeviceGuard guard(context_.device());
    CUstream_st* const stream = context_.stream();
    const R shift = static_cast<R>(order_) * std::numeric_limits<R>::epsilon();
    kernels::coarse_equilibrate(e, shift, scale(), compute(factors_), stream);
    kernels::coarse_column_sums(order_, compute(factors_), sums(), stream);
    kernels::coarse_identity(order_, compute(inverse_), stream);
    invert();
    kernels::coarse_column_sums(order_, compute(inverse_), sums() + order_, stream);
    kernels::coarse_outcome(order_, sums(), sums() + order_, info_words(), static_cast<double*>(rcond_.data()),
                            coarse_single_rcond, is_single(), stream);
    kernels::coarse_finish(order_, compute(inverse_), info_words(), is_single(), compute_cast(single()), stream);
  }

  CoarseInverseView<T> view() const override {
    return {order_, compute(inverse_), compute_cast(single()), is_single(), scale()};
  }
  std::size_t bytes() const override {
    return elements() * (2 * sizeof(T) + sizeof(single_t<T>)) + 3 * size() * sizeof(R) + size() * sizeof(int) +
           work_bytes();
  }
  int info() const override { return read<int>(info_); }
  double rcond() const override { return read<double>(rcond_); }

 private:
  static constexpr cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;

  /// Of what is an identity before.
  void invert() {
    const cusolverDnHandle_t solver = context_.cusolver();
    Element* const a = element(factors_);
    Element* const x = element(inverse_);
    int* const info = info_words();
    if (kind_ == CoarseMatrixKind::definite) {
      check(Solver<T>::cholesky(solver, lower, order_, a, order_, element(work_), work_words_, info),
            "cusolverDn potrf");
      check(Solver<T>::cholesky_solve(solver, lower, order_, order_, a, order_, x, order_, info + 1),
            "cusolverDn potrs");
    } else {
      int* const pivots = static_cast<int*>(pivots_.data());
      check(Solver<T>::lu(solver, order_, order_, a, order_, element(work_), pivots, info), "cusolverDn getrf");
      check(Solver<T>::lu_solve(solver, CUBLAS_OP_N, order_, order_, a, order_, pivots, x, order_, info + 1),
            "cusolverDn getrs");
    }
  }

  std::size_t size() const { return static_cast<std::size_t>(order_); }
  std::size_t work_bytes() const { return static_cast<std::size_t>(work_words_) * sizeof(T); }
  /// Of the factorization; of the solve, which speaks of its arguments alone; and whether X is read in single
  /// precision.
  int* info_words() const { return static_cast<int*>(info_.data()); }
  int* is_single() const { return info_words() + 2; }
  std::size_t elements() const { return size() * size(); }
  C* compute(const CudaMemory& memory) const { return static_cast<C*>(memory.data()); }
  Element* element(const CudaMemory& memory) const { return static_cast<Element*>(memory.data()); }
  single_t<T>* single() const { return static_cast<single_t<T>*>(single_.data()); }
  R* scale() const { return static_cast<R*>(scale_.data()); }
  R* sums() const { return static_cast<R*>(sums_.data()); }
  template <class V>
  V read(const CudaMemory& memory) const {
    return context_.read(static_cast<const V*>(memory.data()));
  }

  CudaContext& context_;
  index_t order_;
  CoarseMatrixKind kind_;
  CudaMemory factors_, inverse_, single_, scale_, sums_, pivots_, info_, rcond_, work_;
  int work_words_ = 0;
};

}  // namespace

template <Scalar T>
void solve_coarse(const CudaContext& context, const CoarseView<T>& coarse, const compute_t<T>* r, const compute_t<T>* y,
                  const int* stop) {
  kernels::coarse_restrict(coarse.restriction, r, coarse.left_product, y, coarse.pieces, coarse.partials, stop,
                           context.stream());
  kernels::coarse_solve(coarse.inverse, coarse.pieces, coarse.partials, coarse.correction, stop, context.stream());
}

template <Scalar T>
std::unique_ptr<CoarseInverse<T>> CudaCoarseOps<T>::make_inverse(index_t order, CoarseMatrixKind kind) {
  return std::make_unique<CudaCoarseInverse<T>>(context_, order, kind);
}

template <Scalar T>
index_t CudaCoarseOps<T>::pieces(index_t order, offset_t entries) const {
  return kernels::coarse_pieces(order, entries);
}

template <Scalar T>
void CudaCoarseOps<T>::solve(const CoarseView<T>& coarse, const C* r, const C* y) {
  const DeviceGuard guard(context_.device());
  solve_coarse(context_, coarse, r, y, nullptr);
}

template <Scalar T>
void CudaCoarseOps<T>::prolong(const CoarseView<T>& coarse, const C* in, C* z) {
  const DeviceGuard guard(context_.device());
  kernels::coarse_prolong(coarse.basis, static_cast<const C*>(coarse.correction), in, z, context_.stream());
}

template <Scalar T>
void CudaCoarseOps<T>::subtract_product(const CsrView<C, std::int32_t>& matrix, const C* c, const C* in, C* out) {
  const DeviceGuard guard(context_.device());
  kernels::coarse_subtract_product(matrix, c, in, out, context_.stream());
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                               \
  template void solve_coarse(const CudaContext&, const CoarseView<T>&, const compute_t<T>*, const compute_t<T>*, \
                             const int*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

template class CudaCoarseOps<float>;
template class CudaCoarseOps<double>;
template class CudaCoarseOps<std::complex<float>>;
template class CudaCoarseOps<std::complex<double>>;

}  // namespace blockjacobi::detail
