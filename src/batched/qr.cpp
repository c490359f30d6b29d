#include "batched/checks.hpp"

#include <algorithm>

namespace blockjacobi::batched {

using detail::batched_ops, detail::BatchedChecks, detail::resolved, detail::resolved_output;

template <Scalar T>
void geqrf(const Backend& backend, MatrixBatchView<T> a, std::type_identity_t<T>* tau) {
  const BatchedChecks<T> check("geqrf", backend);
  check.matrices("a", a);
  check.array("tau", tau, std::min(a.rows, a.cols), a.count);
  if (a.count > 0) batched_ops<T>(backend).geqrf(resolved(a), tau);
}

template <Scalar T>
void pseudo_inverse(const Backend& backend, std::type_identity_t<MatrixBatchView<const T>> a, MatrixBatchView<T> x,
                    double rtol, index_t* rank) {
  const BatchedChecks<T> check("pseudo_inverse", backend);
  check.square("a", a);
  check.output(a, x);
  check.array("rank", rank, 1, a.count);
  check.relative_tolerance(rtol);
  if (a.count > 0) batched_ops<T>(backend).pseudo_inverse(resolved(a), resolved_output(a, x), rtol, rank);
}

template BLOCKJACOBI_EXPORT void geqrf(const Backend&, MatrixBatchView<float>, float*);
template BLOCKJACOBI_EXPORT void geqrf(const Backend&, MatrixBatchView<double>, double*);
template BLOCKJACOBI_EXPORT void geqrf(const Backend&, MatrixBatchView<std::complex<float>>, std::complex<float>*);
template BLOCKJACOBI_EXPORT void geqrf(const Backend&, MatrixBatchView<std::complex<double>>, std::complex<double>*);

template BLOCKJACOBI_EXPORT void pseudo_inverse(const Backend&, MatrixBatchView<const float>, MatrixBatchView<float>,
                                                double, index_t*);
template BLOCKJACOBI_EXPORT void pseudo_inverse(const Backend&, MatrixBatchView<const double>, MatrixBatchView<double>,
                                                double, index_t*);
template BLOCKJACOBI_EXPORT void pseudo_inverse(const Backend&, MatrixBatchView<const std::complex<float>>,
                                                MatrixBatchView<std::complex<float>>, double, index_t*);
template BLOCKJACOBI_EXPORT void pseudo_inverse(const Backend&, MatrixBatchView<const std::complex<double>>,
                                                MatrixBatchView<std::complex<double>>, double, index_t*);

}  // namespace blockjacobi::batched
