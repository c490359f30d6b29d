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
      : device(device_),
        n(n_),
        batch(static_cast<int>(count)),
        matrices(a),
        inverses(x),
        ipiv(ipiv_),
        info(info_),
        pointers_(3 * count) {
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
  T *matrices, *inverses;
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
  static constexpr auto getrs = cublasSgetrsBatched;
  static constexpr auto matinv = cublasSmatinvBatched;
  static constexpr auto geqrf = cublasSgeqrfBatched;
  static constexpr auto potrf = cusolverDnSpotrfBatched;
  static constexpr auto potrs = cusolverDnSpotrsBatched;
};
template <>
struct Functions<double> {
  static constexpr auto getrf = cublasDgetrfBatched;
  static constexpr auto getri = cublasDgetriBatched;
  static constexpr auto getrs = cublasDgetrsBatched;
  static constexpr auto matinv = cublasDmatinvBatched;
  static constexpr auto geqrf = cublasDgeqrfBatched;
  static constexpr auto potrf = cusolverDnDpotrfBatched;
  static constexpr auto potrs = cusolverDnDpotrsBatched;
};
template <>
struct Functions<std::complex<float>> {
  static constexpr auto getrf = cublasCgetrfBatched;
  static constexpr auto getri = cublasCgetriBatched;
  static constexpr auto getrs = cublasCgetrsBatched;
  static constexpr auto matinv = cublasCmatinvBatched;
  static constexpr auto geqrf = cublasCgeqrfBatched;
  static constexpr auto potrf = cusolverDnCpotrfBatched;
  static constexpr auto potrs = cusolverDnCpotrsBatched;
};
template <>
struct Functions<std::complex<double>> {
  static constexpr auto getrf = cublasZgetrfBatched;
  static constexpr auto getri = cublasZgetriBatched;
  static constexpr auto getrs = cublasZgetrsBatched;
  static constexpr auto matinv = cublasZmatinvBatched;
  static constexpr auto geqrf = cublasZgeqrfBatched;
  static constexpr auto potrf = cusolverDnZpotrfBatched;
  static constexpr auto potrs = cusolverDnZpotrsBatched;
};

template <class T>
inline constexpr cudaDataType data_type = CUDA_R_32F;
template <>
inline constexpr cudaDataType data_type<double> = CUDA_R_64F;
template <>
inline constexpr cudaDataType data_type<std::complex<float>> = CUDA_C_32F;
template <>
inline constexpr cudaDataType data_type<std::complex<double>> = CUDA_C_64F;

/// Inverse of one matrix by cuSOLVER: getrf, and getrs with the identity, since it has no getri.
template <class T>
class SingleInverse {
 public:
  SingleInverse(cusolverDnHandle_t solver, int n) : n_(n), identity_(elements()), ipiv_(static_cast<std::size_t>(n)) {
    std::vector<T> identity(elements());
    for (std::size_t i = 0; i < identity.size(); i += static_cast<std::size_t>(n) + 1) identity[i] = T(1);
    identity_.fill(identity);
    check(cusolverDnXgetrf_bufferSize(solver, nullptr, n, n, data_type<T>, identity_.data(), n, data_type<T>,
                                      &device_bytes_, &host_bytes_));
    device_ = std::make_unique<Buffer<char>>(device_bytes_);
    host_.resize(host_bytes_);
  }
  void run(cusolverDnHandle_t solver, T* a, T* x, int* info) {
    check(cusolverDnXgetrf(solver, nullptr, n_, n_, data_type<T>, a, n_, ipiv_.data(), data_type<T>, device_->data(),
                           device_bytes_, host_.data(), host_bytes_, info));
    check(cudaMemcpyAsync(x, identity_.data(), identity_.bytes(), cudaMemcpyDeviceToDevice));
    check(cusolverDnXgetrs(solver, nullptr, CUBLAS_OP_N, n_, n_, data_type<T>, a, n_, ipiv_.data(), data_type<T>, x, n_,
                           info));
  }

 private:
  std::size_t elements() const { return static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_); }

  int n_;
  Buffer<T> identity_;
  Buffer<std::int64_t> ipiv_;
  std::unique_ptr<Buffer<char>> device_;
  std::vector<char> host_;
  std::size_t device_bytes_ = 0, host_bytes_ = 0;
};

/// What the toolkit's libraries offer for an operation on `batch` matrices.
template <class T>
std::vector<Peer<T>> peers_of(const std::string& operation, int n, std::size_t batch) {
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
    if (batch == 1)
      peers.push_back({"cusolver", [single = std::shared_ptr<SingleInverse<T>>()](PeerBatch<T>& b) mutable {
                         if (!single) single = std::make_shared<SingleInverse<T>>(b.device.cusolver, b.n);
                         single->run(b.device.cusolver, b.matrices, b.inverses, b.info);
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
