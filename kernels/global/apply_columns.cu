#include "kernels/check.hpp"
#include "kernels/global/block_batch.hpp"
#include "kernels/launch_storage.hpp"
#include "kernels/tuning/apply.hpp"
#include "kernels/tuning/setup.hpp"
#include "kernels/tuning/storage.hpp"

namespace blockjacobi::kernels {

namespace {

using detail::Format;

/// One block of either table of slots.
struct StoredBlock {
  const std::byte* data;
  index_t first_row;
  int n;
  int exponent;
};

/// Slots of BlockBatch.
template <class C>
struct FullBlocks {
  const C* data;
  const BlockSlot* slots;
  __device__ StoredBlock operator[](offset_t s) const {
    const BlockSlot slot = slots[s];
    return {reinterpret_cast<const std::byte*>(data + slot.start), slot.first_row, slot.size, 0};
  }
};

struct StoredBlocks {
  const std::byte* data;
  const detail::StoredSlot* slots;
  __device__ StoredBlock operator[](offset_t s) const {
    const detail::StoredSlot slot = slots[s];
    return {data + slot.start, slot.first_row, slot.size, slot.exponent};
  }
};

/// The elements of op(X), widened.
template <class C, Format format>
class Elements {
  using R = detail::arithmetic_real_t<C>;
  using Part = detail::StoredPart<format, R>;
  static constexpr int parts = sizeof(C) / sizeof(R);

 public:
  __device__ Elements(const StoredBlock& block, Op op)
      : data_(reinterpret_cast<const typename Part::type*>(block.data)),
        n_(block.n),
        factor_(detail::power_of_two(R(), block.exponent)),
        transposed_(op != Op::none),
        conjugated_(op == Op::conjugate_transpose) {}

  __device__ C operator()(int i, int j) const {
    if constexpr (format == Format::packed) {
      const bool below = i >= j;
      const C x = read(detail::packed_index(below ? i : j, below ? j : i, n_));
      // X^T is the conjugate of X, X^H is X.
      return below == (transposed_ && !conjugated_) ? detail::conj(x) : x;
    } else {
      const C x = read(transposed_ ? j + i * n_ : i + j * n_);
      return conjugated_ ? detail::conj(x) : x;
    }
  }

 private:
  __device__ C read(offset_t e) const {
    if constexpr (parts == 1)
      return Part::decode(data_[e]) * factor_;
    else
      return {Part::decode(data_[2 * e]) * factor_, Part::decode(data_[2 * e + 1]) * factor_};
  }

  const typename Part::type* data_;
  int n_;
  R factor_;
  bool transposed_, conjugated_;
};

/// A group of `width` lanes (a power of two) a block and tile of as many rows, one row a lane; K columns at a time.
template <class C, Format format, int K, class Blocks>
__global__ void __launch_bounds__(apply_columns_threads)
    apply_columns_kernel(const Blocks blocks, const SlotRange range, const int width, const ApplyColumns<C> arguments) {
  const int groups = apply_columns_threads / width;
  const offset_t member = offset_t{blockIdx.x} * groups + static_cast<int>(threadIdx.x) / width;
  if (member >= range.count) return;
  const StoredBlock block = blocks[range.first + member];
  const int row = static_cast<int>(blockIdx.y) * width + static_cast<int>(threadIdx.x) % width;
  if (row >= block.n) return;
  const Elements<C, format> x(block, arguments.op);
  const Columns<const C>& r = arguments.r;
  const Columns<C>& z = arguments.z;
  const C* const input = r.data + block.first_row * r.row_stride;
  for (int first = 0; first < r.count; first += K) {
    C sum[K] = {};
    offset_t column[K];
#pragma unroll
    for (int k = 0; k < K; ++k) column[k] = min(first + k, r.count - 1) * r.column_stride;
#pragma unroll 4
    for (int j = 0; j < block.n; ++j) {
      const C factor = x(row, j);
#pragma unroll
      for (int k = 0; k < K; ++k) sum[k] += factor * input[j * r.row_stride + column[k]];
    }
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (first + k >= z.count) continue;
      C& to = z.data[(block.first_row + row) * z.row_stride + (first + k) * z.column_stride];
      const C product = arguments.alpha * sum[k];
      to = detail::is_zero(arguments.beta) ? product : product + arguments.beta * to;
    }
  }
}

template <class C, Format format, class Blocks>
void launch_apply(const Blocks& blocks, const SlotRange& range, const ApplyColumns<C>& arguments, CUstream_st* stream) {
  int width = 1;
  while (width < range.largest && width < 32) width *= 2;
  const offset_t groups = apply_columns_threads / width;
  const dim3 grid(static_cast<unsigned>((range.count + groups - 1) / groups),
                  static_cast<unsigned>((range.largest + width - 1) / width));
  const auto kernel = arguments.r.count == 1 ? apply_columns_kernel<C, format, 1, Blocks>
                                             : apply_columns_kernel<C, format, apply_columns_at_once, Blocks>;
  kernel<<<grid, apply_columns_threads, 0, stream>>>(blocks, range, width, arguments);
  check_launch("apply_columns_kernel");
}

template <class C>
void launch_apply(Format format, const StoredBlocks& blocks, const SlotRange& range, const ApplyColumns<C>& arguments,
                  CUstream_st* stream) {
  switch (format) {
    case Format::full: return launch_apply<C, Format::full>(blocks, range, arguments, stream);
    case Format::packed: return launch_apply<C, Format::packed>(blocks, range, arguments, stream);
    case Format::fp32:  // the full format of single precision
      if constexpr (sizeof(detail::arithmetic_real_t<C>) > sizeof(float))
        launch_apply<C, Format::fp32>(blocks, range, arguments, stream);
      return;
    case Format::bf16: return launch_apply<C, Format::bf16>(blocks, range, arguments, stream);
    case Format::fp16: return launch_apply<C, Format::fp16>(blocks, range, arguments, stream);
  }
}

constexpr int small_bounds[] = {1, 2, 4, 8, 16, 32};

template <class Launch>
void for_each_apply_class(std::span<const BlockGroup> groups, Launch launch) {
  for_each_class(groups, 0, small_bounds, launch);
  for_each_class(groups, largest_tiny_order, block_apply_bounds, launch);
}

/// The groups of one format, as those of BlockBatch; a format has at most one group of each order.
struct FormatGroups {
  BlockGroup groups[max_block_size];
  std::size_t count = 0;
};

}  // namespace

template <class C>
void apply_columns(const BlockBatchView<const C>& inverse, const ApplyColumns<C>& arguments, CUstream_st* stream) {
  const FullBlocks<C> blocks{inverse.data, inverse.slots};
  for_each_apply_class(
      inverse.groups, [&](const SlotRange& range) { launch_apply<C, Format::full>(blocks, range, arguments, stream); });
}

template <class C>
void apply_columns(const std::byte* data, const detail::StoredSlot* slots, std::span<const detail::StoredGroup> groups,
                   const ApplyColumns<C>& arguments, CUstream_st* stream) {
  const StoredBlocks blocks{data, slots};
  for (std::size_t first = 0; first < groups.size();) {
    const Format format = groups[first].format;
    FormatGroups own;
    for (; first < groups.size() && groups[first].format == format; ++first)
      own.groups[own.count++] = {groups[first].size, groups[first].count, groups[first].first_slot, 0};
    for_each_apply_class(std::span<const BlockGroup>(own.groups, own.count),
                         [&](const SlotRange& range) { launch_apply<C>(format, blocks, range, arguments, stream); });
  }
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                               \
  template void apply_columns(const BlockBatchView<const C>&, const ApplyColumns<C>&, CUstream_st*);             \
  template void apply_columns(const std::byte*, const detail::StoredSlot*, std::span<const detail::StoredGroup>, \
                              const ApplyColumns<C>&, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
