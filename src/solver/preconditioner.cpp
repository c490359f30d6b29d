#include "backend/require.hpp"
#include "core/message.hpp"
#include "solver/callback.hpp"

#include <blockjacobi/multigrid.hpp>
#include <blockjacobi/solver.hpp>
#include <blockjacobi/two_level.hpp>

namespace blockjacobi {

template <Scalar T>
Preconditioner<T>::Preconditioner(const BlockJacobi<T>& block_jacobi)
    : backend_(block_jacobi.backend()), impl_(std::shared_ptr<void>(), &block_jacobi.preconditioner()) {}

template <Scalar T>
Preconditioner<T>::Preconditioner(const TwoLevel<T>& two_level)
    : backend_(two_level.backend()), impl_(std::shared_ptr<void>(), &two_level.preconditioner()) {}

template <Scalar T>
Preconditioner<T>::Preconditioner(const Multigrid<T>& multigrid)
    : backend_(multigrid.backend()), impl_(std::shared_ptr<void>(), &multigrid.preconditioner()) {}

template <Scalar T>
Preconditioner<T>::Preconditioner(const Backend& backend, index_t rows, VectorFunction<T> solve, Capture capture)
    : backend_(backend) {
  if (rows < 0) throw InvalidArgument(detail::message("Preconditioner: rows is {}, must be >= 0", rows));
  if (!solve) throw InvalidArgument("Preconditioner: the function is empty");
  impl_ = std::make_shared<detail::Callback<detail::PreconditionerImpl<T>, T>>(backend.memory_space(), rows,
                                                                               std::move(solve), capture);
}

template class Preconditioner<float>;
template class Preconditioner<double>;
template class Preconditioner<std::complex<float>>;
template class Preconditioner<std::complex<double>>;

}  // namespace blockjacobi
