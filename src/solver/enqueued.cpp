#include "solver/enqueued.hpp"

#include "backend/require.hpp"
#include "core/message.hpp"

namespace blockjacobi::detail {

namespace {

template <Scalar T>
const LinearOperator<T>& checked(const char* solver, const LinearOperator<T>& A, const Preconditioner<T>& M,
                                 const SolveOptions& options) {
  require_preconditioner(solver, A, M);
  require_options(solver, options);
  if (!A.impl().capturable() || (M.impl() != nullptr && !M.impl()->capturable()))
    throw InvalidArgument(message("{}: the {} is a function with Capture::no", solver,
                                  A.impl().capturable() ? "preconditioner" : "matrix"));
  if (options.max_seconds > 0.0 || options.progress)
    throw InvalidArgument(
        message("{}: an enqueued solve asks neither clock (max_seconds) nor callback (progress)", solver));
  return A;
}

}  // namespace

template <Scalar T>
Enqueued<T>::Enqueued(const char* solver, const LinearOperator<T>& A, const Preconditioner<T>& M,
                      const SolveOptions& options)
    : A_(checked(solver, A, M, options)),
      M_(M),
      parts_(A_, M_, options),
      reductions_(parts_.backend.impl().make_reductions()) {}

template <Scalar T>
void Enqueued<T>::require_vectors(const EnqueueNames& names, const VectorView<const T>& b, const VectorView<T>& x,
                                  const SolveStatus* status) const {
  require_vector(names.b, b, A_.rows());
  require_vector(names.x, x, A_.rows());
  require_space(names.b, b, A_.backend());
  require_space(names.x, x, A_.backend());
  require_disjoint(names.function, b, x);
  if (status == nullptr) throw InvalidArgument(message("{} is a null pointer", names.status));
  A_.backend().impl().require_no_error(names.function);
}

template class Enqueued<float>;
template class Enqueued<double>;
template class Enqueued<std::complex<float>>;
template class Enqueued<std::complex<double>>;

}  // namespace blockjacobi::detail
