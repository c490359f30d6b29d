#pragma once

#include <blockjacobi/views.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace blockjacobi::test {

/// A band matrix on the host, Hermitian and diagonally dominant, whose rows may stand in the wrong order.
template <Scalar T>
struct SystemOf {
  SystemOf(index_t rows, bool sorted) {
    for (index_t i = 0; i < rows; ++i) {
      const std::size_t begin = columns.size();
      for (const index_t d : {-7, -3, -1, 0, 1, 3, 7})
        if (i + d >= 0 && i + d < rows) {
          columns.push_back(i + d);
          values.push_back(d == 0 ? T(20) : beside(d));
        }
      if (!sorted) {
        std::reverse(columns.begin() + static_cast<std::ptrdiff_t>(begin), columns.end());
        std::reverse(values.begin() + static_cast<std::ptrdiff_t>(begin), values.end());
      }
      offsets.push_back(static_cast<std::int32_t>(columns.size()));
    }
  }
  CsrView<T, std::int32_t> view() const {
    const auto rows = static_cast<index_t>(offsets.size() - 1);
    return {rows,
            rows,
            static_cast<offset_t>(columns.size()),
            offsets.data(),
            columns.data(),
            values.data(),
            IndexBase::zero,
            MemorySpace::host};
  }
  std::vector<std::int32_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<T> values;

 private:
  static T beside([[maybe_unused]] index_t d) {
    if constexpr (is_complex<T>)
      return {-1, d > 0 ? real_t<T>(0.5) : real_t<T>(-0.5)};
    else
      return -1;
  }
};
using System = SystemOf<double>;

}  // namespace blockjacobi::test
