#pragma once

#include "core/shared/scalar.hpp"

#include <blockjacobi/types.hpp>

#include <cstdint>
#include <limits>

namespace blockjacobi::detail {

/// How the inverse of one block is stored. All but the first two hold x / 2^e with one exponent e a block.
enum class Format : std::uint8_t {
  full,    ///< n x n of the working precision, column-major
  packed,  ///< the lower triangle of a Hermitian matrix, column by column
  fp32,    ///< n x n, column-major, parts in fp32
  bf16,    ///< parts in bfloat16
  fp16     ///< parts in IEEE half precision
};

/// Place of one stored block.
struct StoredSlot {
  offset_t start;     ///< first byte
  index_t first_row;  ///< of the matrix
  index_t size;       ///< order
};

/// Stored blocks of one format and order; consecutive slots, the first byte a multiple of 128.
struct StoredGroup {
  Format format = Format::full;
  index_t size = 0;
  index_t count = 0;
  index_t first_slot = 0;
  index_t first_row = -1;  ///< as in BlockGroup
  offset_t start = 0;
};

/// Whether a format keeps less of a number than the working precision.
BLOCKJACOBI_HD constexpr bool is_narrow(Format format) { return format != Format::full && format != Format::packed; }

BLOCKJACOBI_HD constexpr int format_part_bytes(Format format, int real_bytes) {
  switch (format) {
    case Format::full:
    case Format::packed: break;
    case Format::fp32: return 4;
    case Format::bf16:
    case Format::fp16: return 2;
  }
  return real_bytes;
}

/// Whether blocks whose working precision has real_bytes are stored so: fp32 is the full format of single precision.
BLOCKJACOBI_HD constexpr bool is_format_of(Format format, int real_bytes) {
  return !is_narrow(format) || format_part_bytes(format, real_bytes) < real_bytes;
}

/// The narrow formats, the cheapest first, of two with as many bytes the one with more digits.
inline constexpr int narrow_formats = 3;
BLOCKJACOBI_HD constexpr Format narrow_format(int k) {
  return k == 0 ? Format::fp16 : k == 1 ? Format::bf16 : Format::fp32;
}

/// Bytes of a block of order n whose elements are `parts` reals (1, or 2 for complex ones) of real_bytes.
BLOCKJACOBI_HD constexpr offset_t format_block_bytes(Format format, int n, int real_bytes, int parts) {
  const offset_t elements = format == Format::packed ? offset_t{n} * (n + 1) / 2 : offset_t{n} * n;
  return elements * parts * format_part_bytes(format, real_bytes);
}

/// Where element (i, j), i >= j, of a lower triangle of order n stands.
BLOCKJACOBI_HD constexpr offset_t packed_index(int i, int j, int n) { return offset_t{j} * (2 * n - j - 1) / 2 + i; }

// 16-bit numbers. Rounding is to nearest, ties to even; the same bits on host and device.

BLOCKJACOBI_HD inline std::uint32_t bits_of(float a) {
  std::uint32_t bits;
  memcpy(&bits, &a, sizeof(bits));
  return bits;
}
BLOCKJACOBI_HD inline float float_of(std::uint32_t bits) {
  float a;
  memcpy(&a, &bits, sizeof(a));
  return a;
}

/// For finite numbers whose rounding does not overflow.
BLOCKJACOBI_HD inline std::uint16_t to_bf16(float a) {
  const std::uint32_t bits = bits_of(a);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}
BLOCKJACOBI_HD inline float from_bf16(std::uint16_t a) { return float_of(static_cast<std::uint32_t>(a) << 16); }

/// For |a| < 65520.
BLOCKJACOBI_HD inline std::uint16_t to_fp16(float a) {
  const std::uint32_t sign = bits_of(a) >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits_of(a) & 0x7FFFFFFFu;
  if (magnitude < 0x38800000u) {  // below 2^-14: the sum has the spacing of subnormal halves, 2^-24
    const std::uint32_t steps = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
    return static_cast<std::uint16_t>(sign | steps);
  }
  const std::uint32_t rounded = magnitude + 0xFFFu + (magnitude >> 13 & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}
BLOCKJACOBI_HD inline float from_fp16(std::uint16_t a) {
#ifdef __CUDA_ARCH__
  float widened;
  asm("cvt.f32.f16 %0, %1;" : "=f"(widened) : "h"(a));
  return widened;
#else
  // The exponent is rebiased by a product, which is right for subnormal halves too.
  const float magnitude = float_of((static_cast<std::uint32_t>(a) & 0x7FFFu) << 13) * 0x1p112f;
  return float_of(bits_of(magnitude) | (static_cast<std::uint32_t>(a) & 0x8000u) << 16);
#endif
}

/// The numbers of a format, by its parts; those of a narrow one have a specialization.
template <Format format, class R>
struct StoredPart {
  static_assert(!is_narrow(format));
  using type = R;
  BLOCKJACOBI_HD static R encode(R a) { return a; }
  BLOCKJACOBI_HD static R decode(R a) { return a; }
};
template <class R>
struct StoredPart<Format::fp32, R> {
  using type = float;
  BLOCKJACOBI_HD static float encode(R a) { return static_cast<float>(a); }
  BLOCKJACOBI_HD static R decode(float a) { return a; }
};
template <class R>
struct StoredPart<Format::bf16, R> {
  using type = std::uint16_t;
  BLOCKJACOBI_HD static std::uint16_t encode(R a) { return to_bf16(static_cast<float>(a)); }
  BLOCKJACOBI_HD static R decode(std::uint16_t a) { return from_bf16(a); }
};
template <class R>
struct StoredPart<Format::fp16, R> {
  using type = std::uint16_t;
  BLOCKJACOBI_HD static std::uint16_t encode(R a) { return to_fp16(static_cast<float>(a)); }
  BLOCKJACOBI_HD static R decode(std::uint16_t a) { return from_fp16(a); }
};

/// e for a block whose largest part has magnitude `largest`. The largest number comes to lie below the greatest of the
/// format, so that small ones lose as little as can be: fp16 holds 2^39 down from the largest (2^29 with all its
/// digits), the others 2^246. e is an exponent of normal numbers of the working precision.
template <class R>
BLOCKJACOBI_HD inline int storage_exponent(Format format, R largest) {
  if (format == Format::full || format == Format::packed || !(largest > R(0))) return 0;
  constexpr int least = sizeof(R) == sizeof(float) ? -126 : -1022;
  const int e = exponent(largest) - (format == Format::fp16 ? 14 : 120);
  return e < least ? least : e;
}

/// Whether a line of an n x n inverse, one of its rows or, behind them, columns, has non-zeros and is stored as zeros
/// alone; down = 2^-e. Lines are read up to the first number that is kept, mostly their first.
template <Format format, class C>
BLOCKJACOBI_HD bool is_lost(const C* x, int n, int line, arithmetic_real_t<C> down) {
  using R = arithmetic_real_t<C>;
  using Part = StoredPart<format, R>;
  constexpr int parts = static_cast<int>(sizeof(C) / sizeof(R));
  const R* const first = reinterpret_cast<const R*>(line < n ? x + line : x + (line - n) * n);
  const int stride = line < n ? n * parts : parts;
  bool has_nonzeros = false;
  for (int k = 0; k < n; ++k)
    for (int p = 0; p < parts; ++p) {
      const R number = first[k * stride + p];
      if (Part::decode(Part::encode(number * down)) != R(0)) return false;
      has_nonzeros = has_nonzeros || number != R(0);
    }
  return has_nonzeros;
}

/// Calls f(std::integral_constant<Format, format>).
template <Format format>
struct FormatTag {
  static constexpr Format value = format;
};
#ifdef __CUDACC__
#pragma nv_exec_check_disable  // launchers call it with what is for the host alone
#endif
template <class F>
BLOCKJACOBI_HD inline void with_format(Format format, F&& f) {
  switch (format) {
    case Format::full: return f(FormatTag<Format::full>{});
    case Format::packed: return f(FormatTag<Format::packed>{});
    case Format::fp32: return f(FormatTag<Format::fp32>{});
    case Format::bf16: return f(FormatTag<Format::bf16>{});
    case Format::fp16: return f(FormatTag<Format::fp16>{});
  }
}

BLOCKJACOBI_HD inline float square_root(float a) { return sqrtf(a); }
BLOCKJACOBI_HD inline double square_root(double a) { return sqrt(a); }

/// Elements a_ij and a_ji of a Hermitian matrix may differ by this much: rounding in their assembly, relative to the
/// bound sqrt(|a_ii a_jj|) of the elements of a definite matrix.
template <class C>
BLOCKJACOBI_HD inline bool is_hermitian_pair(C a_ij, C a_ji, C a_ii, C a_jj) {
  using R = arithmetic_real_t<C>;
  constexpr R tolerance = 64 * (sizeof(R) == sizeof(float) ? R(1.1920928955078125e-07) : R(2.220446049250313e-16));
  const R bound = square_root(abs1(a_ii)) * square_root(abs1(a_jj));
  const R size = abs1(a_ij) > bound ? abs1(a_ij) : bound;
  return abs1(a_ij - conj(a_ji)) <= tolerance * size;
}

/// (a_ij + conj(a_ji)) / 2, by halves, which cannot overflow.
template <class C>
BLOCKJACOBI_HD inline C hermitian_mean(C a_ij, C a_ji) {
  using R = arithmetic_real_t<C>;
  return R(0.5) * a_ij + R(0.5) * conj(a_ji);
}

}  // namespace blockjacobi::detail
