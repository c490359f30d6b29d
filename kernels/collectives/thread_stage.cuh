#pragma once

#include "kernels/collectives/arithmetic.cuh"

#include <cuda_pipeline.h>

namespace blockjacobi::kernels {

/// Matrices of order N, back to back, on their way through shared memory so that each thread gets one: global
/// memory is read and written in whole lines, and the stride between matrices in shared memory is an odd number of
/// words of the access width against bank conflicts.
template <class C, int N, int threads>
struct ThreadStage {
  static constexpr int bytes = N * N * static_cast<int>(sizeof(C));
  static constexpr bool vectors = bytes % 16 == 0;
  /// Of a matrix in shared memory, in bytes.
  static constexpr int stride = vectors ? (bytes / 16 | 1) * 16 : (N * N | 1) * static_cast<int>(sizeof(C));
  static constexpr std::size_t shared_bytes = static_cast<std::size_t>(threads) * stride;

  /// Brings `count` <= threads matrices; a barrier follows.
  __device__ static void fetch(unsigned char* shared, const C* source, int count) {
    if constexpr (vectors)
      fetch_vectors(shared, source, count);
    else
      fetch_scalars(shared, source, count);
    __syncthreads();
  }

  /// Takes them back, after a barrier.
  __device__ static void flush(const unsigned char* shared, C* target, int count) {
    __syncthreads();
    if constexpr (vectors) {
      constexpr int words = bytes / 16;
      auto* out = reinterpret_cast<Vector16<C>*>(target);
      // More would ask for more registers than there are, where all words are read before the first is written.
#pragma unroll(words <= 48 ? words : 8)
      for (int i = 0; i < words; ++i) {
        const int t = i * threads + static_cast<int>(threadIdx.x);
        if (t < count * words)
          out[t] = *reinterpret_cast<const Vector16<C>*>(shared + t / words * stride + t % words * 16);
      }
    } else {
#pragma unroll
      for (int i = 0; i < N * N; ++i) {
        const int t = i * threads + static_cast<int>(threadIdx.x);
        if (t < count * N * N) target[t] = reinterpret_cast<const C*>(shared + t / (N * N) * stride)[t % (N * N)];
      }
    }
  }

  /// The matrix of this thread.
  __device__ static C* own(unsigned char* shared) {
    return reinterpret_cast<C*>(shared + static_cast<int>(threadIdx.x) * stride);
  }

  __device__ static void load(const C* own, C (&x)[N][N]) {
    constexpr int width = vectors ? Vector16<C>::size : 1;
#pragma unroll
    for (int e = 0; e < N * N; e += width) {
      if constexpr (vectors) {
        const auto word = *reinterpret_cast<const Vector16<C>*>(own + e);
#pragma unroll
        for (int i = 0; i < width; ++i) x[(e + i) % N][(e + i) / N] = word.value[i];
      } else {
        x[e % N][e / N] = own[e];
      }
    }
  }

  __device__ static void store(const C (&x)[N][N], C* own) {
    constexpr int width = vectors ? Vector16<C>::size : 1;
#pragma unroll
    for (int e = 0; e < N * N; e += width) {
      if constexpr (vectors) {
        Vector16<C> word;
#pragma unroll
        for (int i = 0; i < width; ++i) word.value[i] = x[(e + i) % N][(e + i) / N];
        *reinterpret_cast<Vector16<C>*>(own + e) = word;
      } else {
        own[e] = x[e % N][e / N];
      }
    }
  }

 private:
  /// Asynchronous copies need no registers, so all of them are under way at once.
  __device__ static void fetch_vectors(unsigned char* shared, const C* source, int count) {
    constexpr int words = bytes / 16;
    const auto* in = reinterpret_cast<const unsigned char*>(source);
#pragma unroll
    for (int i = 0; i < words; ++i) {
      const int t = i * threads + static_cast<int>(threadIdx.x);
      if (t < count * words)
        __pipeline_memcpy_async(shared + t / words * stride + t % words * 16, in + static_cast<offset_t>(t) * 16, 16);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }

  __device__ static void fetch_scalars(unsigned char* shared, const C* source, int count) {
    const auto place = [&](int t) -> C& { return reinterpret_cast<C*>(shared + t / (N * N) * stride)[t % (N * N)]; };
    if (count == threads) {
#pragma unroll
      for (int i = 0; i < N * N; ++i) {
        const int t = i * threads + static_cast<int>(threadIdx.x);
        place(t) = source[t];
      }
    } else {
      for (int t = static_cast<int>(threadIdx.x); t < count * N * N; t += threads) place(t) = source[t];
    }
  }
};

}  // namespace blockjacobi::kernels
