#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/collectives/tensor_tile.cuh"

#include <cuda_pipeline.h>

namespace blockjacobi::kernels {

/// why: addresses and predicates of one access would stay in registers until the next
__device__ inline int opaque(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

/// Starts to copy `existing` of so many bytes to shared memory, and zeros behind them.
template <int bytes>
__device__ void copy_async_some(void* to, const void* from, int existing) {
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(existing) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(bytes), "r"(existing)
                 : "memory");
}

/// Householder reflectors on their way from the columns of a matrix to shared memory, 16 at a time, `stages` times 16
/// ahead: of each warp the 8 R rows of its band, which are nobody else's concern. Columns lie in an order and at a
/// distance such that tiles are read without bank conflicts both as they are and transposed.
template <class C, int R, int stages>
class ReflectorStages {
  using Real = detail::arithmetic_real_t<C>;

 public:
  using Wide = tensor_scalar_t<C>;
  using Tile = TensorTile<Wide>;
  static constexpr int depth = 16, band = 8 * R;
  static constexpr int words = static_cast<int>(sizeof(C)) / 4, ld = band + 4 / words;
  static constexpr int elements = stages * depth * ld;  ///< of a warp

  /// `own`: of this warp, whose band begins with row `top`.
  __device__ ReflectorStages(const detail::MatrixRef<C>& a, int top, C* own)
      : a_(a),
        top_(top),
        own_(own),
        aligned_(reinterpret_cast<std::size_t>(a.data) % 16 == 0 && a.ld * sizeof(C) % 16 == 0) {}

  /// Begins to bring the reflectors from `first` on, if they are before `end`. The stage has been read by all lanes.
  __device__ void fetch(int first, int end) const {
    if (first < end && first < top_ + band) {
      if (aligned_)
        fetch_by<C, 16 / static_cast<int>(sizeof(C))>(first);
      else
        fetch_by<Real, 1>(first);
    }
    __pipeline_commit();
  }
  /// For the reflectors from `first` on, with ones on the diagonal and zeros above it.
  __device__ void wait(int first) const {
    __pipeline_wait_prior(stages - 1);
    __syncwarp();
    const int rows = first + depth - top_, column = first + Tile::lane() % depth;
    if (rows <= 0) return;
    C* const to = stage_of(first) + slot(Tile::lane() % depth) * ld;
#pragma unroll 1
    for (int i = Tile::lane() / depth; i < min(rows, band); i += 32 / depth)
      if (top_ + i <= column) to[i] = detail::from_real<C>(top_ + i == column && column < steps());
    __syncwarp();
  }

  /// The lane's first element of the stage with the reflectors from `first` on, for transposed_tile().
  __device__ C* transposed(int first) const {
    return stage_of(first) + opaque(slot(Tile::row()) * ld + Tile::lane() % 4);
  }
  /// Tile r of 8 reflectors, the first or the second in a stage; lanes have columns.
  __device__ static Tile transposed_tile(const C* from, int second, int r) {
    Tile x;
#pragma unroll
    for (int v = 0; v < 2; ++v) x.set(v, widened_finite(at(from + (8 * second * ld + 8 * r + 4 * v)).value));
    return x;
  }
  __device__ static void put_transposed_tile(C* to, int r, const Tile& x) {
#pragma unroll
    for (int v = 0; v < 2; ++v) at(to + (8 * r + 4 * v)).value = narrowed<C>(x.get(v));
  }
  /// The same for conjugate_tile().
  __device__ const C* conjugate(int first) const {
    return stage_of(first) + opaque(slot(Tile::lane() % 4) * ld + Tile::row());
  }
  /// Conjugate; lanes have rows.
  __device__ static Tile conjugate_tile(const C* from, int second, int r) {
    Tile x;
#pragma unroll
    for (int v = 0; v < 2; ++v)
      x.set(v, detail::conj(widened_finite(at(from + ((8 * second + slot(4 * v)) * ld + 8 * r)).value)));
    return x;
  }

 private:
  /// For one access, which complex numbers need not be aligned for elsewhere.
  struct alignas(sizeof(C)) Aligned {
    C value;
  };
  __device__ static const Aligned& at(const C* from) { return *reinterpret_cast<const Aligned*>(from); }
  __device__ static Aligned& at(C* from) { return *reinterpret_cast<Aligned*>(from); }

  __device__ static constexpr int slot(int column) {
    const int c = column % 8;
    return (words == 1 ? c % 4 * 2 + c / 4 : words == 2 ? c % 2 * 4 + c / 2 : c) + column / 8 * 8;
  }
  __device__ C* stage_of(int first) const {
    if constexpr (stages > 1)
      return own_ + first / depth % stages * (depth * ld);
    else
      return own_;
  }
  __device__ int steps() const { return min(a_.rows, a_.cols); }

  /// By copies of `size` units, elements or their real and imaginary parts.
  template <class Unit, int size>
  __device__ void fetch_by(int first) const {
    constexpr int units = static_cast<int>(sizeof(C) / sizeof(Unit)), parts = band * units / size;  // of a column
    constexpr int together = parts > 16 ? 1 : parts > 8 ? 2 : parts > 4 ? 4 : 8;                    // columns
    const int lane = opaque(Tile::lane()), c = lane / parts % together, columns = steps() - first - c;
#pragma unroll
    for (int part = 0; part < parts; part += 32) {
      const int place = size * (together == 1 ? part + lane : lane % parts);
      if (place >= size * parts || lane >= parts * together) continue;
      const int below = units * (a_.rows - top_) - place, valid = below < 0 ? 0 : below > size ? size : below;
      Unit* const to = reinterpret_cast<Unit*>(stage_of(first) + slot(c) * ld) + place;
      const Unit* const from = reinterpret_cast<const Unit*>(a_.column(first + c) + top_) + (valid > 0 ? place : 0);
      const int bytes = valid * static_cast<int>(sizeof(Unit));
      const offset_t next = units * static_cast<offset_t>(a_.ld);
      if (first + depth <= steps()) {
#pragma unroll
        for (int i = 0; i < depth; i += together)
          copy_async_some<size * sizeof(Unit)>(to + slot(i) * ld * units, from + i * next, bytes);
      } else {
#pragma unroll 1
        for (int i = 0; i < depth; i += together)
          copy_async_some<size * sizeof(Unit)>(to + slot(i) * ld * units, i < columns ? from + i * next : from,
                                               i < columns ? bytes : 0);
      }
    }
  }

  detail::MatrixRef<C> a_;
  int top_;
  C* own_;
  bool aligned_;  ///< columns, to 16 bytes
};

}  // namespace blockjacobi::kernels
