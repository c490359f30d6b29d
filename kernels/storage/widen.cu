#include "kernels/launch/check.hpp"
#include "kernels/storage/elements.cuh"
#include "kernels/storage/launch.hpp"
#include "kernels/storage/policy.hpp"

// Complex elements are pairs of reals here, as they are stored; only the conjugates of packed blocks tell the parts
// apart.

namespace blockjacobi::kernels {

namespace {

using detail::Format;

/// Number e of a block of order n with `parts` reals an element, as the applies use it.
template <class R, Format format>
__device__ R number_of(const StoredElements<R, format>& block, int e, int n, int parts) {
  if constexpr (format == Format::packed) {
    const int element = e / parts, part = e % parts, i = element % n, j = element / n;
    const R number = block[static_cast<int>(detail::packed_index(max(i, j), min(i, j), n)) * parts + part];
    return part == 1 && i < j ? -number : number;
  } else {
    return block.scaled(block[e]);
  }
}

/// A warp a block.
template <class R>
__global__ void __launch_bounds__(widen_threads)
    widen_kernel(const detail::StoredBlocksView stored, R* const full, const BlockSlot* const slots,
                 const index_t blocks, const int parts) {
  constexpr int warps = widen_threads / 32;
  const offset_t s = static_cast<offset_t>(blockIdx.x) * warps + threadIdx.x / 32;
  if (s >= blocks) return;
  const BlockSlot slot = slots[s];
  const offset_t place = stored.place != nullptr ? stored.place[s] : s;
  const Format format = stored.formats != nullptr ? stored.formats[s] : stored.format;
  R* const x = full + slot.start * parts;
  detail::with_format(format, [&]<Format f>(detail::FormatTag<f>) {
    const StoredElements<R, f> block(stored.data + stored.slots[place].start, stored.exponents[place]);
    for (int e = static_cast<int>(threadIdx.x) % 32; e < slot.size * slot.size * parts; e += 32)
      x[e] = number_of(block, e, slot.size, parts);
  });
}

}  // namespace

template <class C>
void widen_blocks(const detail::StoredBlocksView& stored, const BlockBatchView<C>& full, CUstream_st* stream) {
  using R = detail::arithmetic_real_t<C>;
  constexpr int warps = widen_threads / 32;
  if (full.blocks == 0) return;
  widen_kernel<R><<<(full.blocks - 1) / warps + 1, widen_threads, 0, stream>>>(
      stored, reinterpret_cast<R*>(full.data), full.slots, full.blocks, sizeof(C) / sizeof(R));
  check_launch("widen_kernel");
}

template void widen_blocks(const detail::StoredBlocksView&, const BlockBatchView<float>&, CUstream_st*);
template void widen_blocks(const detail::StoredBlocksView&, const BlockBatchView<double>&, CUstream_st*);
template void widen_blocks(const detail::StoredBlocksView&, const BlockBatchView<detail::Complex<float>>&,
                           CUstream_st*);
template void widen_blocks(const detail::StoredBlocksView&, const BlockBatchView<detail::Complex<double>>&,
                           CUstream_st*);

}  // namespace blockjacobi::kernels
