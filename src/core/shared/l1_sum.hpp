#pragma once

#include "core/shared/scalar.hpp"

#include <blockjacobi/types.hpp>

namespace blockjacobi::detail {

/// What l1 block-Jacobi adds to the diagonal of one row, summed entry by entry.
template <class C>
class L1Sum {
  using R = arithmetic_real_t<C>;

 public:
  BLOCKJACOBI_HD void add(C value, index_t row, index_t column, index_t block_begin, index_t block_end) {
    if (column < block_begin || column >= block_end) sum_ += modulus(value);
    if (column == row) diagonal_ += real_part(value);
  }
  BLOCKJACOBI_HD C entry() const { return from_real<C>(diagonal_ < R(0) ? -sum_ : sum_); }

 private:
  R sum_ = 0;
  R diagonal_ = 0;
};

}  // namespace blockjacobi::detail
