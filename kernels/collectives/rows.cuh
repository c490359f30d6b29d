#pragma once

#include "kernels/collectives/arithmetic.cuh"

namespace blockjacobi::kernels {

/// Rows of W elements: of a thread in registers, and staged in shared memory, where all threads read the same row.
template <class C, int W>
struct Rows {
  using Part = Vector16<C>;
  static constexpr int parts = W / Part::size;
  /// Of staged rows, against bank conflicts.
  static constexpr int stride = W + (sizeof(C) == 8 && !detail::Arithmetic<C>::is_complex ? 4 : Part::size);
  static_assert(W % Part::size == 0);

  /// The first Count elements.
  template <int Count = W>
  __device__ static void write(C* to, const C (&x)[W]) {
    static_assert(Count % Part::size == 0);
#pragma unroll
    for (int p = 0; p < Count / Part::size; ++p) {
      Part part;
#pragma unroll
      for (int v = 0; v < Part::size; ++v) part.value[v] = x[p * Part::size + v];
      reinterpret_cast<Part*>(to)[p] = part;
    }
  }
  __device__ static void read(const C* from, C (&x)[W]) {
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const Part part = reinterpret_cast<const Part*>(from)[p];
#pragma unroll
      for (int v = 0; v < Part::size; ++v) x[p * Part::size + v] = part.value[v];
    }
  }

  /// x[r] -= factor[r][m] times staged row m, for m in 0..Depth - 1 and r from `Slab` on.
  template <int Slab, int R, int Depth>
  __device__ static void subtract(C (&x)[R][W], const C (&factor)[R][Depth], const C* staged) {
#pragma unroll
    for (int m = 0; m < Depth; ++m)
#pragma unroll
      for (int p = 0; p < parts; ++p) {
        const Part part = reinterpret_cast<const Part*>(staged + m * stride)[p];
#pragma unroll
        for (int v = 0; v < Part::size; ++v)
#pragma unroll
          for (int r = Slab; r < R; ++r) {
            C& to = x[r][p * Part::size + v];
            to = fused_subtract(to, factor[r][m], part.value[v]);
          }
      }
  }
};

}  // namespace blockjacobi::kernels
