#pragma once

#include "core/shared/scalar.hpp"

namespace blockjacobi::kernels {

/// Reads what is used once and had better leave the caches to the vectors.
__device__ inline int load_once(const int* p) { return __ldcs(p); }
__device__ inline float load_once(const float* p) { return __ldcs(p); }
__device__ inline double load_once(const double* p) { return __ldcs(p); }
template <class R>
__device__ detail::Complex<R> load_once(const detail::Complex<R>* p) {
  const R* parts = reinterpret_cast<const R*>(p);
  return {__ldcs(parts), __ldcs(parts + 1)};
}

/// Reads what earlier launches wrote, before await_previous() too.
__device__ inline float load_written(const float* p) { return __ldcg(p); }
__device__ inline double load_written(const double* p) { return __ldcg(p); }
template <class R>
__device__ detail::Complex<R> load_written(const detail::Complex<R>* p) {
  const R* parts = reinterpret_cast<const R*>(p);
  return {__ldcg(parts), __ldcg(parts + 1)};
}

/// Reads what no thread of the launch writes.
__device__ inline float load_again(const float* p) { return __ldg(p); }
__device__ inline double load_again(const double* p) { return __ldg(p); }
template <class R>
__device__ detail::Complex<R> load_again(const detail::Complex<R>* p) {
  const R* parts = reinterpret_cast<const R*>(p);
  return {__ldg(parts), __ldg(parts + 1)};
}

}  // namespace blockjacobi::kernels
