#include <blockjacobi/renumbering.hpp>

#include "core/require_columns.hpp"

namespace blockjacobi {

bool keeps_nodes(const Permutation& permutation, index_t b) {
  if (b < 1) throw InvalidArgument(detail::message("keeps_nodes: b is {}, must be >= 1", b));
  const std::span<const index_t> order = permutation.order();
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto c = static_cast<index_t>(k % static_cast<std::size_t>(b));
    if (order[k] % b != c || order[k] - order[k - static_cast<std::size_t>(c)] != c) return false;
  }
  return true;
}

template <Scalar T>
Renumbering<T>::Renumbering(const Backend& backend, Permutation permutation)
    : permutation_(std::move(permutation)),
      to_permuted_(backend, permutation_.order(), permutation_.size()),
      to_original_(backend, permutation_.inverse().order(), permutation_.size()) {}

template <Scalar T>
void Renumbering<T>::require_around(const In& R, const Out& Z, const Array<T>& work) const {
  const index_t rows = permutation_.size();
  detail::require_columns("Renumbering::around: R", R, rows, "Renumbering::around: Z", Z, rows, backend());
  detail::require_space("Renumbering::around: work", VectorView<const T>(work.data(), 0, work.backend().memory_space()),
                        backend());
  const std::size_t needed = 2 * static_cast<std::size_t>(R.rows) * static_cast<std::size_t>(R.cols);
  if (work.size() < needed)
    throw InvalidArgument(
        detail::message("Renumbering::around: work has {} elements, must have {}", work.size(), needed));
}

template class Renumbering<float>;
template class Renumbering<double>;
template class Renumbering<std::complex<float>>;
template class Renumbering<std::complex<double>>;

}  // namespace blockjacobi
