#pragma once

#include <blockjacobi/types.hpp>
#include <blockjacobi/views.hpp>

#include <fuzzer/FuzzedDataProvider.h>

#include <array>
#include <complex>
#include <limits>
#include <vector>

namespace blockjacobi::fuzz {

/// Numbers from the bytes of an input, the least ones where they end: what is right stands first everywhere.
class Input {
 public:
  Input(const unsigned char* data, std::size_t size) : data_(data, size) {}

  bool flag() { return data_.ConsumeBool(); }

  /// In least..most; now and then any number at all.
  index_t index(index_t least, index_t most) { return data_.ConsumeIntegralInRange(least, most); }
  index_t wild(index_t least, index_t most) {
    return index(0, 15) == 15 ? data_.ConsumeIntegral<index_t>() : index(least, most);
  }

  std::vector<index_t> indices(std::size_t most, index_t first, index_t last) {
    std::vector<index_t> values(data_.ConsumeIntegralInRange<std::size_t>(0, most));
    for (index_t& value : values) value = wild(first, last);
    return values;
  }

  /// Often one of those with which arithmetic is hard.
  double real() {
    static constexpr std::array<double, 14> hard{0.0,
                                                 -0.0,
                                                 1.0,
                                                 -1.0,
                                                 2.0,
                                                 0.5,
                                                 1e-30,
                                                 1e30,
                                                 1e-320,
                                                 1e308,
                                                 -1e308,
                                                 std::numeric_limits<double>::infinity(),
                                                 -std::numeric_limits<double>::infinity(),
                                                 std::numeric_limits<double>::quiet_NaN()};
    const index_t k = index(0, 31);
    if (k < static_cast<index_t>(hard.size())) return hard[static_cast<std::size_t>(k)];
    return k == 31 ? data_.ConsumeFloatingPoint<double>() : index(-100, 100) / 8.0;
  }

  template <Scalar T>
  T scalar() {
    using R = real_t<T>;
    const R re = narrow<R>(real());
    if constexpr (is_complex<T>)
      return T(re, narrow<R>(real()));
    else
      return re;
  }

 private:
  /// A conversion that is out of range is undefined.
  template <class R>
  static R narrow(double value) {
    constexpr double largest = std::numeric_limits<R>::max();
    if (value > largest || value < -largest)
      return value > 0 ? std::numeric_limits<R>::infinity() : -std::numeric_limits<R>::infinity();
    return static_cast<R>(value);
  }

  FuzzedDataProvider data_;
};

/// A matrix of up to 16 rows: sound ones of either base, unsorted and with duplicates, and such that some number in
/// them is wrong. The arrays are as long as the view says, since no function can know better.
template <Scalar T, Offset O>
class CsrInput {
 public:
  explicit CsrInput(Input& input)
      : rows_(input.index(0, 16)),
        cols_(input.index(0, 3) == 3 ? input.wild(-1, 17) : rows_),
        base_(input.flag() ? IndexBase::one : IndexBase::zero),
        null_(input.index(0, 31)) {
    const auto base = static_cast<index_t>(base_);
    offsets_.push_back(static_cast<O>(base));
    for (index_t row = 0; row < rows_; ++row) offsets_.push_back(static_cast<O>(offsets_.back() + input.index(0, 4)));
    const auto nnz = static_cast<std::size_t>(offsets_.back() - base);
    const bool sound = input.index(0, 3) != 3;
    for (std::size_t k = 0; k < nnz; ++k) {
      const index_t last = cols_ > 0 ? cols_ - 1 : 0;
      columns_.push_back(sound ? base + input.index(0, last) : input.wild(-1, 17));
      values_.push_back(input.scalar<T>());
    }
    nnz_ = static_cast<offset_t>(nnz);
    if (sound) return;
    const auto changed = static_cast<std::size_t>(input.index(0, rows_));
    offsets_[changed] = static_cast<O>(input.wild(-1, 20));
    if (input.index(0, 3) == 0) nnz_ = input.index(-1, static_cast<index_t>(nnz));
  }

  CsrView<T, O> view() const {
    return {rows_,
            cols_,
            nnz_,
            null_ == 1 ? nullptr : offsets_.data(),
            null_ == 2 ? nullptr : columns_.data(),
            null_ == 3 ? nullptr : values_.data(),
            base_,
            null_ == 4 ? MemorySpace::device : MemorySpace::host};
  }

 private:
  index_t rows_, cols_;
  IndexBase base_;
  index_t null_;
  offset_t nnz_ = 0;
  std::vector<O> offsets_;
  std::vector<index_t> columns_;
  std::vector<T> values_;
};

}  // namespace blockjacobi::fuzz
