#include "backend/range.hpp"
#include "backend/require.hpp"
#include "core/message.hpp"
#include "core/sparse_matrix_impl.hpp"
#include "partition/magnitudes.hpp"
#include "precond/analysis.hpp"
#include "precond/relaxed_vectors.hpp"
#include "precond/two_level_impl.hpp"

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
CoarseMatrix<T>::CoarseMatrix(const Backend& backend, const CsrMatrix<T>& m)
    : rows(m.rows()),
      cols(m.cols()),
      offsets(backend, std::vector<std::int32_t>(m.row_offsets().begin(), m.row_offsets().end())),
      columns(backend, std::vector<index_t>(m.columns().begin(), m.columns().end())),
      values(backend, std::vector<T>(m.values().begin(), m.values().end())) {}

template <Scalar T>
CsrView<compute_t<T>, std::int32_t> CoarseMatrix<T>::view() const {
  const auto nnz = static_cast<offset_t>(values.size());
  const MemorySpace space = offsets.backend().memory_space();
  return {rows, cols, nnz, offsets.data(), columns.data(), compute_cast(values.data()), IndexBase::zero, space};
}

namespace {

template <Scalar T>
index_t longest_row(const CsrMatrix<T>& m) {
  offset_t longest = 0;
  for (std::size_t i = 1; i < m.row_offsets().size(); ++i)
    longest = std::max(longest, m.row_offsets()[i] - m.row_offsets()[i - 1]);
  return static_cast<index_t>(longest);
}

/// The elements of each row, `width` of them, filled up with `nothing`.
template <Scalar T, class V>
std::vector<V> padded_rows(const CsrMatrix<T>& m, index_t width, std::span<const V> elements, V nothing) {
  std::vector<V> padded(static_cast<std::size_t>(m.rows()) * static_cast<std::size_t>(width), nothing);
  const auto offsets = m.row_offsets();
  for (index_t i = 0; i < m.rows(); ++i)
    std::copy(elements.begin() + offsets[static_cast<std::size_t>(i)],
              elements.begin() + offsets[static_cast<std::size_t>(i) + 1], padded.begin() + offset_t{i} * width);
  return padded;
}

}  // namespace

template <Scalar T>
CoarseBasisMatrix<T>::CoarseBasisMatrix(const Backend& backend, const CsrMatrix<T>& z)
    : rows(z.rows()),
      width(longest_row(z)),
      has_ones(std::ranges::all_of(z.values(), [](T value) { return value == T(1); })),
      columns(backend, padded_rows<T, index_t>(z, width, z.columns(), -1)),
      values(backend, has_ones ? std::vector<T>() : padded_rows<T, T>(z, width, z.values(), T(0))) {}

template <Scalar T>
CoarseBasis<T> CoarseBasisMatrix<T>::view() const {
  return {rows, width, columns.data(), has_ones ? nullptr : compute_cast(values.data())};
}

template <Scalar T>
CoarseProducts<T>::CoarseProducts(CoarseMode mode, const CsrMatrix<T>& a, const CsrMatrix<T>& z, int threads)
    : restriction(conjugate_transpose(z)) {
  if (mode == CoarseMode::adef1) {
    with_z = product_from_right(a, z, threads);
    galerkin = product_from_left(restriction, with_z.pattern, threads);
  } else {
    with_z = product_from_left(restriction, a, threads);
    galerkin = product_from_right(with_z.pattern, z, threads);
  }
}

template <Scalar T>
CoarseLevel<T>::CoarseLevel(const Backend& backend, CoarseMode mode, const CsrMatrix<T>& z,
                            const CoarseProducts<T>& products, CoarseMatrixKind kind)
    : mode_(mode),
      ops_(coarse_ops<T>(backend)),
      basis_(backend, z),
      restriction_(backend, products.restriction),
      with_z_(backend, products.with_z.pattern),
      e_(backend, products.galerkin.pattern),
      with_z_sums_(backend, products.with_z.weights),
      e_sums_(backend, products.galerkin.weights),
      pieces_(ops_.pieces(z.cols(), z.nnz() + (mode == CoarseMode::adef2 ? with_z_.view().nnz : 0))),
      partials_(backend, static_cast<std::size_t>(z.cols()) * static_cast<std::size_t>(pieces_)),
      correction_(backend, static_cast<std::size_t>(z.cols())) {
  const index_t order = z.cols();
  if (order <= max_block_size)
    block_.emplace(BlockJacobi<T>::analyze(backend, products.galerkin.pattern.view(),
                                           BlockPartition::uniform(order, order),
                                           {.singular = SingularPolicy::pseudo_inverse, .check_pattern = false}));
  else
    whole_ = ops_.make_inverse(order, kind);
}

template <Scalar T>
void CoarseLevel<T>::refresh(const T* values) {
  const Range range("coarse set-up");
  with_z_sums_.apply(values, with_z_.values.data());
  e_sums_.apply(with_z_.values.data(), e_.values.data());
  if (block_)
    block_->refresh(e_.values.data(), static_cast<offset_t>(e_.values.size()), e_.values.backend().memory_space());
  else
    whole_->refresh(e_.view());
}

template <Scalar T>
CoarseView<T> CoarseLevel<T>::view() const {
  CoarseView<T> view;
  view.restriction = restriction_.view();
  if (basis_.has_ones) view.restriction.values = nullptr;
  if (mode_ == CoarseMode::adef2) view.product = with_z_.view();
  view.basis = basis_.view();
  view.inverse =
      block_ ? CoarseInverseView<T>{e_.rows, compute_cast(block_->preconditioner().blocks()->data)} : whole_->view();
  view.pieces = pieces_;
  view.partials = compute_cast(partials_.data());
  view.correction = compute_cast(correction_.data());
  return view;
}

template <Scalar T>
void CoarseLevel<T>::correct(const T* r, T* u) const {
  const Range range("coarse correction");
  const CoarseView<T> coarse = view();
  ops_.solve(coarse, r, nullptr);
  ops_.prolong(coarse, nullptr, u);
}

template <Scalar T>
void CoarseLevel<T>::apply(const PreconditionerImpl<T>& M, const T* r, T* z, T* scratch) const {
  const Range range("two-level apply");
  const CoarseView<T> coarse = view();
  if (mode_ == CoarseMode::adef1) {  // z = M^-1 (r - A Z c) + Z c
    ops_.solve(coarse, r, nullptr);
    ops_.subtract_product(with_z_.view(), coarse.correction, r, scratch);
    M.apply(scratch, z);
  } else {
    M.apply(r, z);
    ops_.solve(coarse, r, mode_ == CoarseMode::adef2 ? z : nullptr);
  }
  ops_.prolong(coarse, z, z);
}

template <Scalar T>
std::pair<int, double> CoarseLevel<T>::outcome() const {
  if (!block_) return {whole_->info(), whole_->rcond()};
  return {block_->info()[0], static_cast<double>(block_->rcond()[0])};
}

template <Scalar T>
std::size_t CoarseLevel<T>::bytes() const {
  return basis_.bytes() + restriction_.bytes() + with_z_.bytes() + e_.bytes() + with_z_sums_.matrix.bytes() +
         e_sums_.matrix.bytes() + (block_ ? block_->bytes() : whole_->bytes()) + partials_.bytes() +
         correction_.bytes();
}

template <Scalar T>
TwoLevelImpl<T>::TwoLevelImpl(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, CoarseMode mode,
                              const Aggregates& aggregates, const CsrMatrix<T>& host_matrix, const CsrMatrix<T>& z)
    : backend(matrix.backend()),
      jacobi(std::move(block_jacobi)),
      matrix_(matrix),
      scratch_(backend, static_cast<std::size_t>(matrix.rows())) {
  if (z.cols() > 0) {
    const bool may_be_definite = z.cols() > max_block_size && mode == CoarseMode::adef2 && matrix.is_hermitian();
    coarse_.emplace(backend, mode, z, CoarseProducts<T>(mode, host_matrix, z, host_threads(backend)),
                    may_be_definite ? CoarseMatrixKind::definite : CoarseMatrixKind::general);
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
  if (coarse_)
    coarse_->apply(M, r, z, scratch_.data());
  else
    M.apply(r, z);
}

template <Scalar T>
std::optional<CoarseCorrection<T>> TwoLevelImpl<T>::coarse_correction() const {
  if (!coarse_ || found_.mode == CoarseMode::adef1) return std::nullopt;
  return CoarseCorrection<T>{jacobi.preconditioner(), coarse_->view()};
}

template <Scalar T>
TwoLevelReport TwoLevelImpl<T>::report() const {
  TwoLevelReport report = found_;
  if (!coarse_) return report;
  const auto [info, rcond] = coarse_->outcome();
  // why: a block has told by its info; beyond that there is an inverse of what was shifted
  const double eps = std::numeric_limits<real_t<T>>::epsilon();
  report.is_singular = info > 0 || (found_.size > max_block_size && rcond < 10.0 * found_.size * eps);
  report.is_finite = info >= 0;
  report.rcond = rcond;
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
  if (options.mode) require_enumerator("TwoLevel", "mode", *options.mode, CoarseMode::adef2);
  if (options.size < 0 || options.size > max_coarse_size)
    throw InvalidArgument(message("TwoLevel: size is {}, must be in 0..{}", options.size, max_coarse_size));
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

/// Of E by default on a device; its inversion grows with the cube.
constexpr index_t largest_default_size = 2048;

/// Of order options.size at most, with as many vectors an aggregate; space(aggregates, M) makes Z.
template <Scalar T, class Space>
std::unique_ptr<TwoLevelImpl<T>> make_two_level(const SparseMatrix<T>& matrix, BlockJacobi<T> M,
                                                const TwoLevelOptions& options, index_t vectors, Space space) {
  require_arguments(matrix, M, options, vectors);
  index_t size = options.size;
  if (size == 0) {
    const auto root = static_cast<index_t>(std::sqrt(static_cast<double>(matrix.nnz())));
    size =
        std::clamp(root, vectors, matrix.backend().kind() == BackendKind::host ? max_block_size : largest_default_size);
  }
  const CsrMatrix<T> host_matrix = matrix.to_host();
  const Aggregates aggregates =
      aggregate_blocks(magnitudes(host_matrix.view()), M.partition(), size / vectors, host_threads(matrix.backend()));
  const CsrMatrix<T> z = space(aggregates, M);
  const CoarseMode mode = options.mode.value_or(matrix.is_hermitian() ? CoarseMode::adef2 : CoarseMode::adef1);
  return std::make_unique<TwoLevelImpl<T>>(matrix, std::move(M), mode, aggregates, host_matrix, z);
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
  const bool is_block = r.size <= max_block_size;
  if (!r.is_finite)
    text += detail::message("  the coarse matrix has NaN or Inf: {} the inverse\n",
                            is_block ? "its diagonal takes the place of" : "there is no correction for want of");
  else if (r.is_singular)
    text += detail::message("  the coarse matrix is singular (reciprocal condition {:.2e}): {}\n", r.rcond,
                            is_block       ? "pseudo-inverse"
                            : r.rcond == 0 ? "there is no correction"
                                           : "its diagonal was raised");
  return text;
}

template <Scalar T>
TwoLevel<T>::TwoLevel(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, const TwoLevelOptions& options)
    : impl_("TwoLevel", [&] {
        if (options.relaxed < 0 || options.relaxed > max_block_size)
          throw InvalidArgument(
              detail::message("TwoLevel: relaxed is {}, must be in 0..{}", options.relaxed, max_block_size));
        const index_t vectors = options.relaxed > 0 ? options.relaxed : matrix.block_size().value_or(1);
        return detail::make_two_level(matrix, std::move(block_jacobi), options, vectors,
                                      [&](const detail::Aggregates& aggregates, const BlockJacobi<T>& M) {
                                        if (options.relaxed == 0) return detail::ones_space<T>(aggregates, vectors);
                                        return detail::vector_space(aggregates,
                                                                    detail::relaxed_vectors(matrix, M, vectors).view(),
                                                                    detail::host_threads(matrix.backend()));
                                      });
      }()) {}

template <Scalar T>
TwoLevel<T>::TwoLevel(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, MultiVectorView<const T> vectors,
                      const TwoLevelOptions& options)
    : impl_("TwoLevel", [&] {
        if (options.relaxed != 0)
          throw InvalidArgument(
              detail::message("TwoLevel: relaxed is {}, must be 0 where vectors are given", options.relaxed));
        detail::require_finite_vectors(matrix, vectors);
        return detail::make_two_level(matrix, std::move(block_jacobi), options, vectors.cols,
                                      [&](const detail::Aggregates& aggregates, const BlockJacobi<T>&) {
                                        return detail::vector_space(aggregates, vectors,
                                                                    detail::host_threads(matrix.backend()));
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

#define BLOCKJACOBI_INSTANTIATE(T)           \
  template struct detail::SparseProduct<T>;  \
  template struct detail::CoarseMatrix<T>;   \
  template struct detail::CoarseProducts<T>; \
  template class detail::CoarseLevel<T>;     \
  template class detail::TwoLevelImpl<T>;    \
  template class TwoLevel<T>
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
