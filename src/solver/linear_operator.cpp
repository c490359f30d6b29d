#include <blockjacobi/linear_operator.hpp>

#include "backend/backend_impl.hpp"
#include "backend/require.hpp"
#include "core/message.hpp"
#include "solver/callback.hpp"

#include <limits>

namespace blockjacobi {

namespace {

/// A CSR operator with the arrays it refers to.
template <Scalar T, Offset O>
class OwnedCsr final : public detail::OperatorImpl<T> {
 public:
  OwnedCsr(const Backend& backend, const CsrView<T>& host, const std::vector<O>& offsets)
      : offsets_(backend, offsets),
        columns_(backend, static_cast<std::size_t>(host.nnz)),
        values_(backend, static_cast<std::size_t>(host.nnz)) {
    columns_.copy_from_host(host.columns);
    values_.copy_from_host(host.values);
    const CsrView<T, O> view{host.rows,       host.cols,      host.nnz,  offsets_.data(),
                             columns_.data(), values_.data(), host.base, backend.memory_space()};
    csr_ = detail::krylov_ops<T>(backend).make_csr(view);
  }
  index_t rows() const override { return csr_->rows(); }
  bool capturable() const override { return csr_->capturable(); }
  void apply(const T* x, T* y) const override { csr_->apply(x, y); }
  const detail::OperatorImpl<T>& core() const override { return csr_->core(); }

 private:
  Array<O> offsets_;
  Array<index_t> columns_;
  Array<T> values_;
  std::unique_ptr<detail::OperatorImpl<T>> csr_;
};

/// Copies a host matrix to the backend, with 32-bit offsets where they suffice.
template <Scalar T, Offset O>
std::shared_ptr<const detail::OperatorImpl<T>> upload(const Backend& backend, const CsrView<T, O>& m) {
  const std::span<const O> offsets(m.row_offsets, static_cast<std::size_t>(m.rows) + 1);
  const CsrView<T> host{m.rows, m.cols, m.nnz, nullptr, m.columns, m.values, m.base, m.space};
  if (m.nnz < std::numeric_limits<std::int32_t>::max())
    return std::make_shared<OwnedCsr<T, std::int32_t>>(backend, host,
                                                       std::vector<std::int32_t>(offsets.begin(), offsets.end()));
  return std::make_shared<OwnedCsr<T, std::int64_t>>(backend, host,
                                                     std::vector<std::int64_t>(offsets.begin(), offsets.end()));
}

template <Scalar T, Offset O>
std::shared_ptr<const detail::OperatorImpl<T>> make_operator(const Backend& backend, const CsrView<T, O>& matrix) {
  detail::require_arrays("LinearOperator", matrix);
  if (matrix.rows != matrix.cols)
    throw InvalidArgument(
        detail::message("LinearOperator: the matrix is {} x {}, must be square", matrix.rows, matrix.cols));
  if (matrix.nnz > 0 && matrix.values == nullptr)
    throw InvalidArgument(detail::message("LinearOperator: the matrix has {} entries but no values", matrix.nnz));
  if (matrix.space == MemorySpace::host) validate(matrix);
  if (matrix.space == backend.memory_space()) return detail::krylov_ops<T>(backend).make_csr(matrix);
  if (matrix.space == MemorySpace::device)
    throw InvalidArgument(
        detail::message("LinearOperator: the matrix lies on the device, the backend is {}", backend.description()));
  return upload(backend, matrix);
}

}  // namespace

template <Scalar T>
template <Offset O>
LinearOperator<T>::LinearOperator(const Backend& backend, const CsrView<T, O>& matrix)
    : backend_(backend), impl_(make_operator(backend, matrix)) {}

template <Scalar T>
LinearOperator<T>::LinearOperator(const BsrMatrix<T>& matrix) : backend_(matrix.backend()), impl_(matrix.impl()) {}

template <Scalar T>
LinearOperator<T>::LinearOperator(const Backend& backend, index_t rows, VectorFunction<T> product, Capture capture)
    : backend_(backend) {
  if (rows < 0) throw InvalidArgument(detail::message("LinearOperator: rows is {}, must be >= 0", rows));
  if (!product) throw InvalidArgument("LinearOperator: the function is empty");
  impl_ = std::make_shared<detail::Callback<detail::OperatorImpl<T>, T>>(backend.memory_space(), rows,
                                                                         std::move(product), capture);
}

template <Scalar T>
index_t LinearOperator<T>::rows() const noexcept {
  return impl_->rows();
}

template <Scalar T>
void LinearOperator<T>::apply(VectorView<const T> x, VectorView<T> y) const {
  detail::require_vector("LinearOperator::apply: x", x, rows());
  detail::require_vector("LinearOperator::apply: y", y, rows());
  detail::require_space("LinearOperator::apply: x", x, backend_);
  detail::require_space("LinearOperator::apply: y", y, backend_);
  detail::require_disjoint("LinearOperator::apply", x, y);
  impl_->apply(x.data, y.data);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                                \
  template class LinearOperator<T>;                                                                               \
  template BLOCKJACOBI_EXPORT LinearOperator<T>::LinearOperator(const Backend&, const CsrView<T, std::int32_t>&); \
  template BLOCKJACOBI_EXPORT LinearOperator<T>::LinearOperator(const Backend&, const CsrView<T, std::int64_t>&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
