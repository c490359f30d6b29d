#include "solve/unfused_cg.hpp"

namespace bench {

namespace {

/// Of an iteration, in device memory.
struct Scalars {
  double one, rho, rho_new, pq, alpha, minus_alpha, beta, norm;
};

__global__ void begin(Scalars* s) { s->one = 1.0; }
__global__ void step_length(Scalars* s) {
  s->alpha = s->rho / s->pq;
  s->minus_alpha = -s->alpha;
}
__global__ void direction_factor(Scalars* s) {
  s->beta = s->rho_new / s->rho;
  s->rho = s->rho_new;
}

}  // namespace

UnfusedCg::UnfusedCg(const CusparseProduct& A, const blockjacobi::BlockJacobi<double>& M)
    : A_(A),
      M_(M),
      n_(M.rows()),
      r_(static_cast<std::size_t>(n_)),
      z_(static_cast<std::size_t>(n_)),
      p_(static_cast<std::size_t>(n_)),
      q_(static_cast<std::size_t>(n_)),
      scalars_(sizeof(Scalars) / sizeof(double)) {
  check(cublasCreate(&cublas_));
  check(cublasSetStream(cublas_, M.backend().stream()));
  check(cublasSetPointerMode(cublas_, CUBLAS_POINTER_MODE_DEVICE));
}

UnfusedCg::~UnfusedCg() { cublasDestroy(cublas_); }

double UnfusedCg::run(const double* b, double* x, int iterations) {
  const auto view = [this](double* v) {
    return blockjacobi::VectorView<double>(v, n_, blockjacobi::MemorySpace::device);
  };
  cudaStream_t stream = M_.backend().stream();
  double *const r = r_.data(), *const z = z_.data(), *const p = p_.data(), *const q = q_.data();
  auto* const s = reinterpret_cast<Scalars*>(scalars_.data());
  begin<<<1, 1, 0, stream>>>(s);
  check(cudaMemsetAsync(x, 0, r_.bytes(), stream));
  check(cudaMemcpyAsync(r, b, r_.bytes(), cudaMemcpyDeviceToDevice, stream));
  M_.apply(view(r), view(z));
  check(cudaMemcpyAsync(p, z, r_.bytes(), cudaMemcpyDeviceToDevice, stream));
  dot(r, z, &s->rho);
  for (int i = 0; i < iterations; ++i) {
    A_(p, q);
    dot(p, q, &s->pq);
    step_length<<<1, 1, 0, stream>>>(s);
    add(&s->alpha, p, x);
    add(&s->minus_alpha, q, r);
    check(cublasDnrm2(cublas_, n_, r, 1, &s->norm));
    M_.apply(view(r), view(z));
    dot(r, z, &s->rho_new);
    direction_factor<<<1, 1, 0, stream>>>(s);
    check(cublasDscal(cublas_, n_, &s->beta, p, 1));
    add(&s->one, z, p);
  }
  check(cudaGetLastError());
  double norm = 0.0;
  check(cudaMemcpyAsync(&norm, &s->norm, sizeof norm, cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  return norm;
}

}  // namespace bench
