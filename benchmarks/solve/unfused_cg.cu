#include "solve/unfused_cg.hpp"

#include <cmath>

namespace bench {

/// Of an iteration, in device memory.
struct UnfusedCg::Scalars {
  double one, rho, rho_new, pq, alpha, beta, rr;
};

namespace {

// Neither library divides two numbers in device memory.
__global__ void step_length(const double* rho, const double* pq, double* alpha) { *alpha = -*rho / *pq; }
__global__ void direction_factor(const double* rho_new, double* rho, double* beta) {
  *beta = *rho_new / *rho;
  *rho = *rho_new;
}

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what cuBLAS advises for Hopper

}  // namespace

UnfusedCg::UnfusedCg(const CusparseProduct& A, const blockjacobi::BlockJacobi<double>& M)
    : A_(A),
      M_(M),
      n_(M.rows()),
      stride_((n_ + 31) / 32 * 32),
      stream_(M.backend().stream()),
      x_and_r_(2 * static_cast<std::size_t>(stride_)),
      p_and_q_(2 * static_cast<std::size_t>(stride_)),
      z_(static_cast<std::size_t>(n_)),
      scalars_(sizeof(Scalars) / sizeof(double)),
      workspace_(workspace_bytes) {
  check(cublasCreate(&cublas_));
  check(cublasSetStream(cublas_, stream_));
  check(cublasSetWorkspace(cublas_, workspace_.data(), workspace_.bytes()));
  check(cublasSetPointerMode(cublas_, CUBLAS_POINTER_MODE_DEVICE));
  scalars_.fill(std::vector<double>(sizeof(Scalars) / sizeof(double), 1.0));
  check(cudaMemset(x_and_r_.data(), 0, x_and_r_.bytes()));
  check(cudaMemset(p_and_q_.data(), 0, p_and_q_.bytes()));
  check(cudaDeviceSynchronize());
  iterate();  // what is loaded and chosen at a first call is not for a graph
  cudaGraph_t graph{};
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  try {
    for (int i = 0; i < bundle; ++i) iterate();
  } catch (...) {  // the stream is others' too
    cudaStreamEndCapture(stream_, &graph);
    cudaGetLastError();
    throw;
  }
  check(cudaStreamEndCapture(stream_, &graph));
  check(cudaGraphInstantiate(&iterations_, graph, 0));
  check(cudaGraphDestroy(graph));
}

UnfusedCg::~UnfusedCg() {
  cudaGraphExecDestroy(iterations_);
  cublasDestroy(cublas_);
}

void UnfusedCg::apply() {
  using blockjacobi::MemorySpace;
  M_.apply(blockjacobi::VectorView<const double>(r(), n_, MemorySpace::device),
           blockjacobi::VectorView<double>(z_.data(), n_, MemorySpace::device));
}

void UnfusedCg::iterate() {
  Scalars* const s = scalars();
  A_(p(), q(), -1.0);
  dot(p(), q(), &s->pq);
  step_length<<<1, 1, 0, stream_>>>(&s->rho, &s->pq, &s->alpha);
  check(cublasDaxpy(cublas_, stride_ + n_, &s->alpha, p(), 1, x(), 1));
  dot(r(), r(), &s->rr);
  apply();
  dot(r(), z_.data(), &s->rho_new);
  direction_factor<<<1, 1, 0, stream_>>>(&s->rho_new, &s->rho, &s->beta);
  check(cublasDgeam(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, n_, 1, &s->one, z_.data(), n_, &s->beta, p(), n_, p(), n_));
  check(cudaGetLastError());
}

double UnfusedCg::run(const double* b, double* x_out, int iterations) {
  if (iterations % bundle != 0) throw std::invalid_argument("iterations of the unfused CG are not whole graphs");
  check(cudaMemsetAsync(x(), 0, z_.bytes(), stream_));
  check(cudaMemcpyAsync(r(), b, z_.bytes(), cudaMemcpyDeviceToDevice, stream_));
  apply();
  check(cudaMemcpyAsync(p(), z_.data(), z_.bytes(), cudaMemcpyDeviceToDevice, stream_));
  dot(r(), z_.data(), &scalars()->rho);
  for (int i = 0; i < iterations; i += bundle) check(cudaGraphLaunch(iterations_, stream_));
  check(cudaMemcpyAsync(x_out, x(), z_.bytes(), cudaMemcpyDeviceToDevice, stream_));
  double rr = 0.0;
  check(cudaMemcpyAsync(&rr, &scalars()->rr, sizeof rr, cudaMemcpyDeviceToHost, stream_));
  check(cudaStreamSynchronize(stream_));
  return std::sqrt(rr);
}

}  // namespace bench
