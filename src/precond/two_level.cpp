#include "backend/range.hpp"
#include "core/compute_views.hpp"
#include "core/message.hpp"
#include "core/sparse_matrix_impl.hpp"
#include "precond/coarse_arguments.hpp"
#include "precond/relaxed_vectors.hpp"
#include "precond/two_level_impl.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace blockjacobi {

namespace detail {

template <Scalar T>
CoarseLevel<T>::CoarseLevel(const SparseMatrix<T>& matrix, CoarseMode mode, CoarseSpace<T> z, CoarseMatrixKind kind)
    : mode_(mode),
      ops_(coarse_ops<T>(matrix.backend())),
      z_(std::move(z)),
      patterns_(ops_.patterns(matrix.backend(), mode == CoarseMode::adef1 ? CoarseSide::right : CoarseSide::left,
                              matrix.view(), z_)),
      restriction_(matrix.backend(), z_.values.size() > 0 ? patterns_.restriction.columns.size() : 0),
      product_(matrix.backend(), patterns_.product.columns.size()),
      e_(matrix.backend(), patterns_.e.columns.size()),
      scales_(matrix.backend(), z_.order <= max_block_size ? static_cast<std::size_t>(matrix.rows()) : 0),
      coarse_scales_(matrix.backend(), z_.order <= max_block_size ? static_cast<std::size_t>(z_.order) : 0),
      pieces_(ops_.pieces(z_.order, static_cast<offset_t>(patterns_.restriction.columns.size() +
                                                          (mode == CoarseMode::adef2 ? product_.size() : 0)))),
      partials_(matrix.backend(), static_cast<std::size_t>(z_.order) * static_cast<std::size_t>(pieces_)),
      correction_(matrix.backend(), static_cast<std::size_t>(z_.order)) {
  if (restriction_.size() > 0) ops_.fill_restriction(patterns_.restriction, z_.view(), restriction_.data());
  if (z_.order > max_block_size) {
    whole_ = ops_.make_inverse(z_.order, kind);
    return;
  }
  const auto e = SparseMatrix<T>::adopt(matrix.backend(), patterns_.e.with(public_cast(e_.data())));
  e.impl()->rounding_scales = coarse_scales_.data();
  block_.emplace(BlockJacobi<T>::analyze(e, BlockPartition::uniform(z_.order, z_.order),
                                         {.singular = SingularPolicy::pseudo_inverse, .check_pattern = false}));
}

template <Scalar T>
void CoarseLevel<T>::refresh(const SparseMatrix<T>& matrix) {
  const Range range("coarse set-up");
  ops_.multiply(patterns_, z_.view(), compute_cast(matrix.values()), product_.data(), e_.data());
  if (!block_) return whole_->refresh(patterns_.e.with(e_.data()));
  ops_.rounding_scales(matrix.view(), scales_.data());
  ops_.restrict_rounding_scales(patterns_.restriction.with(restriction_.data()), scales_.data(), coarse_scales_.data());
  block_->refresh(public_cast(e_.data()), static_cast<offset_t>(e_.size()), e_.backend().memory_space());
}

template <Scalar T>
CoarseView<T> CoarseLevel<T>::view() const {
  CoarseView<T> view;
  view.restriction = patterns_.restriction.with(restriction_.data());
  if (mode_ != CoarseMode::additive)
    (mode_ == CoarseMode::adef2 ? view.left_product : view.right_product) = patterns_.product.with(product_.data());
  view.basis = z_.view();
  view.inverse =
      block_ ? CoarseInverseView<T>{z_.order, block_->preconditioner().inverse()->full->data} : whole_->view();
  view.pieces = pieces_;
  view.partials = partials_.data();
  view.correction = correction_.data();
  return view;
}

template <Scalar T>
void CoarseLevel<T>::correct(const C* r, C* u) const {
  const Range range("coarse correction");
  const CoarseView<T> coarse = view();
  ops_.solve(coarse, r, nullptr);
  ops_.prolong(coarse, nullptr, u);
}

template <Scalar T>
void CoarseLevel<T>::apply(const PreconditionerImpl<T>& M, const C* r, C* z, C* scratch) const {
  const Range range("two-level apply");
  const CoarseView<T> coarse = view();
  if (mode_ == CoarseMode::adef1) {  // z = M^-1 (r - A Z c) + Z c
    ops_.solve(coarse, r, nullptr);
    ops_.subtract_product(coarse.right_product, coarse.correction, r, scratch);
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
  return z_.bytes() + patterns_.restriction.bytes() + patterns_.product.bytes() + patterns_.e.bytes() +
         patterns_.sums.bytes() + restriction_.bytes() + product_.bytes() + e_.bytes() + scales_.bytes() +
         coarse_scales_.bytes() + (block_ ? block_->bytes() : whole_->bytes()) + partials_.bytes() +
         correction_.bytes();
}

template <Scalar T>
TwoLevelImpl<T>::TwoLevelImpl(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, CoarseMode mode,
                              const Aggregates& aggregates, CoarseSpace<T> z)
    : backend(matrix.backend()),
      jacobi(std::move(block_jacobi)),
      matrix_(matrix),
      scratch_(backend, static_cast<std::size_t>(matrix.rows())) {
  found_.size = z.order;
  if (z.order > 0) {
    const bool may_be_definite = z.order > max_block_size && mode == CoarseMode::adef2 && matrix.is_hermitian();
    coarse_.emplace(matrix, mode, std::move(z),
                    may_be_definite ? CoarseMatrixKind::definite : CoarseMatrixKind::general);
    coarse_->refresh(matrix);
  }
  found_.mode = mode;
  found_.rows = matrix.rows();
  found_.aggregates = aggregates.count;
  found_.uncovered_rows = aggregates.uncovered_rows;
  found_.bytes = scratch_.bytes() + (coarse_ ? coarse_->bytes() : 0);
  backend.synchronize();
}

template <Scalar T>
void TwoLevelImpl<T>::refresh() {
  jacobi.refresh(matrix_.values(), matrix_.nnz(), backend.memory_space());
  if (coarse_) coarse_->refresh(matrix_);
}

template <Scalar T>
void TwoLevelImpl<T>::correct(const C* r, C* u) const {
  if (coarse_) return coarse_->correct(r, u);
  backend.impl().zero(u, scratch_.bytes());
}

template <Scalar T>
bool TwoLevelImpl<T>::correct_start(const C* r, C* u) const {
  if (!coarse_ || found_.mode != CoarseMode::adef2) return false;
  coarse_->correct(r, u);
  return true;
}

template <Scalar T>
void TwoLevelImpl<T>::apply(const C* r, C* z) const {
  const PreconditionerImpl<T>& M = jacobi.preconditioner();
  if (coarse_)
    coarse_->apply(M, r, z, scratch_.data());
  else
    M.apply(r, z);
}

template <Scalar T>
std::optional<CoarseCorrection<T>> TwoLevelImpl<T>::coarse_correction() const {
  if (!coarse_) return std::nullopt;
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
  require_block_jacobi("TwoLevel", matrix, M);
  if (options.mode) require_enumerator("TwoLevel", "mode", *options.mode, CoarseMode::adef2);
  if (options.size < 0 || options.size > max_coarse_size)
    throw InvalidArgument(message("TwoLevel: size is {}, must be in 0..{}", options.size, max_coarse_size));
  if (options.size > 0 && options.size < vectors)
    throw InvalidArgument(message("TwoLevel: size is {}, an aggregate has {} vectors", options.size, vectors));
}

/// Of order options.size at most, with as many vectors an aggregate; space(aggregates, M) makes Z.
template <Scalar T, class Space>
std::unique_ptr<TwoLevelImpl<T>> make_two_level(const SparseMatrix<T>& matrix, BlockJacobi<T> M,
                                                const TwoLevelOptions& options, index_t vectors, Space space) {
  require_arguments(matrix, M, options, vectors);
  const index_t size =
      options.size > 0 ? options.size : std::max(vectors, default_coarse_size(matrix.backend(), matrix.nnz()));
  const Aggregates aggregates =
      coarse_ops<T>(matrix.backend()).aggregate(matrix.backend(), matrix.view(), M.partition(), size / vectors);
  CoarseSpace<T> z = space(aggregates, M);
  const CoarseMode mode = options.mode.value_or(matrix.is_hermitian() ? CoarseMode::adef2 : CoarseMode::adef1);
  return std::make_unique<TwoLevelImpl<T>>(matrix, std::move(M), mode, aggregates, std::move(z));
}

}  // namespace

index_t default_coarse_size(const Backend& backend, offset_t nnz) {
  // why: the inversion grows with the cube
  const index_t most = backend.kind() == BackendKind::host ? max_block_size : 2048;
  return std::min(static_cast<index_t>(std::sqrt(static_cast<double>(nnz))), most);
}

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
                                        detail::CoarseOps<T>& ops = detail::coarse_ops<T>(matrix.backend());
                                        if (options.relaxed == 0)
                                          return ops.ones(matrix.backend(), aggregates, vectors);
                                        return ops.orthonormal(matrix.backend(), aggregates,
                                                               detail::relaxed_vectors(matrix, M, vectors), vectors);
                                      });
      }()) {}

template <Scalar T>
TwoLevel<T>::TwoLevel(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, MultiVectorView<const T> vectors,
                      const TwoLevelOptions& options)
    : impl_("TwoLevel", [&] {
        if (options.relaxed != 0)
          throw InvalidArgument(
              detail::message("TwoLevel: relaxed is {}, must be 0 where vectors are given", options.relaxed));
        detail::require_near_kernel("TwoLevel", matrix, vectors);
        return detail::make_two_level(matrix, std::move(block_jacobi), options, vectors.cols,
                                      [&](const detail::Aggregates& aggregates, const BlockJacobi<T>&) {
                                        return detail::coarse_ops<T>(matrix.backend())
                                            .orthonormal(matrix.backend(), aggregates,
                                                         Array<T>(matrix.backend(), detail::by_rows(vectors)),
                                                         vectors.cols);
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

template <Scalar T>
void TwoLevel<T>::apply(VectorView<const T> r, VectorView<T> z) const {
  detail::require_vectors<T>({"TwoLevel::apply", "TwoLevel::apply: r", "TwoLevel::apply: z"}, impl_->backend,
                             impl_->rows(), r, z);
  impl_->apply(detail::compute_cast(r.data), detail::compute_cast(z.data));
}

template <Scalar T>
void TwoLevel<T>::correct(VectorView<const T> r, VectorView<T> u) const {
  detail::require_vectors<T>({"TwoLevel::correct", "TwoLevel::correct: r", "TwoLevel::correct: u"}, impl_->backend,
                             impl_->rows(), r, u);
  impl_->correct(detail::compute_cast(r.data), detail::compute_cast(u.data));
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

#define BLOCKJACOBI_INSTANTIATE(T)        \
  template class detail::CoarseLevel<T>;  \
  template class detail::TwoLevelImpl<T>; \
  template class TwoLevel<T>
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
