#include "backend/host_coarse_ops.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

// The inverse of a coarse matrix on the host, computed in double precision whatever it is stored in.

namespace blockjacobi::detail {

namespace {

template <class W>
using Dense = Eigen::Matrix<W, Eigen::Dynamic, Eigen::Dynamic>;

/// The largest sum of a column, or NaN if there is one.
template <class W>
double one_norm(const Dense<W>& a) {
  double norm = 0.0;
  for (Eigen::Index j = 0; j < a.cols(); ++j)
    if (const double sum = a.col(j).cwiseAbs().sum(); !(sum <= norm)) norm = sum;
  return norm;
}

/// Inverts in place; 0, or the order of what is not definite or singular, as LAPACK's info.
template <class W>
int invert(Dense<W>& a, CoarseMatrixKind kind) {
  const Eigen::Index m = a.rows();
  if (kind == CoarseMatrixKind::definite) {
    const Eigen::LLT<Dense<W>> llt(a);
    if (llt.info() != Eigen::Success) return 1;
    a = llt.solve(Dense<W>::Identity(m, m));
    return 0;
  }
  const Eigen::PartialPivLU<Dense<W>> lu(a);
  for (Eigen::Index i = 0; i < m; ++i)
    if (lu.matrixLU()(i, i) == W(0)) return static_cast<int>(i) + 1;
  a = lu.inverse();
  return 0;
}

template <Scalar T>
class HostCoarseInverse final : public CoarseInverse<T> {
  using R = real_t<T>;
  using Wide = std::conditional_t<std::is_same_v<T, R>, double, std::complex<double>>;

 public:
  HostCoarseInverse(index_t order, CoarseMatrixKind kind)
      : order_(order),
        kind_(kind),
        scale_(static_cast<std::size_t>(order)),
        inverse_(elements()),
        single_(elements()) {}

  void refresh(const CsrView<compute_t<T>, std::int32_t>& e) override {
    Dense<Wide> a = scaled(e);
    const double norm = one_norm(a);
    info_ = std::isfinite(norm) ? invert(a, kind_) : -1;
    // What is finite in double precision may be too large for T.
    if (info_ == 0 && !a.template cast<T>().allFinite()) info_ = -1;
    if (info_ != 0) a.setZero();
    Eigen::Map<Dense<T>>(inverse_.data(), order_, order_) = a.template cast<T>();
    rcond_ = info_ == 0 ? 1.0 / (norm * one_norm(a)) : 0.0;
    is_single_ = rcond_ >= coarse_single_rcond ? 1 : 0;
    if (is_single_ != 0)
      Eigen::Map<Dense<single_t<T>>>(single_.data(), order_, order_) = a.template cast<single_t<T>>();
  }
  CoarseInverseView<T> view() const override {
    return {order_, compute_cast(inverse_.data()), compute_cast(single_.data()), &is_single_, scale_.data()};
  }
  std::size_t bytes() const override {
    return elements() * (sizeof(single_t<T>) + sizeof(T)) + scale_.size() * sizeof(R);
  }
  int info() const override { return info_; }
  double rcond() const override { return rcond_; }

 private:
  std::size_t elements() const { return static_cast<std::size_t>(order_) * static_cast<std::size_t>(order_); }

  /// E with ones on its diagonal, and a little more, which keeps what is singular but for rounding definite.
  Dense<Wide> scaled(const CsrView<compute_t<T>, std::int32_t>& e) {
    Dense<Wide> a = Dense<Wide>::Zero(order_, order_);
    for (index_t i = 0; i < order_; ++i)
      for (std::int32_t k = e.row_offsets[i]; k < e.row_offsets[i + 1]; ++k)
        compute_cast(&a(i, e.columns[k]))[0] = widen(e.values[k]);
    for (index_t i = 0; i < order_; ++i) {
      const R diagonal = static_cast<R>(std::abs(a(i, i)));
      scale_[static_cast<std::size_t>(i)] = diagonal > 0 && std::isfinite(diagonal) ? 1 / std::sqrt(diagonal) : R(1);
    }
    const auto d = Eigen::Map<const Eigen::Vector<R, Eigen::Dynamic>>(scale_.data(), order_).template cast<double>();
    a = d.asDiagonal() * a * d.asDiagonal();
    a.diagonal().array() += static_cast<double>(order_) * static_cast<double>(std::numeric_limits<R>::epsilon());
    return a;
  }

  index_t order_;
  CoarseMatrixKind kind_;
  std::vector<R> scale_;
  std::vector<T> inverse_;
  std::vector<single_t<T>> single_;
  int is_single_ = 0;
  int info_ = 0;
  double rcond_ = 0.0;
};

}  // namespace

template <Scalar T>
std::unique_ptr<CoarseInverse<T>> HostCoarseOps<T>::make_inverse(index_t order, CoarseMatrixKind kind) {
  return std::make_unique<HostCoarseInverse<T>>(order, kind);
}

template std::unique_ptr<CoarseInverse<float>> HostCoarseOps<float>::make_inverse(index_t, CoarseMatrixKind);
template std::unique_ptr<CoarseInverse<double>> HostCoarseOps<double>::make_inverse(index_t, CoarseMatrixKind);
template std::unique_ptr<CoarseInverse<std::complex<float>>> HostCoarseOps<std::complex<float>>::make_inverse(
    index_t, CoarseMatrixKind);
template std::unique_ptr<CoarseInverse<std::complex<double>>> HostCoarseOps<std::complex<double>>::make_inverse(
    index_t, CoarseMatrixKind);

}  // namespace blockjacobi::detail
