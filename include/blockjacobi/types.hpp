#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace blockjacobi {

/// Row, column and block numbers.
using index_t = std::int32_t;

/// Positions in value arrays and block storage; never overflows for matrices that fit in memory.
using offset_t = std::int64_t;

/// The largest order of a diagonal block.
inline constexpr index_t max_block_size = 512;

template <class T>
concept Scalar = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::complex<float>> ||
    std::same_as<T, std::complex<double>>;

/// Row offsets of a CSR matrix.
template <class T>
concept Offset = std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;

/// LAPACK's letters for the four scalars.
enum class ScalarType { s, d, c, z };

template <Scalar T>
struct ScalarTraits;
template <>
struct ScalarTraits<float> {
  using real = float;
  static constexpr ScalarType type = ScalarType::s;
  static constexpr bool is_complex = false;
};
template <>
struct ScalarTraits<double> {
  using real = double;
  static constexpr ScalarType type = ScalarType::d;
  static constexpr bool is_complex = false;
};
template <>
struct ScalarTraits<std::complex<float>> {
  using real = float;
  static constexpr ScalarType type = ScalarType::c;
  static constexpr bool is_complex = true;
};
template <>
struct ScalarTraits<std::complex<double>> {
  using real = double;
  static constexpr ScalarType type = ScalarType::z;
  static constexpr bool is_complex = true;
};

/// float for s and c, double for d and z.
template <Scalar T>
using real_t = typename ScalarTraits<T>::real;

template <Scalar T>
inline constexpr ScalarType scalar_type = ScalarTraits<T>::type;

template <Scalar T>
inline constexpr bool is_complex = ScalarTraits<T>::is_complex;

constexpr char to_char(ScalarType type) noexcept {
  switch (type) {
    case ScalarType::s: return 's';
    case ScalarType::d: return 'd';
    case ScalarType::c: return 'c';
    case ScalarType::z: return 'z';
  }
  return '?';
}

/// op(A): A, A^T or A^H.
enum class Op { none, transpose, conjugate_transpose };

/// Number of the first row and column in index arrays.
enum class IndexBase : std::int32_t { zero = 0, one = 1 };

}  // namespace blockjacobi
