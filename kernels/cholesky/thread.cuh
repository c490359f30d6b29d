#pragma once

#include "kernels/collectives/thread_stage.cuh"

namespace blockjacobi::kernels {

/// The way of ThreadStage for one triangle: 16-byte words wholly in the other one are not read, and none of its
/// elements is written.
template <class C, int N, int threads>
struct TriangleStage : ThreadStage<C, N, threads> {
  using Stage = ThreadStage<C, N, threads>;
  static constexpr int width = Vector16<C>::size;
  static_assert(Stage::vectors || Stage::stride == Stage::bytes, "matrices of odd order stand without gaps");

  /// Brings `count` <= threads matrices; a barrier follows.
  __device__ static void fetch(unsigned char* shared, const C* source, int count, bool upper) {
    constexpr int words = (N * N + width - 1) / width;  // of a thread
    const int elements = count * N * N;
#pragma unroll
    for (int i = 0; i < words; ++i) {
      const int e = (i * threads + static_cast<int>(threadIdx.x)) * width;
      if (e + width <= elements && touches<width>(e % (N * N), upper))
        __pipeline_memcpy_async(&place(shared, e), source + e, 16);
    }
    // Matrices of odd order may end within a word.
    const int last = elements / width * width + static_cast<int>(threadIdx.x);
    if (!Stage::vectors && last < elements) place(shared, last) = source[last];
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
  }

  /// Takes them back, after a barrier.
  __device__ static void flush(unsigned char* shared, C* target, int count, bool upper) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < N * N; ++i) {
      const int t = i * threads + static_cast<int>(threadIdx.x);
      if (t < count * N * N && touches<1>(t % (N * N), upper)) target[t] = place(shared, t);
    }
  }

 private:
  /// Whether some of the `size` elements from e on are in the triangle.
  template <int size>
  __device__ static bool touches(int e, bool upper) {
    const int last = e + size - 1, column = e / N;
    return last / N != column || (upper ? e % N <= column : last % N >= column);
  }
  __device__ static C& place(unsigned char* shared, int t) {
    return reinterpret_cast<C*>(shared + t / (N * N) * Stage::stride)[t % (N * N)];
  }
};

/// Cholesky factorization A = L L^H of a matrix in the registers of one thread.
template <class C, int N>
struct ThreadCholesky {
  using Real = detail::arithmetic_real_t<C>;
  C l[N][N];  ///< below and on the diagonal

  /// From and to the triangle in shared memory, of ThreadStage's layout.
  template <class Stage>
  __device__ void load(const C* own, bool upper) {
    if (upper)
      load<Stage, true>(own);
    else
      load<Stage, false>(own);
  }
  template <class Stage>
  __device__ void store(C* own, bool upper) const {
    if (upper)
      store<Stage, true>(own);
    else
      store<Stage, false>(own);
  }

  /// Returns 0 or the first k (1-based) whose pivot is not positive; the leading part of order k - 1 is factored then.
  __device__ int factor() {
    int info = 0;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const Real pivot = detail::real_part(l[j][j]);
      if (!(pivot > Real(0)) && info == 0) info = j + 1;
      const Real inverse = rsqrt(pivot), estimate = pivot * inverse;
      l[j][j] = detail::from_real<C>(fma(fma(-estimate, estimate, pivot), Real(0.5) * inverse, estimate));
#pragma unroll
      for (int i = j + 1; i < N; ++i) l[i][j] = inverse * l[i][j];
#pragma unroll
      for (int k = j + 1; k < N; ++k)
#pragma unroll
        for (int i = k; i < N; ++i) l[i][k] = fused_subtract(l[i][k], l[i][j], detail::conj(l[k][j]));
    }
    return info;
  }

 private:
  template <class Stage, bool upper>
  __device__ void load(const C* own) {
    C x[N][N];
    Stage::load(own, x);
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int i = j; i < N; ++i) l[i][j] = upper ? detail::conj(x[j][i]) : x[i][j];
  }

  /// Anything in the other triangle, which goes nowhere.
  template <class Stage, bool upper>
  __device__ void store(C* own) const {
    C x[N][N];
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int i = j; i < N; ++i) {
        const C value = upper ? detail::conj(l[i][j]) : l[i][j];
        x[i][j] = value;
        x[j][i] = value;
      }
    Stage::store(x, own);
  }
};

}  // namespace blockjacobi::kernels
