#pragma once

#include "batched/timer.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <cublas_v2.h>
#include <cusolverDn.h>

namespace bench {

inline void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}
inline void check(cusolverStatus_t status) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    throw std::runtime_error("cuSOLVER status " + std::to_string(static_cast<int>(status)));
}

/// The GPU with everything enqueued on its default stream, and the handles of the peers.
class Device : public Timer {
 public:
  Device() : backend(blockjacobi::Backend::cuda(0, nullptr)) {
    check(cublasCreate(&cublas));
    check(cusolverDnCreate(&cusolver));
    measure_read();
  }
  ~Device() {
    cusolverDnDestroy(cusolver);
    cublasDestroy(cublas);
  }

  blockjacobi::Backend backend;
  cublasHandle_t cublas{};
  cusolverDnHandle_t cusolver{};

 private:
  void measure_read() {
    constexpr int count = 1 << 29;
    Buffer<double> from(count), sum(1);
    from.fill({0.0});
    check(cublasSetPointerMode(cublas, CUBLAS_POINTER_MODE_DEVICE));
    const Time t = time(
        20, [] {}, [&] { check(cublasDasum(cublas, count, from.data(), 1, sum.data())); });
    check(cublasSetPointerMode(cublas, CUBLAS_POINTER_MODE_HOST));
    read_gbps = static_cast<double>(from.bytes()) / t.median * 1e-6;
  }
};

}  // namespace bench
