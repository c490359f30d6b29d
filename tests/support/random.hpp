#pragma once

#include <blockjacobi/types.hpp>

#include <random>

namespace blockjacobi::test {

/// Uniform in [-1, 1] (both parts for complex); the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double real() { return static_cast<double>(engine_() >> 11) * 0x1p-52 - 1.0; }
  index_t index(index_t bound) { return static_cast<index_t>(engine_() % static_cast<std::uint64_t>(bound)); }
  template <Scalar T>
  T scalar() {
    if constexpr (is_complex<T>) {
      const double re = real(), im = real();
      return T(static_cast<real_t<T>>(re), static_cast<real_t<T>>(im));
    } else {
      return static_cast<T>(real());
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace blockjacobi::test
