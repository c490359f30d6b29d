#include <blockjacobi/gather.hpp>

#include "backend/backend_impl.hpp"
#include "core/require_columns.hpp"

#include <limits>
#include <vector>

namespace blockjacobi {

namespace {

template <class Number>
std::vector<offset_t> checked(std::span<const Number> from, offset_t sources) {
  constexpr offset_t most = std::numeric_limits<index_t>::max();
  if (sources < 0 || sources > most)
    throw InvalidArgument(detail::message("Gather: there are {} sources, must be 0..{}", sources, most));
  if (from.size() > static_cast<std::size_t>(most))
    throw InvalidArgument(detail::message("Gather: there are {} numbers, can be {}", from.size(), most));
  for (std::size_t k = 0; k < from.size(); ++k)
    if (from[k] < 0 || from[k] >= sources)
      throw InvalidArgument(detail::message("Gather: from[{}] is {}, must be in 0..{}", k, from[k], sources - 1));
  return {from.begin(), from.end()};
}

}  // namespace

template <Scalar T>
Gather<T>::Gather(const Backend& backend, std::span<const index_t> from, offset_t sources)
    : from_(backend, checked(from, sources)), sources_(static_cast<index_t>(sources)) {}
template <Scalar T>
Gather<T>::Gather(const Backend& backend, std::span<const offset_t> from, offset_t sources)
    : from_(backend, checked(from, sources)), sources_(static_cast<index_t>(sources)) {}

template <Scalar T>
void Gather<T>::apply(VectorView<const T> x, VectorView<T> y) const {
  detail::require_vector("Gather::apply: x", x, sources());
  detail::require_vector("Gather::apply: y", y, size());
  detail::require_space("Gather::apply: x", x, backend());
  detail::require_space("Gather::apply: y", y, backend());
  detail::require_disjoint("Gather::apply", x, y);
  enqueue(x.data, y.data);
}

template <Scalar T>
void Gather<T>::apply(MultiVectorView<const T> X, MultiVectorView<T> Y) const {
  detail::require_columns("Gather::apply: X", X, sources(), "Gather::apply: Y", Y, size(), backend());
  detail::require_disjoint("Gather::apply", X, Y);
  for (index_t j = 0; j < X.cols; ++j) enqueue(X.data + j * X.ld, Y.data + j * Y.ld);
}

template <Scalar T>
void Gather<T>::enqueue(const T* x, T* y) const {
  // An element of block rows is the sum over a chain of values, here of one.
  detail::krylov_ops<T>(backend()).bsr_fill({static_cast<offset_t>(from_.size()), from_.data(), nullptr}, x, y);
}

template class Gather<float>;
template class Gather<double>;
template class Gather<std::complex<float>>;
template class Gather<std::complex<double>>;

}  // namespace blockjacobi
