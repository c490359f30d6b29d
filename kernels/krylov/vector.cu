#include "core/shared/random_element.hpp"
#include "kernels/collectives/grid_sum.cuh"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/krylov/vector.cuh"
#include "kernels/launch/check.hpp"

#include <cstring>

namespace blockjacobi::kernels {

namespace {

struct Words {
  int words[detail::most_state_bytes / sizeof(int)];
};

__global__ void __launch_bounds__(vector_policy.threads)
    set_words_kernel(int* destination, int count, const __grid_constant__ Words source) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    destination[i] = source.words[i];
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads) random_kernel(index_t n, C* x) {
  const offset_t i = own_element();
  if (i < n) x[i] = detail::random_element<C>(static_cast<index_t>(i));
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads) subtract_from_kernel(index_t n, const C* b, C* r) {
  const offset_t i = own_element();
  if (i < n) r[i] = b[i] - r[i];
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads) add_kernel(index_t n, const C* u, C* x, const int* condition) {
  const offset_t i = own_element();
  if (i >= n || (condition != nullptr && *condition == 0)) return;
  x[i] += u[i];
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    norm_kernel(index_t n, const C* x, double* norm, const ReductionWorkspace workspace) {
  __shared__ GridSum<1>::Scratch scratch;
  double sum[1] = {0.0};
  for_each_element(n, [&](offset_t i) { accumulate_square(sum[0], x[i]); });
  if (!GridSum<1>::run(sum, workspace.partials, workspace.tickets, scratch)) return;
  if (threadIdx.x == 0) *norm = sqrt(sum[0]);
}

}  // namespace

ReductionBytes reduction_bytes() noexcept {
  return {reduction_partials * sizeof(double), reduction_tickets * sizeof(unsigned int)};
}

void set_words(void* destination, const void* source, std::size_t bytes, CUstream_st* stream) {
  if (bytes == 0) return;
  Words words{};
  std::memcpy(words.words, source, bytes);
  set_words_kernel<<<1, vector_policy.threads, 0, stream>>>(static_cast<int*>(destination),
                                                            static_cast<int>(bytes / sizeof(int)), words);
  check_launch("set_words_kernel");
}

template <class C>
void random(index_t n, C* x, CUstream_st* stream) {
  if (n == 0) return;
  random_kernel<<<elementwise_ctas(n), vector_policy.threads, 0, stream>>>(n, x);
  check_launch("random_kernel");
}

template <class C>
void subtract_from(index_t n, const C* b, C* r, CUstream_st* stream) {
  if (n == 0) return;
  subtract_from_kernel<<<elementwise_ctas(n), vector_policy.threads, 0, stream>>>(n, b, r);
  check_launch("subtract_from_kernel");
}

template <class C>
void add(index_t n, const C* u, C* x, const int* condition, CUstream_st* stream) {
  if (n == 0) return;
  add_kernel<<<elementwise_ctas(n), vector_policy.threads, 0, stream>>>(n, u, x, condition);
  check_launch("add_kernel");
}

template <class C>
void norm(index_t n, const C* x, double* norm, const ReductionWorkspace& workspace, CUstream_st* stream) {
  norm_kernel<<<reduction_ctas(n), vector_policy.threads, 0, stream>>>(n, x, norm, workspace);
  check_launch("norm_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                    \
  template void random(index_t, C*, CUstream_st*);                    \
  template void subtract_from(index_t, const C*, C*, CUstream_st*);   \
  template void add(index_t, const C*, C*, const int*, CUstream_st*); \
  template void norm(index_t, const C*, double*, const ReductionWorkspace&, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
