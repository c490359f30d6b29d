#pragma once

#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/lanes.cuh"

namespace blockjacobi::kernels {

/// 32 matrices of order N, back to back, on their way between global memory and the registers of a warp, one a
/// lane: all lanes together read and write whole lines, and shuffles bring the vectors of a matrix to its lane. That
/// needs neither shared memory nor a barrier.
template <class C, int N>
struct WarpStage {
  using Vector = Vector16<C>;
  static constexpr int width = Vector::size;
  static constexpr int vectors = N * N / width;
  static_assert(vectors * width == N * N && vectors <= 32 && (vectors & (vectors - 1)) == 0);

  Vector v[vectors];

  /// Number of this lane's matrix among those of the warp.
  __device__ static int own() { return lane() % vectors * (32 / vectors) + lane() / vectors; }

  /// Brings `count` matrices, 32 at most; the others are zero.
  __device__ void fetch(const C* source, int count) {
#pragma unroll
    for (int j = 0; j < vectors; ++j) {
      v[j] = Vector{};
      if (j * 32 + lane() < count * vectors) v[j] = reinterpret_cast<const Vector*>(source)[j * 32 + lane()];
    }
  }
  /// Takes them back.
  __device__ void flush(C* target, int count) const {
#pragma unroll
    for (int j = 0; j < vectors; ++j)
      if (j * 32 + lane() < count * vectors) reinterpret_cast<Vector*>(target)[j * 32 + lane()] = v[j];
  }

  /// The matrix of this lane.
  __device__ void load(C (&x)[N][N]) {
    transpose();
#pragma unroll
    for (int e = 0; e < N * N; ++e) x[e % N][e / N] = v[e / width].value[e % width];
  }
  __device__ void store(const C (&x)[N][N]) {
#pragma unroll
    for (int e = 0; e < N * N; ++e) v[e / width].value[e % width] = x[e % N][e / N];
    transpose();
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  /// Vector j of lane i of as many lanes as a matrix has vectors becomes vector i of lane j.
  __device__ void transpose() {
#pragma unroll
    for (int s = 1; s < vectors; s *= 2) {
      const bool upper = (lane() & s) != 0;
#pragma unroll
      for (int j = 0; j < vectors; ++j) {
        if ((j & s) != 0) continue;
#pragma unroll
        for (int i = 0; i < width; ++i) {
          const C first = v[j].value[i], second = v[j | s].value[i];
          const C received = exchange(upper ? first : second, s);
          v[j].value[i] = upper ? received : first;
          v[j | s].value[i] = upper ? second : received;
        }
      }
    }
  }
  template <class R>
  __device__ static R exchange(R value, int s) {
    return __shfl_xor_sync(full_warp, value, s);
  }
  template <class R>
  __device__ static detail::Complex<R> exchange(detail::Complex<R> value, int s) {
    return {exchange(value.re, s), exchange(value.im, s)};
  }
};

}  // namespace blockjacobi::kernels
