#pragma once

#include <blockjacobi/types.hpp>

#include <cstdint>
#include <random>

namespace solve {

/// Uniform numbers in [-1, 1) that are the same with every standard library, unlike std::uniform_real_distribution.
class RandomUniform {
 public:
  explicit RandomUniform(std::uint64_t seed) : engine_(seed) {}

  /// Real and imaginary part are both random.
  template <blockjacobi::Scalar T>
  T next() {
    if constexpr (blockjacobi::is_complex<T>) {
      const auto real = next<blockjacobi::real_t<T>>();
      return {real, next<blockjacobi::real_t<T>>()};
    } else {
      const double in_0_1 = static_cast<double>(engine_() >> 11) * 0x1p-53;
      return static_cast<T>(2.0 * in_0_1 - 1.0);
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace solve
