#include "backend/host_coarse_ops.hpp"

#include "backend/host_rows.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <cmath>
#include <limits>
#include <vector>

namespace blockjacobi::detail {

namespace {

/// Products with fewer rows of a dense matrix, or fewer entries of a sparse one, are not worth the threads.
constexpr index_t few_rows = 64;
constexpr offset_t few_entries = 1024;

template <Scalar T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// Row i of A x; without values A has ones.
template <class C>
C row_product(const CsrView<C, std::int32_t>& a, index_t i, const C* x) {
  C sum{};
  for (std::int32_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k)
    sum += a.values != nullptr ? a.values[k] * x[a.columns[k]] : x[a.columns[k]];
  return sum;
}

template <Scalar T>
class HostCoarseInverse final : public CoarseInverse<T> {
  using R = real_t<T>;

 public:
  HostCoarseInverse(index_t order, CoarseMatrixKind kind)
      : kind_(kind), scale_(static_cast<std::size_t>(order)), inverse_(order, order), single_(order, order) {}

  void refresh(const CsrView<compute_t<T>, std::int32_t>& e) override {
    inverse_.setZero();
    for (index_t i = 0; i < e.rows; ++i)
      for (std::int32_t k = e.row_offsets[i]; k < e.row_offsets[i + 1]; ++k)
        compute_cast(&inverse_(i, e.columns[k]))[0] = e.values[k];
    for (index_t i = 0; i < e.rows; ++i) {
      const R diagonal = std::abs(inverse_(i, i));
      scale_[static_cast<std::size_t>(i)] = diagonal > 0 && std::isfinite(diagonal) ? 1 / std::sqrt(diagonal) : R(1);
    }
    const Eigen::Map<const Eigen::Matrix<R, Eigen::Dynamic, 1>> d(scale_.data(), e.rows);
    inverse_ = d.asDiagonal() * inverse_ * d.asDiagonal();
    inverse_.diagonal().array() += T(static_cast<R>(e.rows) * std::numeric_limits<R>::epsilon());
    const R norm = one_norm();
    info_ = std::isfinite(norm) ? invert() : -1;
    if (info_ == 0 && !inverse_.allFinite()) info_ = -1;
    if (info_ != 0) inverse_.setZero();
    rcond_ = info_ == 0 ? static_cast<double>(1 / (norm * one_norm())) : 0.0;
    is_single_ = rcond_ >= coarse_single_rcond ? 1 : 0;
    if (is_single_ != 0) single_ = inverse_.template cast<single_t<T>>();
  }
  CoarseInverseView<T> view() const override {
    return {static_cast<index_t>(inverse_.rows()), compute_cast(inverse_.data()), compute_cast(single_.data()),
            &is_single_, scale_.data()};
  }
  std::size_t bytes() const override {
    return static_cast<std::size_t>(inverse_.size()) * (sizeof(single_t<T>) + sizeof(T)) + scale_.size() * sizeof(R);
  }
  int info() const override { return info_; }
  double rcond() const override { return rcond_; }

 private:
  R one_norm() const {  // the largest sum, or NaN if there is one
    R norm = 0;
    for (Eigen::Index j = 0; j < inverse_.cols(); ++j)
      if (const R sum = inverse_.col(j).cwiseAbs().sum(); !(sum <= norm)) norm = sum;
    return norm;
  }
  int invert() {
    const Eigen::Index m = inverse_.rows();
    if (kind_ == CoarseMatrixKind::definite) {
      const Eigen::LLT<Dense<T>> llt(inverse_);
      if (llt.info() != Eigen::Success) return 1;
      inverse_ = llt.solve(Dense<T>::Identity(m, m));
      return 0;
    }
    const Eigen::PartialPivLU<Dense<T>> lu(inverse_);
    for (Eigen::Index i = 0; i < m; ++i)
      if (lu.matrixLU()(i, i) == T(0)) return static_cast<int>(i) + 1;
    inverse_ = lu.inverse();
    return 0;
  }

  CoarseMatrixKind kind_;
  std::vector<R> scale_;
  Dense<T> inverse_;
  Dense<single_t<T>> single_;
  int is_single_ = 0;
  int info_ = 0;
  double rcond_ = 0.0;
};

/// c = D X D s.
template <class C, class S, class R>
void multiply(index_t m, const S* x, const R* scale, const C* s, C* c, int threads) {
  constexpr index_t chunk = 64;
#pragma omp parallel for num_threads(threads) schedule(static) if (m > few_rows)
  for (index_t first = 0; first < m; first += chunk) {
    const index_t rows = std::min(chunk, m - first);
    C sums[chunk] = {};
    for (index_t j = 0; j < m; ++j) {
      const C factor = scale != nullptr ? scale[j] * s[j] : s[j];
      const S* const column = x + offset_t{j} * m + first;
      for (index_t i = 0; i < rows; ++i) sums[i] += convert<C>(column[i]) * factor;
    }
    for (index_t i = 0; i < rows; ++i) c[first + i] = scale != nullptr ? scale[first + i] * sums[i] : sums[i];
  }
}

}  // namespace

template <Scalar T>
std::unique_ptr<CoarseInverse<T>> HostCoarseOps<T>::make_inverse(index_t order, CoarseMatrixKind kind) {
  return std::make_unique<HostCoarseInverse<T>>(order, kind);
}

template <Scalar T>
void HostCoarseOps<T>::solve(const CoarseView<T>& coarse, const T* r, const T* y) {
  C* const s = coarse.partials;
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 8) if (coarse.restriction.nnz > few_entries)
  for (index_t c = 0; c < coarse.restriction.rows; ++c) {
    s[c] = row_product(coarse.restriction, c, compute_cast(r));
    if (y != nullptr) s[c] -= row_product(coarse.product, c, compute_cast(y));
  }
  const CoarseInverseView<T>& inverse = coarse.inverse;
  if (inverse.single != nullptr && *inverse.is_single != 0)
    multiply(inverse.order, inverse.single, inverse.scale, s, coarse.correction, threads_);
  else
    multiply(inverse.order, inverse.full, inverse.scale, s, coarse.correction, threads_);
}

template <Scalar T>
void HostCoarseOps<T>::prolong(const CoarseView<T>& coarse, const T* in, T* z) {
  const C* const begin = compute_cast(in);
  C* const end = compute_cast(z);
  for_rows(coarse.basis.rows, threads_, [&](index_t i) {
    const C sum = prolonged(coarse.basis, i, static_cast<const C*>(coarse.correction));
    end[i] = begin != nullptr ? begin[i] + sum : sum;
  });
}

template <Scalar T>
void HostCoarseOps<T>::subtract_product(const CsrView<C, std::int32_t>& matrix, const C* c, const T* in, T* out) {
  for_rows(matrix.rows, threads_,
           [&](index_t i) { compute_cast(out)[i] = compute_cast(in)[i] - row_product(matrix, i, c); });
}

template class HostCoarseOps<float>;
template class HostCoarseOps<double>;
template class HostCoarseOps<std::complex<float>>;
template class HostCoarseOps<std::complex<double>>;

}  // namespace blockjacobi::detail
