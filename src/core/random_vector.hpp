#pragma once

#include <blockjacobi/types.hpp>

#include <cstdint>
#include <random>
#include <vector>

namespace blockjacobi::detail {

/// Uniform in [-1, 1] (both parts), the same on every machine.
template <Scalar T>
std::vector<T> random_vector(index_t size, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto next = [&engine] { return static_cast<real_t<T>>(static_cast<double>(engine() >> 11) * 0x1p-52 - 1.0); };
  std::vector<T> x(static_cast<std::size_t>(size));
  for (T& value : x) {
    if constexpr (is_complex<T>) {
      const auto real = next(), imaginary = next();
      value = T(real, imaginary);
    } else {
      value = next();
    }
  }
  return x;
}

}  // namespace blockjacobi::detail
