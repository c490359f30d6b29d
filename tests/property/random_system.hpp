#pragma once

#include "support/dense.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace blockjacobi::test {

/// What is known of a block before it is inverted.
enum class BlockKind {
  regular,   ///< far from singular
  definite,  ///< Hermitian positive definite, far from singular
  hard,      ///< random and sparse: anything may come of it
  singular,  ///< exactly, and elimination finds it: equal rows, or a row or column of zeros
  broken     ///< one element is NaN or Inf
};

struct SystemOptions {
  bool definite = false;  ///< every block is definite and the whole matrix Hermitian and diagonally dominant
  bool regular = false;   ///< every block is regular or definite
  index_t most_rows = 320;
};

/// A matrix in compressed rows made from a seed, with diagonal blocks of 1 to 96 rows that are known. Base, width of
/// the offsets, order of the rows and duplicates vary; the elements are such that sums of duplicates are exact.
template <Scalar T>
class RandomSystem {
 public:
  explicit RandomSystem(std::uint64_t seed, SystemOptions options = {}) : random_(seed), options_(options) {
    choose_blocks();
    for (std::size_t b = 0; b < kinds_.size(); ++b) blocks_.push_back(make_block(b));
    make_rows();
    if (options_.definite) dominate();
    if (!options_.definite && random_.index(2) == 0) scale_blocks();
    store();
  }

  index_t rows() const { return partition_.rows(); }
  const BlockPartition& partition() const { return partition_; }
  const std::vector<Dense<T>>& blocks() const { return blocks_; }
  const std::vector<BlockKind>& kinds() const { return kinds_; }
  const std::vector<T>& values() const { return values_; }

  /// f(view), with offsets of 32 or 64 bits.
  template <class F>
  auto with_view(F&& f) const {
    if (narrow_) return f(view<std::int32_t>(offsets32_));
    return f(view<std::int64_t>(offsets64_));
  }

  /// On the host, sorted, duplicates summed.
  CsrMatrix<T> matrix() const {
    return with_view([](const auto& v) { return CsrMatrix<T>::from_view(v); });
  }

  /// Values of the same pattern that make every block differ.
  std::vector<T> other_values() {
    std::vector<T> values = values_;
    for (T& value : values) value = value * static_cast<real_t<T>>(1 + random_.index(3) / 4.0);
    return values;
  }

  Random& random() { return random_; }

 private:
  struct Entry {
    index_t col;
    T value;
  };

  /// Multiples of 1 / 64 below 2.
  T number() {
    const auto part = [&] { return static_cast<real_t<T>>((random_.index(257) - 128) / 64.0); };
    if constexpr (is_complex<T>) {
      const auto re = part(), im = part();
      return T(re, im);
    } else {
      return part();
    }
  }

  void choose_blocks() {
    std::vector<index_t> offsets{0};
    const index_t largest = 1 + random_.index(random_.index(3) == 0 ? 96 : 34);
    const bool uniform = random_.index(3) == 0;
    const index_t rows = 1 + random_.index(options_.most_rows);
    while (offsets.back() < rows) {
      const index_t size = std::min(uniform ? largest : 1 + random_.index(largest), rows - offsets.back());
      offsets.push_back(offsets.back() + size);
      kinds_.push_back(choose_kind());
    }
    partition_ = BlockPartition::from_offsets(std::move(offsets));
  }

  BlockKind choose_kind() {
    if (options_.definite) return BlockKind::definite;
    const index_t k = random_.index(options_.regular ? 10 : 16);
    return k < 7    ? BlockKind::regular
           : k < 10 ? BlockKind::definite
           : k < 13 ? BlockKind::hard
           : k < 15 ? BlockKind::singular
                    : BlockKind::broken;
  }

  Dense<T> make_block(std::size_t b) {
    const index_t n = partition_.block_size(static_cast<index_t>(b));
    Dense<T> a(n, n);
    const index_t zeros = random_.index(4);  // of four elements
    for (index_t j = 0; j < n; ++j)
      for (index_t i = 0; i < n; ++i) a(i, j) = random_.index(4) < zeros ? T(0) : number();
    const auto diagonal = static_cast<real_t<T>>(4 * std::ceil(std::sqrt(n)));
    switch (kinds_[b]) {
      case BlockKind::regular:
        for (index_t i = 0; i < n; ++i) a(i, (i + n / 3) % n) += T(diagonal);
        break;
      case BlockKind::definite:
        a = ((a + a.adjoint()) / real_t<T>(2)).eval();
        for (index_t i = 0; i < n; ++i) a(i, i) = T(std::abs(std::real(a(i, i))) + diagonal);
        break;
      case BlockKind::hard: break;
      case BlockKind::singular: make_singular(a); break;
      case BlockKind::broken: a(random_.index(n), random_.index(n)) = T(not_finite()); break;
    }
    return a;
  }

  void make_singular(Dense<T>& a) {
    const index_t n = static_cast<index_t>(a.rows());
    const index_t k = random_.index(n);
    switch (n == 1 ? 0 : random_.index(3)) {
      case 0: a.row(k).setZero(); break;
      case 1: a.col(k).setZero(); break;
      default: a.row(k) = a.row((k + 1) % n).eval(); break;
    }
  }

  real_t<T> not_finite() {
    const bool nan = random_.index(2) == 0;
    return nan ? std::numeric_limits<real_t<T>>::quiet_NaN() : std::numeric_limits<real_t<T>>::infinity();
  }

  void make_rows() {
    rows_.resize(static_cast<std::size_t>(rows()));
    for (index_t b = 0; b < partition_.blocks(); ++b) {
      const index_t first = partition_.first_row(b);
      const auto& a = blocks_[static_cast<std::size_t>(b)];
      for (index_t i = 0; i < a.rows(); ++i)
        for (index_t j = 0; j < a.cols(); ++j)
          // A zero is stored now and then, and missing else.
          if (a(i, j) != T(0) || random_.index(4) == 0) add(first + i, first + j, a(i, j));
    }
    const index_t outside = random_.index(3) * rows();
    for (index_t k = 0; k < outside; ++k) {
      const index_t i = random_.index(rows()), j = random_.index(rows());
      if (block_of(i) == block_of(j)) continue;
      const T value = number();
      add(i, j, value);
      if (options_.definite) add(j, i, conjugate(value));
    }
  }

  static T conjugate(const T& value) {
    if constexpr (is_complex<T>)
      return std::conj(value);
    else
      return value;
  }

  void add(index_t row, index_t col, const T& value) {
    auto& entries = rows_[static_cast<std::size_t>(row)];
    // In parts, whose sum is exact.
    if (random_.index(8) == 0 && std::isfinite(std::abs(value))) {
      const T part = number();
      entries.push_back({col, part});
      entries.push_back({col, value - part});
    } else {
      entries.push_back({col, value});
    }
  }

  index_t block_of(index_t row) const {
    const auto offsets = partition_.offsets();
    return static_cast<index_t>(std::upper_bound(offsets.begin(), offsets.end(), row) - offsets.begin()) - 1;
  }

  /// Adds to each diagonal element what makes the row dominant.
  void dominate() {
    for (index_t i = 0; i < rows(); ++i) {
      double sum = 1.0;
      for (const Entry& entry : rows_[static_cast<std::size_t>(i)])
        sum += std::abs(std::real(entry.value)) + std::abs(std::imag(entry.value));
      const T more(static_cast<real_t<T>>(std::ceil(sum)));
      rows_[static_cast<std::size_t>(i)].push_back({i, more});
      const index_t b = block_of(i), local = i - partition_.first_row(b);
      blocks_[static_cast<std::size_t>(b)](local, local) += more;
    }
  }

  /// Rows and columns of each block by one power of two each: exact.
  void scale_blocks() {
    std::vector<real_t<T>> factors;
    for (const Dense<T>& block : blocks_) {
      static_cast<void>(block);
      factors.push_back(std::ldexp(real_t<T>(1), random_.index(21) - 10));
    }
    for (std::size_t b = 0; b < blocks_.size(); ++b) blocks_[b] *= factors[b];
    for (index_t i = 0; i < rows(); ++i)
      for (Entry& entry : rows_[static_cast<std::size_t>(i)])
        entry.value *= factors[static_cast<std::size_t>(block_of(i))];
  }

  void store() {
    base_ = random_.index(2) == 0 ? IndexBase::zero : IndexBase::one;
    narrow_ = random_.index(2) == 0;
    const bool sorted = random_.index(2) == 0;
    const auto base = static_cast<index_t>(base_);
    offsets64_.push_back(base);
    for (auto& row : rows_) {
      if (sorted)
        std::stable_sort(row.begin(), row.end(), [](const Entry& a, const Entry& b) { return a.col < b.col; });
      else
        for (std::size_t k = row.size(); k > 1; --k)
          std::swap(row[k - 1], row[static_cast<std::size_t>(random_.index(static_cast<index_t>(k)))]);
      for (const Entry& entry : row) {
        columns_.push_back(entry.col + base);
        values_.push_back(entry.value);
      }
      offsets64_.push_back(static_cast<offset_t>(values_.size()) + base);
    }
    offsets32_.assign(offsets64_.begin(), offsets64_.end());
  }

  template <Offset O>
  CsrView<T, O> view(const std::vector<O>& offsets) const {
    return {rows(),         rows(),           static_cast<offset_t>(values_.size()),
            offsets.data(), columns_.data(),  values_.data(),
            base_,          MemorySpace::host};
  }

  Random random_;
  SystemOptions options_;
  BlockPartition partition_;
  std::vector<BlockKind> kinds_;
  std::vector<Dense<T>> blocks_;
  std::vector<std::vector<Entry>> rows_;
  IndexBase base_ = IndexBase::zero;
  bool narrow_ = false;
  std::vector<std::int32_t> offsets32_;
  std::vector<std::int64_t> offsets64_;
  std::vector<index_t> columns_;
  std::vector<T> values_;
};

}  // namespace blockjacobi::test
