#pragma once

#include "support/random.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <algorithm>
#include <vector>

namespace blockjacobi::test {

/// The arrays of a user: compressed rows on a backend, of any width of the offsets and any base.
template <Scalar T, Offset O>
class CsrArrays {
 public:
  CsrArrays(const Backend& backend, const CsrMatrix<T>& a, IndexBase base = IndexBase::zero)
      : CsrArrays(backend, a.rows(), a.cols(), {a.row_offsets().begin(), a.row_offsets().end()},
                  {a.columns().begin(), a.columns().end()}, {a.values().begin(), a.values().end()}, base) {}
  CsrArrays(const Backend& backend, index_t rows, index_t cols, const std::vector<offset_t>& offsets,
            const std::vector<index_t>& columns, const std::vector<T>& values_on_host, IndexBase base)
      : rows_(rows),
        cols_(cols),
        base_(base),
        offsets_(backend, shifted<O>(offsets, base)),
        columns_(backend, shifted<index_t>(columns, base)),
        values(backend, values_on_host) {}

  CsrView<T, O> view() const {
    return {rows_,         cols_, static_cast<offset_t>(values.size()), offsets_.data(), columns_.data(),
            values.data(), base_, values.backend().memory_space()};
  }

 private:
  template <class To, class From>
  static std::vector<To> shifted(const std::vector<From>& v, IndexBase base) {
    std::vector<To> result(v.size());
    for (std::size_t i = 0; i < v.size(); ++i) result[i] = static_cast<To>(v[i] + static_cast<From>(base));
    return result;
  }

  index_t rows_, cols_;
  IndexBase base_;
  Array<O> offsets_;
  Array<index_t> columns_;

 public:
  Array<T> values;
};

/// Entries of a matrix in the order in which they stand, rows unsorted and with duplicates.
template <Scalar T>
struct LooseEntries {
  index_t rows = 0, cols = 0;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<T> values;

  /// On the host.
  CsrView<T> view() const {
    return {rows,
            cols,
            static_cast<offset_t>(columns.size()),
            offsets.data(),
            columns.data(),
            values.data(),
            IndexBase::zero,
            MemorySpace::host};
  }
};

/// Some entries of the rows of `a` are split in two, and all shuffled. Values are such that sums are exact.
template <Scalar T>
LooseEntries<T> loosened(const CsrMatrix<T>& a, std::uint64_t seed) {
  Random random(seed);
  LooseEntries<T> loose;
  loose.rows = a.rows();
  loose.cols = a.cols();
  for (index_t i = 0; i < a.rows(); ++i) {
    std::vector<index_t> row;
    for (offset_t k = a.row_offsets()[static_cast<std::size_t>(i)];
         k < a.row_offsets()[static_cast<std::size_t>(i) + 1]; ++k)
      for (index_t part = 0; part <= random.index(3); ++part) row.push_back(a.columns()[static_cast<std::size_t>(k)]);
    for (std::size_t k = row.size(); k > 1; --k)
      std::swap(row[k - 1], row[static_cast<std::size_t>(random.index(static_cast<index_t>(k)))]);
    loose.columns.insert(loose.columns.end(), row.begin(), row.end());
    loose.offsets.push_back(static_cast<offset_t>(loose.columns.size()));
  }
  for (std::size_t k = 0; k < loose.columns.size(); ++k)
    loose.values.push_back(T(static_cast<real_t<T>>(random.index(64) - 32)));
  return loose;
}

}  // namespace blockjacobi::test
