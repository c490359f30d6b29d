#include <blockjacobi/linear_operator.hpp>

#include "backend/backend_impl.hpp"
#include "backend/require.hpp"
#include "core/csr_pattern.hpp"
#include "core/message.hpp"
#include "core/sparse_matrix_impl.hpp"
#include "solver/callback.hpp"

namespace blockjacobi {

namespace {

void require_square(index_t rows, index_t cols) {
  if (rows != cols)
    throw InvalidArgument(detail::message("LinearOperator: the matrix is {} x {}, must be square", rows, cols));
}

/// The product that the matrix keeps, which keeps the matrix.
template <Scalar T>
std::shared_ptr<const detail::OperatorImpl<T>> product_of(const SparseMatrix<T>& matrix) {
  require_square(matrix.rows(), matrix.cols());
  return {matrix.impl(), &matrix.impl()->product()};
}

template <Scalar T, Offset O>
std::shared_ptr<const detail::OperatorImpl<T>> make_operator(const Backend& backend, const CsrView<T, O>& matrix) {
  detail::require_arrays("LinearOperator", matrix);
  require_square(matrix.rows, matrix.cols);
  if (matrix.nnz > 0 && matrix.values == nullptr)
    throw InvalidArgument(detail::message("LinearOperator: the matrix has {} entries but no values", matrix.nnz));
  if (matrix.space == MemorySpace::device && backend.memory_space() == MemorySpace::host)
    throw InvalidArgument(
        detail::message("LinearOperator: the matrix lies on the device, the backend is {}", backend.description()));
  if (matrix.space != backend.memory_space()) return product_of(SparseMatrix<T>(backend, matrix));
  if (matrix.space == MemorySpace::host) detail::require_valid("LinearOperator", detail::pattern_of(matrix));
  return detail::krylov_ops<T>(backend).make_csr(matrix);
}

}  // namespace

template <Scalar T>
LinearOperator<T>::LinearOperator(const SparseMatrix<T>& matrix)
    : backend_(matrix.backend()), impl_(product_of(matrix)) {}

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
  impl_->apply(detail::compute_cast(x.data), detail::compute_cast(y.data));
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
