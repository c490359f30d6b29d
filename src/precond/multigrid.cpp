#include "precond/multigrid_impl.hpp"

#include "backend/range.hpp"
#include "backend/require.hpp"
#include "core/compute_views.hpp"
#include "core/message.hpp"
#include "core/sparse_matrix_impl.hpp"
#include "core/symmetry.hpp"
#include "precond/coarse_arguments.hpp"
#include "precond/relaxed_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace blockjacobi {

namespace detail {

namespace {

/// Coarser by less than this, a level is not worth its work.
constexpr index_t least_coarsening = 2;
/// Share of the largest coupling of a node from which on one is strong, on the finest level and on others. By trial:
/// docs/kernels/diary/multigrid.md.
constexpr double strong_share = 0.25, strong_coarse_share = 0.1;
/// Of an aggregate by matching, in the mean.
constexpr index_t matched_nodes = 12;
/// Of the power method, which find 0.84 to 0.96 of the largest eigenvalue (docs/kernels/diary/multigrid.md), and what
/// is added for the rest. 4/3 is two thirds of where a cycle would cease to be definite.
constexpr int power_steps = 5;
constexpr double of_power = 1.1;

/// A number near the largest eigenvalue of M^-1 A. Waits.
template <Scalar T>
double largest_eigenvalue(const LinearOperator<T>& A, const BlockJacobi<T>& M) {
  const Backend& backend = A.backend();
  Array<T> x(backend, static_cast<std::size_t>(A.rows())), y(backend, x.size());
  Array<double> norms(backend, 2);
  krylov_ops<T>(backend).random(A.rows(), compute_cast(x.data()));
  for (int k = 0; k < power_steps; ++k) {
    if (k == power_steps - 1)
      krylov_ops<T>(backend).norm(A.rows(), compute_cast(std::as_const(x).data()), norms.data());
    A.apply(std::as_const(x).view(), y.view());
    M.apply(std::as_const(y).view(), x.view());
  }
  krylov_ops<T>(backend).norm(A.rows(), compute_cast(std::as_const(x).data()), norms.data() + 1);
  const std::vector<double> found = norms.to_host();
  return of_power * found[1] / found[0];
}

/// 4/3 over it; 1 where the matrix has NaN or Inf, as long as it has them report() tells.
template <Scalar T>
real_t<T> relaxation_of(const LinearOperator<T>& A, const BlockJacobi<T>& M) {
  const double largest = largest_eigenvalue(A, M);
  return largest > 0.0 && std::isfinite(largest) ? static_cast<real_t<T>>(4.0 / (3.0 * largest)) : real_t<T>(1);
}

template <Scalar T>
BlockJacobi<T> smoother_of(const SparseMatrix<T>& matrix, const BlockPartition& blocks) {
  return BlockJacobi<T>(matrix, blocks, {.singular = SingularPolicy::pseudo_inverse, .check_pattern = false});
}

template <Scalar T>
CoarseMatrix<T> with_values(const Backend& backend, CoarsePattern pattern) {
  const std::size_t count = pattern.columns.size();
  return {std::move(pattern), Array<T>(backend, count)};
}

template <Scalar T>
AnyCsrView<T> any(const CoarseMatrix<T>& m) {
  return m.view();
}

/// Its values are not there yet.
template <Scalar T>
AdjointMatrix<T> adjoint_pattern(CoarseOps<T>& ops, const Backend& backend, const CoarseMatrix<T>& m) {
  auto [pattern, order] = ops.transposed(backend, m.pattern);
  AdjointMatrix<T> adjoint{with_values<T>(backend, std::move(pattern)), std::move(order)};
  adjoint.matrix.values.zero();  // a first product may be tried with them
  return adjoint;
}

/// The product with it. Refers to its arrays. Waits.
template <Scalar T>
std::unique_ptr<OperatorImpl<T>> product_with(const Backend& backend, const CoarseMatrix<T>& m) {
  return krylov_ops<T>(backend).make_csr(m.view());
}

/// Enqueued.
template <Scalar T>
void fill_adjoint(CoarseOps<T>& ops, const CoarseMatrix<T>& m, const AdjointMatrix<T>& adjoint) {
  ops.conjugate(adjoint.order, compute_cast(std::as_const(m.values).data()),
                compute_cast(adjoint.matrix.values.data()));
}

}  // namespace

template <Scalar T>
GridTransfer<T>::GridTransfer(const SparseMatrix<T>& fine, CoarseSpace<T> z, real_t<T> relaxation)
    : ops_(coarse_ops<T>(fine.backend())),
      fine_(fine),
      z_(std::move(z)),
      relaxation_(relaxation),
      p_(with_values<T>(fine.backend(),
                        ops_.product_pattern(fine.backend(), fine.view(), ops_.rows_of(fine.backend(), z_).pattern))),
      adjoint_(adjoint_pattern(ops_, fine.backend(), p_)),
      restriction_(product_with(fine.backend(), adjoint_.matrix)),
      product_(with_values<T>(fine.backend(), ops_.product_pattern(fine.backend(), fine.view(), p_.pattern))),
      e_(with_values<T>(fine.backend(), ops_.product_pattern(fine.backend(), any(adjoint_.matrix), product_.pattern))),
      coarse_(SparseMatrix<T>::adopt(fine.backend(), e_.view(),
                                     {.symmetry = is_complex<T> ? Symmetry::hermitian : Symmetry::symmetric})),
      own_scales_(fine.backend(), fine.impl()->rounding_scales == nullptr ? static_cast<std::size_t>(fine.rows()) : 0),
      coarse_scales_(fine.backend(), static_cast<std::size_t>(coarse_.rows())) {
  coarse_.impl()->rounding_scales = coarse_scales_.data();
}

template <Scalar T>
void GridTransfer<T>::refresh() {
  const auto multiply = [&](const AnyCsrView<T>& a, const CoarseMatrix<T>& b, const CoarseMatrix<T>& product) {
    ops_.multiply(a, b.compute_view(), product.pattern, compute_cast(product.values.data()));
  };
  ops_.smooth(fine_.view(), z_.view(), relaxation_, p_.pattern, compute_cast(p_.values.data()));
  fill_adjoint(ops_, p_, adjoint_);
  multiply(fine_.view(), p_, product_);
  multiply(any(adjoint_.matrix), product_, e_);
  const real_t<T>* scales = fine_.impl()->rounding_scales;
  if (scales == nullptr) {
    ops_.rounding_scales(fine_.view(), own_scales_.data());
    scales = own_scales_.data();
  }
  ops_.restrict_rounding_scales(adjoint_.matrix.compute_view(), scales, coarse_scales_.data());
}

template <Scalar T>
void GridTransfer<T>::restrict(const C* x, C* out) const {
  restriction_->apply(x, out);
}

template <Scalar T>
void GridTransfer<T>::add_prolonged(const C* c, C* x) const {
  ops_.add_product(p_.compute_view(), c, x);
}

template <Scalar T>
BlockPartition GridTransfer<T>::nodes(index_t ones) const {
  if (z_.first.size() == 0) return BlockPartition::uniform(z_.order, ones);
  std::vector<index_t> offsets = z_.first.to_host();
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  return BlockPartition::from_offsets(std::move(offsets));
}

template <Scalar T>
NearKernel<T> GridTransfer<T>::restricted(const NearKernel<T>& fine) const {
  if (fine.values.empty()) return {z_.order, fine.cols, {}};
  const Backend& backend = fine_.backend();
  const CoarseMatrix<T> rows = ops_.rows_of(backend, z_);
  const AdjointMatrix<T> adjoint = adjoint_pattern(ops_, backend, rows);
  fill_adjoint(ops_, rows, adjoint);
  const auto restriction = product_with(backend, adjoint.matrix);
  NearKernel<T> coarse{z_.order, fine.cols, {}};
  Array<T> x(backend, z_.group.size()), y(backend, static_cast<std::size_t>(z_.order));
  for (std::size_t first = 0; first < fine.values.size(); first += x.size()) {
    x.copy_from_host(fine.values.data() + first);
    restriction->apply(compute_cast(std::as_const(x).data()), compute_cast(y.data()));
    const std::vector<T> column = y.to_host();
    coarse.values.insert(coarse.values.end(), column.begin(), column.end());
  }
  return coarse;
}

template <Scalar T>
std::size_t GridTransfer<T>::bytes() const {
  return z_.bytes() + p_.bytes() + adjoint_.bytes() + product_.bytes() + e_.bytes() + own_scales_.bytes() +
         coarse_scales_.bytes();
}

template <Scalar T>
GridLevel<T>::GridLevel(const SparseMatrix<T>& matrix, BlockJacobi<T> smoother, const BlockPartition& nodes,
                        const NearKernel<T>& near_kernel, bool is_finest, const MultigridOptions& options)
    : matrix_(matrix),
      product_(matrix),
      smoother_(std::move(smoother)),
      left_(matrix.backend(), static_cast<std::size_t>(matrix.rows())),
      right_(matrix.backend(), 0),
      answer_(matrix.backend(), 0) {
  if (matrix.rows() > options.coarsest) make_next(nodes, near_kernel, is_finest, options);
}

template <Scalar T>
void GridLevel<T>::make_next(const BlockPartition& nodes, const NearKernel<T>& near_kernel, bool is_finest,
                             const MultigridOptions& options) {
  const Backend& backend = matrix_.backend();
  CoarseOps<T>& ops = coarse_ops<T>(backend);
  relaxation_ = relaxation_of(product_, smoother_);
  // Below the finest level M is D where nodes have one row.
  const real_t<T> of_diagonal =
      !is_finest && nodes.largest_block() == 1
          ? relaxation_
          : relaxation_of(product_, smoother_of(matrix_, BlockPartition::uniform(matrix_.rows(), 1)));
  const auto transfer_by = [&](const Aggregates& aggregates) {
    CoarseSpace<T> z =
        near_kernel.values.empty()
            ? ops.ones(backend, aggregates, near_kernel.cols)
            : ops.orthonormal(backend, aggregates, Array<T>(backend, by_rows(near_kernel.view())), near_kernel.cols);
    if (z.order > 0) transfer_.emplace(matrix_, std::move(z), of_diagonal);
  };
  const index_t most = std::max<index_t>(1, matrix_.rows() / (least_coarsening * near_kernel.cols));
  const double share = is_finest ? strong_share : strong_coarse_share;
  const Aggregates neighbourhoods = ops.neighbourhoods(backend, matrix_.view(), nodes, share);
  if (neighbourhoods.count <= most) transfer_by(neighbourhoods);
  // P has weak couplings as well: those between small aggregates fill the next matrix.
  if (neighbourhoods.count > most || (transfer_ && transfer_->coarse().nnz() > matrix_.nnz())) {
    const index_t count = std::clamp<index_t>(nodes.blocks() / matched_nodes, 1, most);
    transfer_by(ops.aggregate(backend, matrix_.view(), nodes, count));
  }
  if (!transfer_) {
    relaxation_ = 0;
    return;
  }
  transfer_->refresh();
  const SparseMatrix<T>& coarse = transfer_->coarse();
  const BlockPartition coarse_nodes = transfer_->nodes(near_kernel.cols);
  const bool is_last = coarse.rows() <= options.coarsest;
  next_ = std::make_unique<GridLevel>(
      coarse, smoother_of(coarse, is_last ? BlockPartition::uniform(coarse.rows(), coarse.rows()) : coarse_nodes),
      coarse_nodes, transfer_->restricted(near_kernel), false, options);
  right_ = Array<T>(backend, static_cast<std::size_t>(coarse.rows()));
  answer_ = Array<T>(backend, right_.size());
}

template <Scalar T>
void GridLevel<T>::refresh() {
  smoother_.refresh(matrix_.values(), matrix_.nnz(), matrix_.backend().memory_space());
  if (!transfer_) return;
  transfer_->refresh();
  next_->refresh();
}

template <Scalar T>
void GridLevel<T>::cycle(VectorView<const T> r, VectorView<T> z) const {
  if (!transfer_) return smoother_.apply(r, z);
  KrylovOps<T>& ops = krylov_ops<T>(matrix_.backend());
  C* const left = compute_cast(left_.data());
  smoother_.apply(T(relaxation_), r, T(0), z);
  ops.residual(product_.impl(), compute_cast(r.data), compute_cast(static_cast<const T*>(z.data)), left);
  transfer_->restrict(left, compute_cast(right_.data()));
  next_->cycle(right_.view(), {answer_.data(), static_cast<index_t>(answer_.size()), z.space});
  transfer_->add_prolonged(compute_cast(static_cast<const T*>(answer_.data())), compute_cast(z.data));
  ops.residual(product_.impl(), compute_cast(r.data), compute_cast(static_cast<const T*>(z.data)), left);
  smoother_.apply(T(relaxation_), left_.view(), T(1), z);
}

template <Scalar T>
void GridLevel<T>::add_to(MultigridReport& report) const {
  const bool is_finest = report.levels.empty();  // whose M has a report of its own
  report.levels.push_back({matrix_.rows(), matrix_.nnz(), static_cast<double>(relaxation_)});
  const std::vector<int> infos = is_finest ? std::vector<int>() : smoother_.info();
  const auto is_non_finite = [](int info) { return info < 0; };
  report.is_finite = report.is_finite && std::ranges::none_of(infos, is_non_finite);
  // Above the last level in a part of the system that is coupled with no other.
  report.is_singular = report.is_singular || std::ranges::any_of(infos, [](int info) { return info > 0; });
  if (next_) return next_->add_to(report);
  if (is_finest) return;
  // One block, or those of a level whose nodes nothing couples.
  for (const real_t<T> rcond : smoother_.rcond())  // NaN stays
    if (!std::isnan(report.rcond) && !(rcond >= report.rcond)) report.rcond = static_cast<double>(rcond);
}

template <Scalar T>
std::size_t GridLevel<T>::bytes() const {
  std::size_t all = left_.bytes() + right_.bytes() + answer_.bytes();
  if (transfer_) all += transfer_->bytes() + next_->smoother_.bytes() + next_->bytes();
  return all;
}

template <Scalar T>
MultigridImpl<T>::MultigridImpl(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi,
                                const NearKernel<T>& near_kernel, const MultigridOptions& options)
    : backend(matrix.backend()),
      finest(matrix, std::move(block_jacobi), BlockPartition::uniform(matrix.rows(), matrix.block_size().value_or(1)),
             near_kernel, true, options) {
  backend.synchronize();
}

template <Scalar T>
MultigridReport MultigridImpl<T>::report() const {
  MultigridReport report;
  finest.add_to(report);
  report.bytes = finest.bytes();
  return report;
}

template <Scalar T>
void MultigridImpl<T>::apply(const C* r, C* z) const {
  const Range range("multigrid cycle");
  const MemorySpace space = backend.memory_space();
  finest.cycle(VectorView<const T>(public_cast(r), rows(), space), VectorView<T>(public_cast(z), rows(), space));
}

namespace {

void require_options(const MultigridOptions& options) {
  const auto require = [](const char* name, index_t value, index_t least, index_t most) {
    if (value < least || value > most)
      throw InvalidArgument(message("Multigrid: {} is {}, must be in {}..{}", name, value, least, most));
  };
  require("coarsest", options.coarsest, 1, max_block_size);
  require("relaxed", options.relaxed, 0, max_block_size);
}

/// near_kernel() is asked once the arguments are known to be good.
template <Scalar T, class Make>
std::unique_ptr<MultigridImpl<T>> make_multigrid(const SparseMatrix<T>& matrix, BlockJacobi<T> M,
                                                 const MultigridOptions& options, Make near_kernel) {
  require_block_jacobi("Multigrid", matrix, M);
  const SparseMatrixOptions& stated = matrix.impl()->stated;
  constexpr const char* wanted = is_complex<T> ? "Hermitian" : "symmetric";
  const bool is_taken = is_hermitian_but_for_rounding(matrix);
  if (!is_taken && stated.symmetry)
    throw InvalidArgument(message("Multigrid: the matrix is not {}, as is stated with it", wanted));
  if (!is_taken)
    throw InvalidArgument(
        message("Multigrid: the matrix is not {}; forgiven as rounding is {} up to {:.1e} max(|a_ij|, |a_ji|, "
                "sqrt(|a_ii a_jj|)). Where you know better, state so (SparseMatrixOptions::symmetry, or a larger "
                "symmetry_tolerance)",
                wanted, is_complex<T> ? "|a_ij - conj(a_ji)|" : "|a_ij - a_ji|",
                std::max(stated.symmetry_tolerance, assembly_rounding<T>)));
  require_options(options);
  const NearKernel<T> vectors = near_kernel(M);
  return std::make_unique<MultigridImpl<T>>(matrix, std::move(M), vectors, options);
}

/// Of ones, or of relaxed vectors where there will be a level for them.
template <Scalar T>
NearKernel<T> found_near_kernel(const SparseMatrix<T>& matrix, const BlockJacobi<T>& M,
                                const MultigridOptions& options) {
  const index_t relaxed = options.relaxed;
  if (relaxed == 0 || matrix.rows() <= options.coarsest) return {matrix.rows(), matrix.block_size().value_or(1), {}};
  const std::vector<T> by_rows = relaxed_vectors(matrix, M, relaxed).to_host();
  return copied(MultiVectorView<const T>{by_rows.data(), matrix.rows(), relaxed, relaxed, Layout::row_major});
}

}  // namespace

}  // namespace detail

std::string to_text(const MultigridReport& r) {
  std::string text = detail::message("multigrid: {} level{}, {:.2f} MB\n", r.levels.size(),
                                     r.levels.size() == 1 ? "" : "s", static_cast<double>(r.bytes) * 1e-6);
  for (const MultigridLevel& level : r.levels)
    text += detail::message("  {} rows, {} entries{}\n", level.rows, level.nnz,
                            level.relaxation > 0.0 ? detail::message(", relaxation {:.2f}", level.relaxation) : "");
  if (!r.is_finite)
    text += "  a matrix below the first has NaN or Inf: its diagonal takes the place of inverses\n";
  else if (r.is_singular)
    text += detail::message("  a coarse matrix is singular (reciprocal condition of the last {:.2e}): pseudo-inverse\n",
                            r.rcond);
  return text;
}

template <Scalar T>
Multigrid<T>::Multigrid(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, const MultigridOptions& options)
    : impl_("Multigrid",
            detail::make_multigrid<T>(matrix, std::move(block_jacobi), options, [&](const BlockJacobi<T>& M) {
              return detail::found_near_kernel(matrix, M, options);
            })) {}

template <Scalar T>
Multigrid<T>::Multigrid(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, MultiVectorView<const T> vectors,
                        const MultigridOptions& options)
    : impl_("Multigrid", [&] {
        if (options.relaxed != 0)
          throw InvalidArgument(
              detail::message("Multigrid: relaxed is {}, must be 0 where vectors are given", options.relaxed));
        detail::require_near_kernel("Multigrid", matrix, vectors);
        return detail::make_multigrid<T>(matrix, std::move(block_jacobi), options,
                                         [&](const BlockJacobi<T>&) { return detail::copied(vectors); });
      }()) {}

template <Scalar T>
Multigrid<T>::Multigrid(Multigrid&&) noexcept = default;
template <Scalar T>
Multigrid<T>& Multigrid<T>::operator=(Multigrid&&) noexcept = default;
template <Scalar T>
Multigrid<T>::~Multigrid() = default;

template <Scalar T>
void Multigrid<T>::refresh() {
  const detail::Range range("multigrid set-up");
  impl_->finest.refresh();
}

template <Scalar T>
void Multigrid<T>::apply(VectorView<const T> r, VectorView<T> z) const {
  detail::require_vectors<T>({"Multigrid::apply", "Multigrid::apply: r", "Multigrid::apply: z"}, impl_->backend,
                             impl_->rows(), r, z);
  impl_->apply(detail::compute_cast(r.data), detail::compute_cast(z.data));
}

template <Scalar T>
MultigridReport Multigrid<T>::report() const {
  return impl_->report();
}

template <Scalar T>
const BlockJacobi<T>& Multigrid<T>::block_jacobi() const {
  return impl_->finest.smoother();
}

template <Scalar T>
const Backend& Multigrid<T>::backend() const {
  return impl_->backend;
}

template <Scalar T>
index_t Multigrid<T>::rows() const {
  return impl_->rows();
}

template <Scalar T>
const detail::PreconditionerImpl<T>& Multigrid<T>::preconditioner() const {
  return *impl_;
}

#define BLOCKJACOBI_INSTANTIATE(T)         \
  template class detail::GridTransfer<T>;  \
  template class detail::GridLevel<T>;     \
  template class detail::MultigridImpl<T>; \
  template class Multigrid<T>
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
