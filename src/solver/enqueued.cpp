#include "solver/enqueued.hpp"

#include "backend/require.hpp"

#include <fmt/format.h>

namespace blockjacobi::detail {

namespace {

template <Scalar T>
const LinearOperator<T>& checked(const char* solver, const LinearOperator<T>& A, const Preconditioner<T>& M,
                                 const SolveOptions& options) {
  require_preconditioner(solver, A, M);
  require_options(solver, options);
  if (!A.impl().capturable() || (M.impl() != nullptr && !M.impl()->capturable()))
    throw InvalidArgument(fmt::format("{}: the {} is a function with Capture::no", solver,
                                      A.impl().capturable() ? "preconditioner" : "matrix"));
  if (options.max_seconds > 0.0 || options.progress)
    throw InvalidArgument(fmt::format("{}: an enqueued solve asks neither clock (max_seconds) nor callback (progress)",
                                      solver));
  return A;
}

}  // namespace

template <Scalar T>
Enqueued<T>::Enqueued(const char* solver, const LinearOperator<T>& A, const Preconditioner<T>& M,
                      const SolveOptions& options)
    : A_(checked(solver, A, M, options)), M_(M), parts_(A_, M_, options) {}

template <Scalar T>
void Enqueued<T>::require_vectors(const char* solver, const VectorView<const T>& b, const VectorView<T>& x,
                                  const SolveStatus* status) const {
  const std::string name_b = fmt::format("{}: b", solver), name_x = fmt::format("{}: x", solver);
  require_vector(name_b.c_str(), b, A_.rows());
  require_vector(name_x.c_str(), x, A_.rows());
  require_space(name_b.c_str(), b, A_.backend());
  require_space(name_x.c_str(), x, A_.backend());
  require_disjoint(solver, b, x);
  if (status == nullptr) throw InvalidArgument(fmt::format("{}: status is a null pointer", solver));
}

template class Enqueued<float>;
template class Enqueued<double>;
template class Enqueued<std::complex<float>>;
template class Enqueued<std::complex<double>>;

}  // namespace blockjacobi::detail
