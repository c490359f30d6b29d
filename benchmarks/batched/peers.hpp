#pragma once

#include "batched/device.hpp"

#include <complex>
#include <memory>

namespace bench {

/// CUDA's complex types have the bytes of std::complex.
template <class T>
struct CudaScalar {
  using type = T;
};
template <>
struct CudaScalar<std::complex<float>> {
  using type = cuComplex;
};
template <>
struct CudaScalar<std::complex<double>> {
  using type = cuDoubleComplex;
};
template <class T>
using cuda_t = typename CudaScalar<T>::type;

/// A batch as the peers want it: arrays of pointers on the device.
template <class T>
class PeerBatch {
 public:
  PeerBatch(Device& device_, int n_, std::size_t count, T* a, T* x, T* tau, int* ipiv_, int* info_)
      : device(device_), n(n_), batch(static_cast<int>(count)), ipiv(ipiv_), info(info_), pointers_(3 * count) {
    const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    std::vector<cuda_t<T>*> addresses(3 * count);
    for (std::size_t k = 0; k < count; ++k) {
      addresses[k] = reinterpret_cast<cuda_t<T>*>(a + k * size);
      addresses[count + k] = reinterpret_cast<cuda_t<T>*>(x + k * size);
      addresses[2 * count + k] = reinterpret_cast<cuda_t<T>*>(tau + k * static_cast<std::size_t>(n));
    }
    pointers_.fill(addresses);
  }
  cuda_t<T>** a() const { return pointers_.data(); }
  cuda_t<T>** x() const { return pointers_.data() + batch; }
  cuda_t<T>** tau() const { return pointers_.data() + 2 * static_cast<std::ptrdiff_t>(batch); }

  Device& device;
  int n, batch;
  int *ipiv, *info;

 private:
  Buffer<cuda_t<T>*> pointers_;
};

template <class T>
struct Peer {
  std::string name;
  std::function<void(PeerBatch<T>&)> run;
};

/// The functions of the peers for one scalar.
template <class T>
struct Functions;
template <>
struct Functions<float> {
  static constexpr auto getrf = cublasSgetrfBatched;
  static constexpr auto getri = cublasSgetriBatched;
  static constexpr auto matinv = cublasSmatinvBatched;
  static constexpr auto geqrf = cublasSgeqrfBatched;
  static constexpr auto potrf = cusolverDnSpotrfBatched;
};
template <>
struct Functions<double> {
  static constexpr auto getrf = cublasDgetrfBatched;
  static constexpr auto getri = cublasDgetriBatched;
  static constexpr auto matinv = cublasDmatinvBatched;
  static constexpr auto geqrf = cublasDgeqrfBatched;
  static constexpr auto potrf = cusolverDnDpotrfBatched;
};
template <>
struct Functions<std::complex<float>> {
  static constexpr auto getrf = cublasCgetrfBatched;
  static constexpr auto getri = cublasCgetriBatched;
  static constexpr auto matinv = cublasCmatinvBatched;
  static constexpr auto geqrf = cublasCgeqrfBatched;
  static constexpr auto potrf = cusolverDnCpotrfBatched;
};
template <>
struct Functions<std::complex<double>> {
  static constexpr auto getrf = cublasZgetrfBatched;
  static constexpr auto getri = cublasZgetriBatched;
  static constexpr auto matinv = cublasZmatinvBatched;
  static constexpr auto geqrf = cublasZgeqrfBatched;
  static constexpr auto potrf = cusolverDnZpotrfBatched;
};

/// What the toolkit's libraries offer for an operation.
template <class T>
std::vector<Peer<T>> peers_of(const std::string& operation, int n) {
  using F = Functions<T>;
  const Peer<T> lu{"cublas",
                   [](PeerBatch<T>& b) { check(F::getrf(b.device.cublas, b.n, b.a(), b.n, b.ipiv, b.info, b.batch)); }};
  if (operation == "lu") return {lu};
  if (operation == "inverse") {
    std::vector<Peer<T>> peers{{"cublas", [lu](PeerBatch<T>& b) {
                                  lu.run(b);
                                  check(
                                      F::getri(b.device.cublas, b.n, b.a(), b.n, b.ipiv, b.x(), b.n, b.info, b.batch));
                                }}};
    if (n <= 32)
      peers.push_back({"cublas matinv", [](PeerBatch<T>& b) {
                         check(F::matinv(b.device.cublas, b.n, b.a(), b.n, b.x(), b.n, b.info, b.batch));
                       }});
    return peers;
  }
  if (operation == "cholesky")
    return {{"cusolver", [](PeerBatch<T>& b) {
               check(F::potrf(b.device.cusolver, CUBLAS_FILL_MODE_LOWER, b.n, b.a(), b.n, b.info, b.batch));
             }}};
  if (operation == "qr")
    return {{"cublas", [](PeerBatch<T>& b) {
               int status = 0;
               check(F::geqrf(b.device.cublas, b.n, b.n, b.a(), b.n, b.tau(), &status, b.batch));
             }}};
  return {};
}

}  // namespace bench
