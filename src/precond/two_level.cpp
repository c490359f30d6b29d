#include "backend/require.hpp"
#include "core/message.hpp"
#include "core/sparse_matrix_impl.hpp"
#include "partition/magnitudes.hpp"
#include "precond/two_level_impl.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace blockjacobi {

namespace detail {

template <Scalar T>
SparseProduct<T>::SparseProduct(const Backend& backend, const CsrMatrix<T>& host_matrix)
    : matrix(backend, host_matrix), product(matrix.impl()->product()) {}

template <Scalar T>
CoarseLevel<T>::CoarseLevel(const Backend& backend, const GalerkinProduct<T>& galerkin, const CsrMatrix<T>& z)
    : prolongation_(backend, z),
      restriction_(backend, conjugate_transpose(z)),
      sums_(backend, galerkin.weights),
      values_(backend, static_cast<std::size_t>(galerkin.pattern.nnz())),
      inverse_(BlockJacobi<T>::analyze(backend, galerkin.pattern.view(), BlockPartition::uniform(z.cols(), z.cols()),
                                       {.singular = SingularPolicy::pseudo_inverse, .check_pattern = false})),
      restricted_(backend, static_cast<std::size_t>(z.cols())),
      solved_(backend, static_cast<std::size_t>(z.cols())) {}

template <Scalar T>
void CoarseLevel<T>::refresh(const T* values) {
  sums_.apply(values, values_.data());
  inverse_.refresh(values_.data(), static_cast<offset_t>(values_.size()), values_.backend().memory_space());
}

template <Scalar T>
void CoarseLevel<T>::correct(const T* r, T* u) const {
  restriction_.apply(r, restricted_.data());
  inverse_.preconditioner().apply(restricted_.data(), solved_.data());
  prolongation_.apply(solved_.data(), u);
}

template <Scalar T>
std::size_t CoarseLevel<T>::bytes() const {
  return prolongation_.matrix.bytes() + restriction_.matrix.bytes() + sums_.matrix.bytes() + values_.bytes() +
         inverse_.bytes() + restricted_.bytes() + solved_.bytes();
}

template <Scalar T>
TwoLevelImpl<T>::TwoLevelImpl(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, CoarseMode mode,
                              const Aggregates& aggregates, const CsrMatrix<T>& host_matrix, const CsrMatrix<T>& z)
    : backend(matrix.backend()),
      jacobi(std::move(block_jacobi)),
      matrix_(matrix),
      A_(matrix.impl()->product()),
      ops_(krylov_ops<T>(backend)),
      scratch_(backend, static_cast<std::size_t>(matrix.rows())) {
  if (z.cols() > 0) {
    coarse_.emplace(backend, galerkin_product(host_matrix, z, omp_get_max_threads()), z);
    coarse_->refresh(matrix.values());
  }
  found_.mode = mode;
  found_.rows = matrix.rows();
  found_.aggregates = aggregates.count;
  found_.size = z.cols();
  found_.uncovered_rows = static_cast<index_t>(std::ranges::count(aggregates.of_row, Aggregates::none));
  found_.bytes = scratch_.bytes() + (coarse_ ? coarse_->bytes() : 0);
  backend.synchronize();
}

template <Scalar T>
void TwoLevelImpl<T>::refresh() {
  jacobi.refresh(matrix_.values(), matrix_.nnz(), backend.memory_space());
  if (coarse_) coarse_->refresh(matrix_.values());
}

template <Scalar T>
void TwoLevelImpl<T>::correct(const T* r, T* u) const {
  if (coarse_) return coarse_->correct(r, u);
  backend.impl().zero(u, scratch_.bytes());
}

template <Scalar T>
bool TwoLevelImpl<T>::correct_start(const T* r, T* u) const {
  if (!coarse_ || found_.mode != CoarseMode::adef2) return false;
  coarse_->correct(r, u);
  return true;
}

template <Scalar T>
void TwoLevelImpl<T>::apply(const T* r, T* z) const {
  const PreconditionerImpl<T>& M = jacobi.preconditioner();
  if (!coarse_) return M.apply(r, z);
  T* const u = scratch_.data();
  switch (found_.mode) {
    case CoarseMode::additive:
      M.apply(r, z);
      coarse_->correct(r, u);
      break;
    case CoarseMode::adef1:  // z holds Q r until M^-1 (r - A Q r) takes its place
      coarse_->correct(r, z);
      ops_.residual(A_, r, z, u);
      M.apply(u, z);
      coarse_->correct(r, u);
      break;
    case CoarseMode::adef2:
      M.apply(r, z);
      ops_.residual(A_, r, z, u);
      coarse_->correct(u, u);
      break;
  }
  ops_.add(rows(), u, z, nullptr);
}

template <Scalar T>
TwoLevelReport TwoLevelImpl<T>::report() const {
  TwoLevelReport report = found_;
  if (!coarse_) return report;
  const int info = coarse_->inverse().info()[0];
  report.is_singular = info > 0;
  report.is_finite = info >= 0;
  report.rcond = static_cast<double>(coarse_->inverse().rcond()[0]);
  return report;
}

namespace {

template <Scalar T>
void require_arguments(const SparseMatrix<T>& matrix, const BlockJacobi<T>& M, const TwoLevelOptions& options,
                       index_t vectors) {
  if (matrix.rows() != matrix.cols())
    throw InvalidArgument(message("TwoLevel: the matrix is {} x {}, must be square", matrix.rows(), matrix.cols()));
  if (!(matrix.backend() == M.backend()))
    throw InvalidArgument(message("TwoLevel: the block-Jacobi lives on another backend ({}) than the matrix ({})",
                                  M.backend().description(), matrix.backend().description()));
  if (M.rows() != matrix.rows() || M.nnz() != matrix.nnz())
    throw InvalidArgument(message("TwoLevel: the block-Jacobi has {} rows and {} entries, the matrix {} and {}",
                                  M.rows(), M.nnz(), matrix.rows(), matrix.nnz()));
  if (matrix.nnz() > std::numeric_limits<index_t>::max())
    throw InvalidArgument(
        message("TwoLevel: the matrix has {} entries, can have {}", matrix.nnz(), std::numeric_limits<index_t>::max()));
  require_enumerator("TwoLevel", "mode", options.mode, CoarseMode::adef2);
  if (options.size < 0 || options.size > max_block_size)
    throw InvalidArgument(message("TwoLevel: size is {}, must be in 0..{}", options.size, max_block_size));
  if (options.size > 0 && options.size < vectors)
    throw InvalidArgument(message("TwoLevel: size is {}, an aggregate has {} vectors", options.size, vectors));
}

template <Scalar T>
void require_finite_vectors(const SparseMatrix<T>& matrix, const MultiVectorView<const T>& vectors) {
  require_multivector("TwoLevel: vectors", vectors, matrix.rows(), Backend::host(1));
  if (vectors.cols < 1 || vectors.cols > max_block_size)
    throw InvalidArgument(message("TwoLevel: there are {} vectors, must be 1..{}", vectors.cols, max_block_size));
  const bool by_columns = vectors.layout == Layout::column_major;
  for (index_t j = 0; j < vectors.cols; ++j)
    for (index_t i = 0; i < vectors.rows; ++i) {
      const T value = vectors.data[by_columns ? i + j * vectors.ld : i * vectors.ld + j];
      if (!std::isfinite(std::real(value)) || !std::isfinite(std::imag(value)))
        throw InvalidArgument(message("TwoLevel: element {} of vector {} is NaN or Inf", i, j));
    }
}

/// Of order options.size at most, with as many vectors an aggregate; space(aggregates) makes Z.
template <Scalar T, class Space>
std::unique_ptr<TwoLevelImpl<T>> make_two_level(const SparseMatrix<T>& matrix, BlockJacobi<T> M,
                                                const TwoLevelOptions& options, index_t vectors, Space space) {
  require_arguments(matrix, M, options, vectors);
  index_t size = options.size;
  if (size == 0) {
    const auto root = static_cast<index_t>(std::sqrt(static_cast<double>(matrix.nnz())));
    size = std::clamp(root, vectors, max_block_size);
  }
  const CsrMatrix<T> host_matrix = matrix.to_host();
  const Aggregates aggregates =
      aggregate_blocks(magnitudes(host_matrix.view()), M.partition(), size / vectors, omp_get_max_threads());
  return std::make_unique<TwoLevelImpl<T>>(matrix, std::move(M), options.mode, aggregates, host_matrix,
                                           space(aggregates));
}

}  // namespace

}  // namespace detail

const char* to_string(CoarseMode mode) noexcept {
  switch (mode) {
    case CoarseMode::additive: return "additive";
    case CoarseMode::adef1: return "adef1";
    case CoarseMode::adef2: return "adef2";
  }
  return "unknown";
}

std::string to_text(const TwoLevelReport& r) {
  std::string text =
      detail::message("coarse level ({}): {} vector{} on {} aggregate{} of {} rows, {:.2f} MB\n", to_string(r.mode),
                      r.size, r.size == 1 ? "" : "s", r.aggregates, r.aggregates == 1 ? "" : "s",
                      r.rows - r.uncovered_rows, static_cast<double>(r.bytes) * 1e-6);
  if (!r.is_finite)
    text += "  the coarse matrix has NaN or Inf: its diagonal takes the place of the inverse\n";
  else if (r.is_singular)
    text += detail::message("  the coarse matrix is singular (reciprocal condition {:.2e}): pseudo-inverse\n", r.rcond);
  return text;
}

template <Scalar T>
TwoLevel<T>::TwoLevel(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, const TwoLevelOptions& options)
    : impl_("TwoLevel", [&] {
        const index_t components = matrix.block_size().value_or(1);
        return detail::make_two_level(
            matrix, std::move(block_jacobi), options, components,
            [&](const detail::Aggregates& aggregates) { return detail::ones_space<T>(aggregates, components); });
      }()) {}

template <Scalar T>
TwoLevel<T>::TwoLevel(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, MultiVectorView<const T> vectors,
                      const TwoLevelOptions& options)
    : impl_("TwoLevel", [&] {
        detail::require_finite_vectors(matrix, vectors);
        return detail::make_two_level(matrix, std::move(block_jacobi), options, vectors.cols,
                                      [&](const detail::Aggregates& aggregates) {
                                        return detail::vector_space(aggregates, vectors, omp_get_max_threads());
                                      });
      }()) {}

template <Scalar T>
TwoLevel<T>::TwoLevel(TwoLevel&&) noexcept = default;
template <Scalar T>
TwoLevel<T>& TwoLevel<T>::operator=(TwoLevel&&) noexcept = default;
template <Scalar T>
TwoLevel<T>::~TwoLevel() = default;

template <Scalar T>
void TwoLevel<T>::refresh() {
  impl_->refresh();
}

namespace {

template <Scalar T>
void require_vectors(const char* function, const detail::TwoLevelImpl<T>& impl, const VectorView<const T>& in,
                     const VectorView<T>& out, const char* out_name) {
  const auto name = [&](const char* argument) { return detail::message("{}: {}", function, argument); };
  detail::require_vector(name("r").c_str(), in, impl.rows());
  detail::require_vector(name(out_name).c_str(), out, impl.rows());
  detail::require_space(name("r").c_str(), in, impl.backend);
  detail::require_space(name(out_name).c_str(), out, impl.backend);
  detail::require_disjoint(function, in, out);
}

}  // namespace

template <Scalar T>
void TwoLevel<T>::apply(VectorView<const T> r, VectorView<T> z) const {
  require_vectors("TwoLevel::apply", *impl_, r, z, "z");
  impl_->apply(r.data, z.data);
}

template <Scalar T>
void TwoLevel<T>::correct(VectorView<const T> r, VectorView<T> u) const {
  require_vectors("TwoLevel::correct", *impl_, r, u, "u");
  impl_->correct(r.data, u.data);
}

template <Scalar T>
TwoLevelReport TwoLevel<T>::report() const {
  return impl_->report();
}

template <Scalar T>
const BlockJacobi<T>& TwoLevel<T>::block_jacobi() const {
  return impl_->jacobi;
}

template <Scalar T>
const Backend& TwoLevel<T>::backend() const {
  return impl_->backend;
}

template <Scalar T>
index_t TwoLevel<T>::rows() const {
  return impl_->rows();
}

template <Scalar T>
const detail::PreconditionerImpl<T>& TwoLevel<T>::preconditioner() const {
  return *impl_;
}

#define BLOCKJACOBI_INSTANTIATE(T)          \
  template struct detail::SparseProduct<T>; \
  template class detail::CoarseLevel<T>;    \
  template class detail::TwoLevelImpl<T>;   \
  template class TwoLevel<T>
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
