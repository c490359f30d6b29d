#include "batched/checks.hpp"

namespace blockjacobi::batched {

using detail::batched_ops, detail::BatchedChecks, detail::resolved, detail::resolved_output;

template <Scalar T>
void potrf(const Backend& backend, Triangle triangle, MatrixBatchView<T> a, int* info) {
  const BatchedChecks<T> check("potrf", backend);
  check.enumerator("triangle", triangle, Triangle::upper);
  check.square("a", a);
  check.array("info", info, 1, a.count);
  if (a.count > 0) batched_ops<T>(backend).potrf(triangle, resolved(a), info);
}

template <Scalar T>
void potri(const Backend& backend, Triangle triangle, MatrixBatchView<T> a, int* info) {
  const BatchedChecks<T> check("potri", backend);
  check.enumerator("triangle", triangle, Triangle::upper);
  check.square("a", a);
  check.array("info", info, 1, a.count);
  if (a.count > 0) batched_ops<T>(backend).potri(triangle, resolved(a), info);
}

template <Scalar T>
void spd_inverse(const Backend& backend, Triangle triangle, std::type_identity_t<MatrixBatchView<const T>> a,
                 MatrixBatchView<T> x, SpdStorage storage, int* info) {
  const BatchedChecks<T> check("spd_inverse", backend);
  check.enumerator("triangle", triangle, Triangle::upper);
  check.square("a", a);
  check.enumerator("storage", storage, SpdStorage::packed);
  if (storage == SpdStorage::packed)
    check.packed_output(a, x);
  else
    check.output(a, x);
  check.array("info", info, 1, a.count);
  if (a.count > 0) batched_ops<T>(backend).spd_inverse(triangle, resolved(a), resolved_output(a, x), storage, info);
}

template <Scalar T>
void potrs(const Backend& backend, Triangle triangle, std::type_identity_t<MatrixBatchView<const T>> cholesky,
           MatrixBatchView<T> b) {
  const BatchedChecks<T> check("potrs", backend);
  check.enumerator("triangle", triangle, Triangle::upper);
  check.square("cholesky", cholesky);
  check.right_hand_sides("cholesky", cholesky, b);
  if (cholesky.count > 0 && b.cols > 0) batched_ops<T>(backend).potrs(triangle, resolved(cholesky), resolved(b));
}

template BLOCKJACOBI_EXPORT void potrf(const Backend&, Triangle, MatrixBatchView<float>, int*);
template BLOCKJACOBI_EXPORT void potrf(const Backend&, Triangle, MatrixBatchView<double>, int*);
template BLOCKJACOBI_EXPORT void potrf(const Backend&, Triangle, MatrixBatchView<std::complex<float>>, int*);
template BLOCKJACOBI_EXPORT void potrf(const Backend&, Triangle, MatrixBatchView<std::complex<double>>, int*);

template BLOCKJACOBI_EXPORT void potri(const Backend&, Triangle, MatrixBatchView<float>, int*);
template BLOCKJACOBI_EXPORT void potri(const Backend&, Triangle, MatrixBatchView<double>, int*);
template BLOCKJACOBI_EXPORT void potri(const Backend&, Triangle, MatrixBatchView<std::complex<float>>, int*);
template BLOCKJACOBI_EXPORT void potri(const Backend&, Triangle, MatrixBatchView<std::complex<double>>, int*);

template BLOCKJACOBI_EXPORT void spd_inverse(const Backend&, Triangle, MatrixBatchView<const float>,
                                             MatrixBatchView<float>, SpdStorage, int*);
template BLOCKJACOBI_EXPORT void spd_inverse(const Backend&, Triangle, MatrixBatchView<const double>,
                                             MatrixBatchView<double>, SpdStorage, int*);
template BLOCKJACOBI_EXPORT void spd_inverse(const Backend&, Triangle, MatrixBatchView<const std::complex<float>>,
                                             MatrixBatchView<std::complex<float>>, SpdStorage, int*);
template BLOCKJACOBI_EXPORT void spd_inverse(const Backend&, Triangle, MatrixBatchView<const std::complex<double>>,
                                             MatrixBatchView<std::complex<double>>, SpdStorage, int*);

template BLOCKJACOBI_EXPORT void potrs(const Backend&, Triangle, MatrixBatchView<const float>, MatrixBatchView<float>);
template BLOCKJACOBI_EXPORT void potrs(const Backend&, Triangle, MatrixBatchView<const double>,
                                       MatrixBatchView<double>);
template BLOCKJACOBI_EXPORT void potrs(const Backend&, Triangle, MatrixBatchView<const std::complex<float>>,
                                       MatrixBatchView<std::complex<float>>);
template BLOCKJACOBI_EXPORT void potrs(const Backend&, Triangle, MatrixBatchView<const std::complex<double>>,
                                       MatrixBatchView<std::complex<double>>);

}  // namespace blockjacobi::batched
