#pragma once

#include "core/shared/storage_format.hpp"

#include <blockjacobi/views.hpp>

#include <cstddef>
#include <type_traits>

namespace blockjacobi::kernels {

/// Slots of BlockBatch.
struct FullBlocks {
  const std::byte* data;
  const BlockSlot* slots;
  __device__ index_t first_row(offset_t slot) const { return slots[slot].first_row; }
};

/// Those of StoredBlocksView.
struct BlocksInFormat {
  const std::byte* data;
  const detail::StoredSlot* slots;
  const std::int16_t* exponents;
  __device__ index_t first_row(offset_t slot) const { return slots[slot].first_row; }
};

/// The exponent with which a block is stored.
template <detail::Format format, class Blocks>
__device__ int exponent_of(const Blocks& blocks, offset_t slot) {
  if constexpr (format == detail::Format::full || format == detail::Format::packed)
    return 0;
  else
    return blocks.exponents[slot];
}

/// A number of a narrow format as a double. Its bits, moved to where a double has them, are those of the number times a
/// power of two, subnormal ones included; that takes a multiplication, and no conversion, of which a multiprocessor
/// does few at a time.
template <detail::Format format>
__device__ double widened(typename detail::StoredPart<format, double>::type number) {
  if constexpr (format == detail::Format::fp32) {
    const int bits = __float_as_int(number);
    return __hiloint2double((bits >> 3) & static_cast<int>(0x8FFFFFFFu), bits << 29) * 0x1p896;
  } else {
    const int bits = static_cast<std::int16_t>(number);
    static_assert(format == detail::Format::bf16 || format == detail::Format::fp16);
    if constexpr (format == detail::Format::bf16)
      return __hiloint2double((bits << 13) & static_cast<int>(0x8FFFE000u), 0) * 0x1p896;
    else
      return __hiloint2double((bits << 10) & static_cast<int>(0x81FFFC00u), 0) * 0x1p1008;
  }
}

/// The upper of two 16-bit numbers in a word, as widened() has it.
template <detail::Format format>
__device__ double widened_upper(std::uint32_t pair) {
  static_assert(format == detail::Format::bf16 || format == detail::Format::fp16);
  if constexpr (format == detail::Format::bf16)
    return __hiloint2double((static_cast<int>(pair) >> 3) & static_cast<int>(0x8FFFE000u), 0) * 0x1p896;
  else
    return __hiloint2double((static_cast<int>(pair) >> 6) & static_cast<int>(0x81FFFC00u), 0) * 0x1p1008;
}

/// The elements of one block by the number that they have where they are stored. scaled() goes over sums of products
/// with them.
template <class C, detail::Format format>
class StoredElements {
  using R = detail::arithmetic_real_t<C>;
  using Part = detail::StoredPart<format, R>;
  using Number = typename Part::type;
  static constexpr bool is_complex = detail::Arithmetic<C>::is_complex;
  static constexpr bool narrow = format != detail::Format::full && format != detail::Format::packed;
  // Single precision has no room for sums of numbers near the greatest of the format.
  static constexpr bool scales_sums = narrow && sizeof(R) == sizeof(double);

 public:
  struct alignas(2 * sizeof(Number)) Pair {
    Number re, im;
  };
  using Stored = std::conditional_t<is_complex, Pair, Number>;

  __device__ StoredElements(const std::byte* data, int exponent)
      : data_(data), factor_(narrow ? detail::power_of_two(R(), exponent) : R(1)) {}

  __device__ C operator[](int e) const { return widened(load(e)); }
  /// The two steps of it.
  __device__ Stored load(int e) const { return reinterpret_cast<const Stored*>(data_)[e]; }
  __device__ C widened(Stored stored) const {
    if constexpr (is_complex)
      return {element(stored.re), element(stored.im)};
    else
      return element(stored);
  }

  /// V elements side by side as they are stored, at an e that is a multiple of V.
  template <int V>
  struct alignas(V * sizeof(Stored)) Piece {
    std::uint32_t words[V * sizeof(Stored) / 4];
  };
  template <int V>
  __device__ Piece<V> load_piece(int e) const {
    return reinterpret_cast<const Piece<V>*>(data_)[e / V];
  }
  template <int V>
  __device__ C widened(const Piece<V>& piece, int v) const {
    if constexpr (is_complex)
      return {part(piece, 2 * v), part(piece, 2 * v + 1)};
    else
      return part(piece, v);
  }

  /// V elements from e on, a multiple of V.
  template <int V>
  __device__ void load(int e, C (&elements)[V]) const {
    if constexpr (V == 1) {
      elements[0] = (*this)[e];
    } else {
      const Piece<V> piece = load_piece<V>(e);
#pragma unroll
      for (int v = 0; v < V; ++v) elements[v] = widened(piece, v);
    }
  }

  __device__ C scaled(C sum) const {
    if constexpr (scales_sums)
      return factor_ * sum;
    else
      return sum;
  }

 private:
  template <int V>
  __device__ R part(const Piece<V>& piece, int p) const {
    static_assert(narrow);
    if constexpr (sizeof(Number) == 4) {
      return element(__uint_as_float(piece.words[p]));
    } else {
      const std::uint32_t pair = piece.words[p / 2];
      if constexpr (scales_sums)
        return widened_upper<format>(p % 2 == 0 ? pair << 16 : pair);
      else
        return element(static_cast<Number>(pair >> 16 * (p % 2)));
    }
  }

  __device__ R element(Number number) const {
    if constexpr (scales_sums)
      return kernels::widened<format>(number);
    else if constexpr (narrow)
      return Part::decode(number) * factor_;
    else
      return number;
  }

  const std::byte* data_;
  R factor_;
};

}  // namespace blockjacobi::kernels
