#include "batched/checks.hpp"

namespace blockjacobi::batched {

using detail::batched_ops, detail::BatchedChecks, detail::resolved, detail::resolved_output;

template <Scalar T>
void getrf(const Backend& backend, MatrixBatchView<T> a, index_t* ipiv, int* info) {
  const BatchedChecks<T> check("getrf", backend);
  check.square("a", a);
  check.array("ipiv", ipiv, a.rows, a.count);
  check.array("info", info, 1, a.count);
  if (a.count > 0) batched_ops<T>(backend).getrf(resolved(a), ipiv, info);
}

template <Scalar T>
void getri(const Backend& backend, std::type_identity_t<MatrixBatchView<const T>> lu, const index_t* ipiv,
           MatrixBatchView<T> x, int* info) {
  const BatchedChecks<T> check("getri", backend);
  check.square("lu", lu);
  check.output(lu, x);
  check.array("ipiv", ipiv, lu.rows, lu.count);
  check.array("info", info, 1, lu.count);
  if (lu.count > 0) batched_ops<T>(backend).getri(resolved(lu), ipiv, resolved_output(lu, x), info);
}

template <Scalar T>
void inverse(const Backend& backend, std::type_identity_t<MatrixBatchView<const T>> a, MatrixBatchView<T> x,
             int* info) {
  const BatchedChecks<T> check("inverse", backend);
  check.square("a", a);
  check.output(a, x);
  check.array("info", info, 1, a.count);
  if (a.count > 0) batched_ops<T>(backend).inverse(resolved(a), resolved_output(a, x), info);
}

template <Scalar T>
void getrs(const Backend& backend, Op op, std::type_identity_t<MatrixBatchView<const T>> lu, const index_t* ipiv,
           MatrixBatchView<T> b) {
  const BatchedChecks<T> check("getrs", backend);
  check.enumerator("op", op, Op::conjugate_transpose);
  check.square("lu", lu);
  check.right_hand_sides("lu", lu, b);
  check.array("ipiv", ipiv, lu.rows, lu.count);
  if (lu.count > 0 && b.cols > 0) batched_ops<T>(backend).getrs(op, resolved(lu), ipiv, resolved(b));
}

template BLOCKJACOBI_EXPORT void getrf(const Backend&, MatrixBatchView<float>, index_t*, int*);
template BLOCKJACOBI_EXPORT void getrf(const Backend&, MatrixBatchView<double>, index_t*, int*);
template BLOCKJACOBI_EXPORT void getrf(const Backend&, MatrixBatchView<std::complex<float>>, index_t*, int*);
template BLOCKJACOBI_EXPORT void getrf(const Backend&, MatrixBatchView<std::complex<double>>, index_t*, int*);

template BLOCKJACOBI_EXPORT void getri(const Backend&, MatrixBatchView<const float>, const index_t*,
                                       MatrixBatchView<float>, int*);
template BLOCKJACOBI_EXPORT void getri(const Backend&, MatrixBatchView<const double>, const index_t*,
                                       MatrixBatchView<double>, int*);
template BLOCKJACOBI_EXPORT void getri(const Backend&, MatrixBatchView<const std::complex<float>>, const index_t*,
                                       MatrixBatchView<std::complex<float>>, int*);
template BLOCKJACOBI_EXPORT void getri(const Backend&, MatrixBatchView<const std::complex<double>>, const index_t*,
                                       MatrixBatchView<std::complex<double>>, int*);

template BLOCKJACOBI_EXPORT void inverse(const Backend&, MatrixBatchView<const float>, MatrixBatchView<float>, int*);
template BLOCKJACOBI_EXPORT void inverse(const Backend&, MatrixBatchView<const double>, MatrixBatchView<double>, int*);
template BLOCKJACOBI_EXPORT void inverse(const Backend&, MatrixBatchView<const std::complex<float>>,
                                         MatrixBatchView<std::complex<float>>, int*);
template BLOCKJACOBI_EXPORT void inverse(const Backend&, MatrixBatchView<const std::complex<double>>,
                                         MatrixBatchView<std::complex<double>>, int*);

template BLOCKJACOBI_EXPORT void getrs(const Backend&, Op, MatrixBatchView<const float>, const index_t*,
                                       MatrixBatchView<float>);
template BLOCKJACOBI_EXPORT void getrs(const Backend&, Op, MatrixBatchView<const double>, const index_t*,
                                       MatrixBatchView<double>);
template BLOCKJACOBI_EXPORT void getrs(const Backend&, Op, MatrixBatchView<const std::complex<float>>, const index_t*,
                                       MatrixBatchView<std::complex<float>>);
template BLOCKJACOBI_EXPORT void getrs(const Backend&, Op, MatrixBatchView<const std::complex<double>>, const index_t*,
                                       MatrixBatchView<std::complex<double>>);

}  // namespace blockjacobi::batched
