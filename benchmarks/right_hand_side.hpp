#pragma once

#include <blockjacobi/blockjacobi.hpp>

#include <cstdint>
#include <variant>
#include <vector>

namespace bench {

/// With offsets of 32 bits, as every user of cuSPARSE has them; throws for more entries than these count.
template <class T>
const blockjacobi::CsrView<T, std::int32_t>& narrow_view(const blockjacobi::SparseMatrix<T>& matrix) {
  return std::get<blockjacobi::CsrView<T, std::int32_t>>(matrix.view());
}

/// A x with x uniform in [-1, 1], or with ones, on the device.
inline blockjacobi::Array<double> right_hand_side(const blockjacobi::LinearOperator<double>& A, bool ones) {
  const auto n = static_cast<std::size_t>(A.rows());
  std::vector<double> x(n, 1.0);
  std::uint64_t state = 1;
  if (!ones)
    for (double& element : x) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      element = static_cast<double>(state >> 11) * 0x1p-52 - 1.0;
    }
  const blockjacobi::Array<double> solution(A.backend(), x);
  blockjacobi::Array<double> b(A.backend(), n);
  A.apply(solution.view(), b.view());
  return b;
}

}  // namespace bench
