#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/block/block_rows.cuh"
#include "kernels/block/lane_sums.cuh"
#include "kernels/block/reduce.cuh"
#include "kernels/subwarp/householder.cuh"

namespace blockjacobi::kernels {

/// Householder QR of one m x n matrix in place by a thread block (one-dimensional, whole warps, at least m threads), by
/// panels of W columns. Each thread has its row of the panel at work in registers; a step takes one sum over the rows
/// for the norm of its column and for the products with all columns to its right. The reflectors of a panel are applied
/// to the others together, H_1^H .. H_W^H = I - V T^H V^H (LARFT, LARFB), some columns a warp.
template <class C, int W>
struct BlockQr {
  using Real = detail::arithmetic_real_t<C>;
  static constexpr int together = sizeof(C) > 8 ? 1 : 4;  ///< columns a warp treats at once; bounded by registers
  static_assert(W == 8, "a warp holds `together` x W products, one a lane");

  detail::MatrixRef<C> a;
  C* tau;          ///< min(m, n), in global memory
  C* v;            ///< m x W: the reflectors of the panel with their ones and zeros
  C* t;            ///< W x W, column-major: T, zero below the diagonal
  C* gram;         ///< W x W: V^H V above the diagonal
  C* partial;      ///< 2 x warps x W
  C* head;         ///< 2 x W: the row of the step's own element
  C* products;     ///< warps x together x W
  unsigned* bits;  ///< 2

  __host__ __device__ static constexpr std::size_t bytes(int rows, int threads) {
    const auto warps = static_cast<std::size_t>(threads) / 32;
    return (static_cast<std::size_t>(rows | 1) * W + 2 * W * W + 2 * W + warps * W * (2 + together) + 1) * sizeof(C) +
           2 * sizeof(unsigned);
  }

  __device__ BlockQr(const detail::MatrixRef<C>& a_, C* tau_, unsigned char* shared) : a(a_), tau(tau_) {
    products = reinterpret_cast<C*>(shared);
    t = products + warps() * together * W;
    gram = t + W * W;
    partial = gram + W * W;
    head = partial + 2 * warps() * W;
    v = head + 2 * W;
    bits = reinterpret_cast<unsigned*>(v + (ld() * W + 1) / 2 * 2);
  }

  __device__ void run() const {
    const int steps = min(a.rows, a.cols);
    for (int first = 0; first < steps; first += W) {
      const int width = min(W, steps - first);
      factor(first, width);
      __syncthreads();
      if (first + width < a.cols) {
        form_gram(first);
        __syncthreads();
        if (warp() == 0) form_t(first, width);
        __syncthreads();
        apply(first, width);
        __syncthreads();
      }
    }
  }

 private:
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int lane() { return thread() % 32; }
  __device__ static int warp() { return thread() / 32; }
  __device__ static int warps() { return static_cast<int>(blockDim.x) / 32; }
  __device__ int ld() const { return a.rows | 1; }

  /// A step's sums over the rows below its own: of |x_0|^2, and of conj(x_0) x_c.
  struct Sums {
    C total;        ///< lane c % W has value c
    const C* head;  ///< its own row

    __device__ C value(int c) const { return Team<32>::broadcast(total, c); }
  };

  /// x_0 is multiplied by `power` for it.
  __device__ Sums sums_of(const C (&x)[W], Real power, int row, int buffer) const {
    C value[W];
    const C factor = thread() > row ? detail::conj(scaled(x[0], power)) : C{};
    value[0] = detail::from_real<C>(add_square(Real(0), factor));
#pragma unroll
    for (int c = 1; c < W; ++c) value[c] = factor * x[c];
    const C sum = warp_sums(value);
    C* const own = partial + buffer * warps() * W;
    if (lane() < W) own[warp() * W + lane()] = sum;
    if (thread() == row) {
#pragma unroll
      for (int c = 0; c < W; ++c) head[buffer * W + c] = x[c];
    }
    __syncthreads();
    C total{};
    for (int w = lane() / W; w < warps(); w += 32 / W) total = total + own[w * W + lane() % W];
#pragma unroll
    for (int distance = W; distance < 32; distance *= 2) total = total + Team<32>::exchange(total, distance);
    return {total, head + buffer * W};
  }

  /// The largest magnitude word of x in the rows from `row` on, and whether there is more than zeros below it.
  __device__ unsigned largest_word(C x, int row, bool& tail_is_zero) const {
    __syncthreads();
    if (thread() == 0) bits[0] = bits[1] = 0;
    __syncthreads();
    if (thread() >= row) atomicMax(bits, magnitude_word(x));
    if (thread() > row && !detail::is_zero(x)) atomicOr(bits + 1, 1u);
    __syncthreads();
    tail_is_zero = bits[1] == 0;
    return bits[0];
  }

  __device__ static bool in_range(Real square) {
    using Range = FastNormRange<Real>;
    return square >= exp2(Real(Range::least)) && square < exp2(Real(Range::greatest));
  }

  /// The panel; its reflectors go to v too. The loop stays rolled: a step reads register c and writes register c - 1.
  __device__ void factor(int first, int width) const {
    const bool inside = thread() >= first && thread() < a.rows;
    C x[W];
#pragma unroll
    for (int c = 0; c < W; ++c) x[c] = inside && c < width ? a(thread(), first + c) : C{};
#pragma unroll 1
    for (int l = 0; l < W; ++l) {
      const int row = first + l;
      if (l >= width) {
        if (inside) v[thread() + l * ld()] = C{};
        continue;
      }
      Real power = 1;
      Sums sums = sums_of(x, power, row, l % 2);
      Real tail = detail::real_part(sums.value(0));
      bool tail_is_zero = tail == Real(0);
      // Uniform in the thread block. Squares that underflowed do not make a tail zero.
      if (tail_is_zero || !in_range(add_square(tail, sums.head[0]))) {
        const auto scale = NormScale<Real>::of(largest_word(x[0], row, tail_is_zero));
        power = scale.power;
        sums = sums_of(x, power, row, l % 2);
        tail = detail::real_part(sums.value(0));
      }
      const auto h = Reflector<C>::make(scaled(sums.head[0], power), tail, tail_is_zero);
      const C own = thread() > row    ? scaled(x[0], power) * h.scale
                    : thread() == row ? detail::from_real<C>(Real(1))
                                      : C{};
      if (inside) {
        v[thread() + l * ld()] = own;
        a(thread(), row) = thread() > row    ? own
                           : thread() == row ? detail::from_real<C>(scaled(h.beta, Real(1) / power))
                                             : x[0];
      }
      if (thread() == 0) {
        tau[row] = h.tau;
        gram[l * W + l] = h.tau;
      }
#pragma unroll
      for (int c = 1; c < W; ++c) {
        const C inner = sums.head[c] + detail::conj(h.scale) * sums.value(c);
        x[c - 1] = fused_subtract(x[c], own, detail::conj(h.tau) * inner);
      }
      x[W - 1] = C{};
    }
  }

  /// V^H V above the diagonal; below it stay the tau.
  __device__ void form_gram(int first) const {
    for (int l = warp(); l < W; l += warps()) {
      C value[W]{};
      for (int i = first + lane(); i < a.rows; i += 32) {
        const C right = v[i + l * ld()];
#pragma unroll
        for (int p = 0; p < W; ++p) value[p] = fused_subtract(value[p], -detail::conj(v[i + p * ld()]), right);
      }
      const C sum = warp_sums(value);
      if (lane() < l) gram[lane() + l * W] = sum;
    }
  }

  /// Row p of T by lane p.
  __device__ void form_t(int, int width) const {
    const int p = lane();
    if (p >= W) return;
    C row[W]{};
#pragma unroll
    for (int l = 0; l < W; ++l) {
      const C tau_l = l < width ? gram[l + l * W] : C{};
      C sum{};
#pragma unroll
      for (int q = 0; q < W; ++q)
        if (q < l && q >= p) sum = fused_subtract(sum, row[q], gram[q + l * W]);
      row[l] = l == p ? tau_l : l > p ? sum * tau_l : C{};
      t[p + l * W] = row[l];
    }
  }

  /// The columns behind the panel.
  __device__ void apply(int first, int width) const {
    C* const own = products + warp() * together * W;
#pragma unroll 1
    for (int j = first + width + together * warp(); j < a.cols; j += together * warps()) {
      int column[together];
#pragma unroll
      for (int c = 0; c < together; ++c) column[c] = min(j + c, a.cols - 1);
      C value[together * W]{};
#pragma unroll 1
      for (int i = first + lane(); i < a.rows; i += 32)
#pragma unroll
        for (int c = 0; c < together; ++c) {
          const C y = a(i, column[c]);
#pragma unroll
          for (int l = 0; l < W; ++l)
            value[c * W + l] = fused_subtract(value[c * W + l], -detail::conj(v[i + l * ld()]), y);
        }
      const C inner = warp_sums(value);
      C product{};
      const int l = lane() % W;
#pragma unroll
      for (int p = 0; p < W; ++p)
        product = fused_subtract(product, -detail::conj(t[p + l * W]), Team<32>::broadcast(inner, lane() / W * W + p));
      __syncwarp();
      if (lane() < together * W) own[lane()] = product;
      __syncwarp();
      C z[together * W];
#pragma unroll
      for (int e = 0; e < together * W; ++e) z[e] = own[e];
#pragma unroll 1
      for (int i = first + lane(); i < a.rows; i += 32)
#pragma unroll
        for (int c = 0; c < together; ++c) {
          C y = a(i, column[c]);
#pragma unroll
          for (int p = 0; p < W; ++p) y = fused_subtract(y, v[i + p * ld()], z[c * W + p]);
          if (j + c < a.cols) a(i, column[c]) = y;
        }
    }
  }
};

}  // namespace blockjacobi::kernels
