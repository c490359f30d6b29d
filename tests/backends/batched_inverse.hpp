#pragma once

#include "support/batch.hpp"

namespace blockjacobi::test {

/// What inverse, or getrf and getri, gave for one batch.
template <Scalar T>
struct Inverses {
  std::vector<Dense<T>> x;
  std::vector<int> info;
  bool padding_untouched = false;
};

enum class InverseBy { fused, factors };

template <Scalar T>
Inverses<T> inverted(const Backend& backend, const std::vector<Dense<T>>& matrices, InverseBy by, bool in_place,
                     const BatchForm& form = {}) {
  const TestBatch<T> a(backend, matrices, form), other(backend, TestBatch<T>::nan_like(matrices), form);
  const TestBatch<T>& x = in_place ? a : other;
  Array<int> info(backend, matrices.size());
  if (by == InverseBy::fused) {
    batched::inverse(backend, a.view(), x.view_for(a), info.data());
  } else {
    Array<index_t> ipiv(backend, static_cast<std::size_t>(a.view().rows) * matrices.size());
    batched::getrf(backend, a.view(), ipiv.data(), info.data());
    batched::getri(backend, a.view(), ipiv.data(), x.view_for(a), info.data());
  }
  if (!in_place && by == InverseBy::fused) {
    const auto input = a.matrices();
    for (std::size_t k = 0; k < matrices.size(); ++k) EXPECT_TRUE(same_bits(input[k], matrices[k]));
  }
  return {x.matrices(), info.to_host(), a.padding_untouched() && other.padding_untouched()};
}

}  // namespace blockjacobi::test
