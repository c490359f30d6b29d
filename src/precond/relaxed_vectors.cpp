#include "precond/relaxed_vectors.hpp"

#include "core/random_vector.hpp"
#include "core/symmetry.hpp"

#include <blockjacobi/solver.hpp>

namespace blockjacobi::detail {

namespace {

constexpr index_t relaxing_iterations = 15;

bool is_definite_so_far(StopReason reason) {
  return reason == StopReason::converged || reason == StopReason::max_iterations;
}

/// Of A x = r, from x = 0.
template <Scalar T>
void iterate(const LinearOperator<T>& A, const BlockJacobi<T>& M, bool is_hermitian, const Array<T>& r, Array<T>& x) {
  SolveOptions options;
  options.rtol = 0.0;
  options.max_iterations = options.restart = relaxing_iterations;
  options.history = false;
  x.zero();
  if (is_hermitian && is_definite_so_far(cg(A, M, r.view(), x.view(), options).reason)) return;
  x.zero();
  static_cast<void>(gmres(A, M, r.view(), x.view(), options));
}

}  // namespace

template <Scalar T>
Array<T> relaxed_vectors(const SparseMatrix<T>& matrix, const BlockJacobi<T>& M, index_t count) {
  const LinearOperator<T> A(matrix);
  const auto n = static_cast<std::size_t>(matrix.rows());
  const bool is_hermitian = is_hermitian_but_for_rounding(matrix);
  const auto columns = static_cast<std::size_t>(count);
  std::vector<T> vectors(n * columns);
  Array<T> r(matrix.backend(), n), x(matrix.backend(), n);
  for (index_t k = 0; k < count; ++k) {
    const std::vector<T> start =
        k == 0 ? std::vector<T>(n, T(1)) : random_vector<T>(matrix.rows(), static_cast<std::uint64_t>(k));
    const Array<T> error(matrix.backend(), start);
    A.apply(error.view(), r.view());
    iterate(A, M, is_hermitian, r, x);
    const std::vector<T> found = x.to_host();
    for (std::size_t i = 0; i < n; ++i) vectors[i * columns + static_cast<std::size_t>(k)] = start[i] - found[i];
  }
  return Array<T>(matrix.backend(), vectors);
}

#define BLOCKJACOBI_INSTANTIATE(T) \
  template Array<T> relaxed_vectors(const SparseMatrix<T>&, const BlockJacobi<T>&, index_t)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
