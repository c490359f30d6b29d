#include "kernels/coarse/launch_patterns.hpp"
#include "kernels/coarse/policy.hpp"
#include "kernels/collectives/cta_reduce.cuh"
#include "kernels/launch/grid.hpp"

#include <blockjacobi/types.hpp>

#include <algorithm>
#include <cfloat>

namespace blockjacobi::kernels {

namespace {

struct Add {
  __device__ double operator()(double a, double b) const { return a + b; }
};
struct Larger {
  __device__ double operator()(double a, double b) const { return fmax(a, b); }
};

__device__ double root_of_epsilon(float) { return sqrt(static_cast<double>(FLT_EPSILON)); }
__device__ double root_of_epsilon(double) { return sqrt(DBL_EPSILON); }

/// The sum over the thread block, in every thread.
struct SumScratch {
  ReduceScratch<1, double> real;
  ReduceScratch<2, double> complex;
};
__device__ double sum_over(double own, SumScratch& scratch) { return cta_reduce(own, scratch.real, Add{}); }
__device__ detail::Complex<double> sum_over(detail::Complex<double> own, SumScratch& scratch) {
  double parts[2] = {own.re, own.im};
  cta_reduce(parts, scratch.complex, Add{});
  return {parts[0], parts[1]};
}

/// most[v] = the largest |x_iv|, as the bits of a double, which are in order where none is negative; zero before.
template <class C>
__global__ void __launch_bounds__(coarse_threads)
    largest_elements_kernel(const index_t rows, const index_t count, const C* const x, unsigned long long* const most) {
  __shared__ ReduceScratch<1, double> scratch;
  const auto v = static_cast<offset_t>(blockIdx.y);
  double own = 0.0;
  for (offset_t i = offset_t{blockIdx.x} * coarse_threads + threadIdx.x; i < rows;
       i += offset_t{gridDim.x} * coarse_threads)
    own = fmax(own, static_cast<double>(detail::abs1(x[i * count + v])));
  own = cta_reduce(own, scratch, Larger{});
  if (threadIdx.x == 0) atomicMax(most + v, static_cast<unsigned long long>(__double_as_longlong(own)));
}

/// A thread block has a group, a thread some of its rows all along: modified Gram-Schmidt, each vector twice against
/// each of those before, the one with the most left over next.
template <class C>
__global__ void __launch_bounds__(coarse_threads)
    orthonormal_kernel(const index_t count, const C* const vectors, const unsigned long long* const most,
                       const std::int32_t* const members, const std::int32_t* const bounds, C* const values,
                       std::int32_t* const ranks) {
  using R = detail::arithmetic_real_t<C>;
  __shared__ SumScratch scratch;
  __shared__ double norms[max_block_size];
  const std::int32_t begin = bounds[blockIdx.x], end = bounds[blockIdx.x + 1];
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const auto for_own_rows = [&](auto visit) {
    for (std::int32_t m = begin + thread; m < end; m += coarse_threads) visit(values + offset_t{members[m]} * count);
  };
  const auto measure = [&](index_t v) {
    double sum = 0.0;
    for_own_rows([&](const C* z) { sum += detail::norm2(detail::widen(z[v])); });
    sum = sum_over(sum, scratch);
    if (thread == 0) norms[v] = sum;
  };

  for (std::int32_t m = begin + thread; m < end; m += coarse_threads)
    for (index_t v = 0; v < count; ++v) {
      const offset_t k = offset_t{members[m]} * count + v;
      const double largest = __longlong_as_double(static_cast<long long>(most[v]));
      values[k] = largest > 0.0 ? static_cast<R>(1.0 / largest) * vectors[k] : C{};
    }
  for (index_t v = 0; v < count; ++v) measure(v);
  __syncthreads();

  double first_norm = 0.0;
  index_t rank = 0;
  for (; rank < count; ++rank) {
    index_t best = rank;
    for (index_t v = rank + 1; v < count; ++v)
      if (norms[v] > norms[best]) best = v;
    const double norm = sqrt(norms[best]);
    if (rank == 0) first_norm = norm;
    if (!(norm > root_of_epsilon(R{}) * first_norm)) break;
    __syncthreads();  // all have read
    if (thread == 0) norms[best] = norms[rank];
    for_own_rows([&](C* z) {
      const C chosen = z[best];
      z[best] = z[rank];
      z[rank] = static_cast<R>(1.0 / norm) * chosen;
    });
    for (index_t v = rank + 1; v < count; ++v) {
      for (int pass = 0; pass < 2; ++pass) {
        detail::accumulator_t<C> dot{};
        for_own_rows([&](const C* z) { dot += detail::conj(detail::widen(z[rank])) * detail::widen(z[v]); });
        dot = sum_over(dot, scratch);
        for_own_rows([&](C* z) { z[v] -= detail::narrow<C>(dot) * z[rank]; });
      }
      measure(v);
    }
    __syncthreads();
  }
  for_own_rows([&](C* z) {
    for (index_t v = rank; v < count; ++v) z[v] = C{};
  });
  if (thread == 0) ranks[blockIdx.x] = rank;
}

}  // namespace

template <class C>
void coarse_orthonormal(index_t rows, index_t count, const C* vectors, index_t groups, const std::int32_t* members,
                        const std::int32_t* bounds, unsigned long long* most, C* values, std::int32_t* ranks,
                        CUstream_st* stream) {
  check(cudaMemsetAsync(most, 0, static_cast<std::size_t>(count) * sizeof(*most), stream), "cudaMemsetAsync(most)");
  const dim3 grid(static_cast<unsigned>(std::clamp<offset_t>(rows / coarse_threads, 1, 1024)),
                  static_cast<unsigned>(count));
  largest_elements_kernel<<<grid, coarse_threads, 0, stream>>>(rows, count, vectors, most);
  check_launch("largest_elements_kernel");
  orthonormal_kernel<<<static_cast<unsigned>(groups), coarse_threads, 0, stream>>>(count, vectors, most, members,
                                                                                   bounds, values, ranks);
  check_launch("orthonormal_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                \
  template void coarse_orthonormal(index_t, index_t, const C*, index_t, const std::int32_t*, const std::int32_t*, \
                                   unsigned long long*, C*, std::int32_t*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
