#pragma once

#include "core/shared/storage_format.hpp"

#include <blockjacobi/views.hpp>

#include <cstddef>

namespace blockjacobi::kernels {

/// Slots of BlockBatch.
struct FullBlocks {
  const std::byte* data;
  const BlockSlot* slots;
  __device__ index_t first_row(offset_t slot) const { return slots[slot].first_row; }
};

/// Those of StoredBlocksView.
struct StoredBlocks {
  const std::byte* data;
  const detail::StoredSlot* slots;
  __device__ index_t first_row(offset_t slot) const { return slots[slot].first_row; }
};

/// The power of two by which the numbers of a block are multiplied.
template <detail::Format format, class R, class Blocks>
__device__ R factor_of(const Blocks& blocks, offset_t slot) {
  if constexpr (format == detail::Format::full || format == detail::Format::packed)
    return R(1);
  else
    return detail::power_of_two(R(), blocks.slots[slot].exponent);
}

/// The stored elements of one block by their number, widened.
template <class C, detail::Format format>
class StoredElements {
  using R = detail::arithmetic_real_t<C>;
  using Part = detail::StoredPart<format, R>;
  static constexpr int parts = sizeof(C) / sizeof(R);
  static constexpr bool scaled = format != detail::Format::full && format != detail::Format::packed;

 public:
  __device__ StoredElements(const std::byte* data, R factor) : data_(data), factor_(factor) {}

  __device__ C operator[](int e) const {
    if constexpr (parts == 1) {
      return widened(reinterpret_cast<const Number*>(data_)[e]);
    } else {
      const Pair pair = reinterpret_cast<const Pair*>(data_)[e];
      return {widened(pair.re), widened(pair.im)};
    }
  }

 private:
  using Number = typename Part::type;
  struct alignas(2 * sizeof(Number)) Pair {
    Number re, im;
  };
  __device__ R widened(Number number) const {
    return scaled ? Part::decode(number) * factor_ : Part::decode(number);
  }

  const std::byte* data_;
  R factor_;
};

}  // namespace blockjacobi::kernels
