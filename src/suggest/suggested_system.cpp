#include <blockjacobi/suggested_system.hpp>

#include "backend/require.hpp"
#include "core/message.hpp"

#include <blockjacobi/renumbering.hpp>

#include <optional>
#include <variant>

namespace blockjacobi {

namespace detail {

namespace {

template <Scalar T>
const BlockCandidate& checked(const SparseMatrix<T>& matrix, const BlockCandidate& candidate) {
  if (candidate.blocks.rows() != matrix.rows() || candidate.permutation.size() != matrix.rows())
    throw InvalidArgument(
        message("SuggestedSystem: the candidate has {} rows in blocks and {} in its permutation, the "
                "matrix {}",
                candidate.blocks.rows(), candidate.permutation.size(), matrix.rows()));
  if (candidate.coarse && candidate.multigrid)
    throw InvalidArgument("SuggestedSystem: the candidate has a coarse level and a multigrid, must have one at most");
  return candidate;
}

template <Scalar T>
using Held = std::variant<BlockJacobi<T>, TwoLevel<T>, Multigrid<T>>;

template <Scalar T>
Held<T> held(const SparseMatrix<T>& matrix, const BlockCandidate& candidate, const BlockJacobiOptions& options) {
  BlockJacobi<T> M(matrix, candidate.blocks, options);
  if (candidate.multigrid) return Multigrid<T>(matrix, std::move(M), *candidate.multigrid);
  if (candidate.coarse) return TwoLevel<T>(matrix, std::move(M), *candidate.coarse);
  return M;
}

}  // namespace

template <Scalar T>
class SuggestedSystemImpl {
 public:
  SuggestedSystemImpl(const SparseMatrix<T>& matrix, const BlockCandidate& candidate, const BlockJacobiOptions& options)
      : given_(matrix),
        permutation_(checked(matrix, candidate).permutation),
        own_(renumbered()),
        held_(held(system(), candidate, options)) {}

  void refresh() {
    if (own_) own_->update_values(given_.values(), given_.nnz(), backend().memory_space());
    if (auto* const jacobi = std::get_if<BlockJacobi<T>>(&held_))
      jacobi->refresh(system().values(), system().nnz(), backend().memory_space());
    else if (auto* const two_level = std::get_if<TwoLevel<T>>(&held_))
      two_level->refresh();
    else
      std::get<Multigrid<T>>(held_).refresh();
  }

  SolveReport solve(Method method, VectorView<const T> b, VectorView<T> x, const SolveOptions& options) const {
    require_enumerator("SuggestedSystem::solve", "method", method, Method::gmres);
    const auto run = [&](VectorView<const T> right, VectorView<T> left) {
      return method == Method::cg ? cg(LinearOperator<T>(system()), preconditioner(), right, left, options)
                                  : gmres(LinearOperator<T>(system()), preconditioner(), right, left, options);
    };
    if (!renumbering_) return run(b, x);
    require_vector("SuggestedSystem::solve: b", b, system().rows());
    require_vector("SuggestedSystem::solve: x", x, system().rows());
    if (b.space != MemorySpace::host) require_space("SuggestedSystem::solve: b", b, backend());
    if (x.space != MemorySpace::host) require_space("SuggestedSystem::solve: x", x, backend());
    require_disjoint("SuggestedSystem::solve", b, x);
    const auto n = static_cast<std::size_t>(system().rows());
    Array<T> staged(backend(), n), right(backend(), n), left(backend(), n);
    renumbering_->to_permuted(there(b, staged), right.view());
    renumbering_->to_permuted(there(x, staged), left.view());
    const SolveReport report = run(std::as_const(right).view(), left.view());
    const bool staged_x = x.space != backend().memory_space();
    renumbering_->to_original(std::as_const(left).view(), staged_x ? staged.view() : x);
    if (staged_x) staged.copy_to_host(x.data);
    return report;
  }

  const Backend& backend() const { return given_.backend(); }
  const SparseMatrix<T>& system() const { return own_ ? *own_ : given_; }
  Preconditioner<T> preconditioner() const {
    return std::visit([](const auto& M) { return Preconditioner<T>(M); }, held_);
  }
  const Permutation& permutation() const { return permutation_; }

 private:
  std::optional<SparseMatrix<T>> renumbered() {
    if (permutation_.is_identity()) return std::nullopt;
    renumbering_.emplace(backend(), permutation_);
    return given_.renumbered(permutation_);
  }

  /// In backend memory.
  VectorView<const T> there(VectorView<const T> v, Array<T>& staged) const {
    if (v.space == backend().memory_space()) return v;
    staged.copy_from_host(v.data);
    return staged.view();
  }

  SparseMatrix<T> given_;
  Permutation permutation_;
  std::optional<Renumbering<T>> renumbering_;
  std::optional<SparseMatrix<T>> own_;
  Held<T> held_;
};

}  // namespace detail

template <Scalar T>
SuggestedSystem<T>::SuggestedSystem(const SparseMatrix<T>& matrix, const BlockCandidate& candidate,
                                    const BlockJacobiOptions& options)
    : impl_("SuggestedSystem", std::make_unique<detail::SuggestedSystemImpl<T>>(matrix, candidate, options)) {}
template <Scalar T>
SuggestedSystem<T>::SuggestedSystem(SuggestedSystem&&) noexcept = default;
template <Scalar T>
SuggestedSystem<T>& SuggestedSystem<T>::operator=(SuggestedSystem&&) noexcept = default;
template <Scalar T>
SuggestedSystem<T>::~SuggestedSystem() = default;

template <Scalar T>
void SuggestedSystem<T>::refresh() {
  impl_->refresh();
}
template <Scalar T>
SolveReport SuggestedSystem<T>::solve(Method method, VectorView<const T> b, VectorView<T> x,
                                      const SolveOptions& options) const {
  return impl_->solve(method, b, x, options);
}
template <Scalar T>
const SparseMatrix<T>& SuggestedSystem<T>::matrix() const {
  return impl_->system();
}
template <Scalar T>
Preconditioner<T> SuggestedSystem<T>::preconditioner() const {
  return impl_->preconditioner();
}
template <Scalar T>
const Permutation& SuggestedSystem<T>::permutation() const {
  return impl_->permutation();
}

template class SuggestedSystem<float>;
template class SuggestedSystem<double>;
template class SuggestedSystem<std::complex<float>>;
template class SuggestedSystem<std::complex<double>>;

}  // namespace blockjacobi
