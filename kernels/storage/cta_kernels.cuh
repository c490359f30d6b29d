#pragma once

#include "kernels/collectives/cta_reduce.cuh"
#include "kernels/scratch.hpp"
#include "kernels/setup/extract.cuh"
#include "kernels/setup/outcome.cuh"
#include "kernels/slots.hpp"
#include "kernels/storage/launch.hpp"
#include "kernels/storage/policy.hpp"

namespace blockjacobi::kernels {

/// A number as a format with the exponent e gives it back; down = 2^-e, up = 2^e.
template <detail::Format format, class R>
__device__ R round_trip(R x, R down, R up) {
  using Part = detail::StoredPart<format, R>;
  return Part::decode(Part::encode(x * down)) * up;
}
template <detail::Format format, class R>
__device__ detail::Complex<R> round_trip(detail::Complex<R> x, R down, R up) {
  return {round_trip<format>(x.re, down, up), round_trip<format>(x.im, down, up)};
}

template <class C>
struct StoreScratch {
  ReduceScratch<1, detail::arithmetic_real_t<C>> reals;
};

/// One inverse on its way to storage, worked on by a thread block.
template <class C>
struct BlockConversion {
  using R = detail::arithmetic_real_t<C>;
  static constexpr int parts = sizeof(C) / sizeof(R);

  const C* x;  ///< n x n, column-major
  int n;
  C* a;  ///< scratch for the block itself
  StoreScratch<C>& scratch;

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int threads() { return static_cast<int>(blockDim.x); }

  __device__ void extract(const InvertedBlocks<C>& blocks, offset_t s) const {
    const MapRange entries = range_of(blocks.map, s);
    __syncthreads();
    if (entries.slot.row_stride != 0) {
      for (int e = thread(); e < n * n; e += threads())
        a[e] = blocks.values[entries.slot.first_source + e % n * entries.slot.row_stride + e / n];
    } else {
      for (int e = thread(); e < n * n; e += threads()) a[e] = C{};
      __syncthreads();
      extract_entries(blocks.values, blocks.map, entries, thread(), threads(),
                      [&](int i, int j, C value) { a[i + j * n] = value; });
    }
    __syncthreads();
  }

  __device__ R largest_part() const {
    const R* const numbers = reinterpret_cast<const R*>(x);
    R largest = 0;
    for (int e = thread(); e < n * n * parts; e += threads()) largest = fmax(largest, detail::abs1(numbers[e]));
    return cta_reduce(largest, scratch.reals, [](R p, R q) { return p > q ? p : q; });
  }

  /// ||I - A X|| with X as stored; `a` holds A.
  template <detail::Format format>
  __device__ R residual(R largest) const {
    const int exponent = detail::storage_exponent(format, largest);
    const R down = detail::power_of_two(R(), -exponent), up = detail::power_of_two(R(), exponent);
    R norm = 0;
    for (int i = thread(); i < n; i += threads()) {
      R sum = 0;
      for (int j = 0; j < n; ++j) {
        C element = detail::from_real<C>(R(i == j));
        for (int k = 0; k < n; ++k) element -= a[i + k * n] * round_trip<format>(x[k + j * n], down, up);
        sum += detail::modulus(element);
      }
      norm = LargerOrNan<R>{}(norm, sum);
    }
    return cta_reduce(norm, scratch.reals, LargerOrNan<R>{});
  }
  /// For the narrow formats.
  __device__ R residual(detail::Format format, R largest) const {
    R norm{};
    detail::with_format(format, [&]<detail::Format f>(detail::FormatTag<f>) {
      if constexpr (detail::is_narrow(f)) norm = this->template residual<f>(largest);
    });
    return norm;
  }

  /// Whether a row or column with non-zeros is stored as zeros alone.
  __device__ bool loses_a_line(detail::Format format, int exponent) const {
    const R down = detail::power_of_two(R(), -exponent);
    bool lost = false;
    detail::with_format(format, [&]<detail::Format f>(detail::FormatTag<f>) {
      for (int line = thread(); line < 2 * n; line += threads()) lost = lost || detail::is_lost<f>(x, n, line, down);
    });
    return __syncthreads_or(lost) != 0;
  }

  /// Whether A is Hermitian; `a` holds it.
  __device__ bool is_hermitian() const {
    bool all = true;
    for (int e = thread(); e < n * n; e += threads()) {
      const int i = e % n, j = e / n;
      if (i >= j) all = all && detail::is_hermitian_pair(a[e], a[j + i * n], a[i * (n + 1)], a[j * (n + 1)]);
    }
    return __syncthreads_and(all) != 0;
  }

  __device__ void store(detail::Format format, int exponent, std::byte* to) const {
    if (format == detail::Format::packed) {
      C* const triangle = reinterpret_cast<C*>(to);
      for (int e = thread(); e < n * n; e += threads()) {
        const int i = e % n, j = e / n;
        if (i > j) triangle[detail::packed_index(i, j, n)] = detail::hermitian_mean(x[e], x[j + i * n]);
        if (i == j) triangle[detail::packed_index(i, j, n)] = detail::from_real<C>(detail::real_part(x[e]));
      }
      return;
    }
    const R* const numbers = reinterpret_cast<const R*>(x);
    const R factor = detail::power_of_two(R(), -exponent);
    detail::with_format(format, [&]<detail::Format f>(detail::FormatTag<f>) {
      using Part = detail::StoredPart<f, R>;
      auto* const stored = reinterpret_cast<typename Part::type*>(to);
      for (int e = thread(); e < n * n * parts; e += threads()) stored[e] = Part::encode(numbers[e] * factor);
    });
  }
};

template <class C>
__device__ BlockConversion<C> conversion_of(const InvertedBlocks<C>& blocks, const BlockSlot& slot, C* work,
                                            index_t largest, StoreScratch<C>& scratch) {
  return {blocks.inverse + slot.start, slot.size, work + offset_t{blockIdx.x} * block_scratch(largest), scratch};
}

template <class C>
__global__ void __launch_bounds__(storage_threads(max_block_size))
    choose_formats_kernel(const InvertedBlocks<C> blocks, const SlotRange range, const double accuracy,
                          detail::Format* const formats, C* const work) {
  using R = detail::arithmetic_real_t<C>;
  __shared__ StoreScratch<C> scratch;
  for (offset_t m = blockIdx.x; m < range.count; m += gridDim.x) {
    const offset_t s = range.first + m;
    const BlockSlot slot = blocks.slots[s];
    detail::Format chosen = detail::Format::full;
    if (blocks.info[slot.block] == 0) {
      const BlockConversion<C> block = conversion_of(blocks, slot, work, range.largest, scratch);
      block.extract(blocks, s);
      const R largest = block.largest_part();
      for (int k = 0; k < detail::narrow_formats && chosen == detail::Format::full; ++k) {
        const detail::Format format = detail::narrow_format(k);
        if (!detail::is_format_of(format, sizeof(R))) continue;
        if (static_cast<double>(block.residual(format, largest)) < accuracy) chosen = format;
      }
    }
    if (threadIdx.x == 0) formats[s] = chosen;
    __syncthreads();
  }
}

template <class C>
__global__ void __launch_bounds__(storage_threads(max_block_size))
    store_kernel(const InvertedBlocks<C> blocks, const SlotRange range, const StoreTarget target, C* const work) {
  using R = detail::arithmetic_real_t<C>;
  __shared__ StoreScratch<C> scratch;
  const detail::StoredBlocksView& stored = target.stored;
  for (offset_t m = blockIdx.x; m < range.count; m += gridDim.x) {
    const offset_t s = range.first + m;
    const BlockSlot slot = blocks.slots[s];
    const int info = blocks.info[slot.block];
    const offset_t place = stored.place != nullptr ? stored.place[s] : s;
    const detail::Format format = stored.formats != nullptr ? stored.formats[s] : stored.format;
    const BlockConversion<C> block = conversion_of(blocks, slot, work, range.largest, scratch);
    const R largest = block.largest_part();
    const int exponent = detail::storage_exponent(format, largest);
    bool suits = true;
    if (format == detail::Format::packed && info >= 0) {
      block.extract(blocks, s);
      suits = block.is_hermitian();
    } else if (detail::is_narrow(format)) {
      suits = !block.loses_a_line(format, exponent);
      if (suits && target.accuracy > 0 && info == 0) {
        block.extract(blocks, s);
        suits = static_cast<double>(block.residual(format, largest)) < target.accuracy;
      }
    }
    block.store(format, exponent, stored.data + stored.slots[place].start);
    if (threadIdx.x == 0) {
      stored.exponents[place] = static_cast<std::int16_t>(exponent);
      if (!suits) {
        atomicAdd(target.status.unsuited, 1);
        atomicMax(target.status.first_from_end, target.status.blocks - slot.block);
      }
    }
    __syncthreads();
  }
}

}  // namespace blockjacobi::kernels
