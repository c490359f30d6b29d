#pragma once

#include <blockjacobi/types.hpp>

#include "matrices/generators/portable_math.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace blockjacobi::matrices::detail {

/// Random numbers that do not depend on the standard library, unlike those of std::uniform_real_distribution.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// Independent numbers for each `stream` of one seed, for work that is split over threads.
  Random(std::uint64_t seed, std::uint64_t stream) : engine_(mix(seed ^ mix(stream + 1))) {}

  /// In [0, 1).
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

  /// In [low, high).
  double between(double low, double high) { return low + (high - low) * unit(); }

  /// In [-1, 1); real and imaginary part both.
  template <Scalar T>
  T symmetric() {
    using Real = real_t<T>;
    const double real = between(-1.0, 1.0);
    if constexpr (is_complex<T>) {
      return {static_cast<Real>(real), static_cast<Real>(between(-1.0, 1.0))};
    } else {
      return static_cast<Real>(real);
    }
  }

  /// In [1, contrast), uniform in the logarithm.
  double log_uniform(double contrast) { return portable_exp2(portable_log2(contrast) * unit()); }

  /// In {0, ..., n - 1}.
  index_t below(index_t n) { return static_cast<index_t>(((engine_() >> 32) * static_cast<std::uint64_t>(n)) >> 32); }

 private:
  /// The finalizer of SplitMix64: neighbouring seeds give unrelated states.
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
  }

  std::mt19937_64 engine_;
};

/// One coefficient a cell, log-uniform in [1, contrast).
inline std::vector<double> random_coefficients(index_t cells, double contrast, Random& random) {
  std::vector<double> coefficients(static_cast<std::size_t>(cells), 1.0);
  if (contrast == 1.0) return coefficients;
  for (double& coefficient : coefficients) coefficient = random.log_uniform(contrast);
  return coefficients;
}

}  // namespace blockjacobi::matrices::detail
