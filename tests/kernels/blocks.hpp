#pragma once

#include "core/compute_views.hpp"
#include "core/shared/defect_words.hpp"
#include "tests/kernels/support.hpp"

#include <Eigen/Dense>

#include <cmath>

namespace blockjacobi::test {

template <Scalar T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// Entry (i, j) of a block.
template <Scalar T>
struct Entry {
  index_t i;
  index_t j;
  T value;
};

/// The stored entries of a block, row by row; entries of the same element are neighbours.
template <Scalar T>
using Entries = std::vector<Entry<T>>;

template <Scalar T>
Entries<T> dense_entries(const Matrix<T>& a) {
  Entries<T> entries;
  for (index_t i = 0; i < a.rows(); ++i)
    for (index_t j = 0; j < a.cols(); ++j) entries.push_back({i, j, a(i, j)});
  return entries;
}

template <Scalar T>
Matrix<T> random_matrix(index_t n, unsigned seed) {
  std::mt19937 generator(seed);
  Matrix<T> a = Matrix<T>::NullaryExpr(n, n, [&] { return random_scalar<T>(generator); });
  // Large elements on a shifted diagonal: rows still move, and no fp32 block comes near the singular threshold.
  for (index_t i = 0; i < n; ++i) a(i, (i + n / 3 + 1) % n) += T(static_cast<real_t<T>>(1.5 * std::sqrt(n)));
  return a;
}

/// Of the position map of a test.
enum class Words { none, narrow, wide };

/// A batch of blocks on the device that is set up through the seam, without the layers above it.
template <Scalar T>
class Blocks {
 public:
  Blocks(const Backend& backend, const std::vector<index_t>& sizes)
      : backend_(backend),
        partition_(BlockPartition::from_offsets(offsets(sizes))),
        inverse_(backend, partition_),
        info_(backend, sizes.size()),
        rcond_(backend, sizes.size()),
        defects_(backend, detail::defect_words(static_cast<index_t>(sizes.size()))) {
    defects_.zero();
  }

  const BlockPartition& partition() const { return partition_; }
  index_t rows() const { return partition_.rows(); }
  BlockBatchView<const T> view() const { return inverse_.view(); }

  /// entries(block) gives the stored entries of a block. The map has no words where a block is regular, and narrow ones
  /// where the orders admit it, unless `least` asks for more.
  template <class Source>
  void setup(Source entries, detail::Fallback fallback = detail::Fallback::identity, Words least = Words::none,
             bool hermitian = false) {
    std::vector<T> values;
    std::vector<detail::MapSlot> slots;
    std::vector<std::uint32_t> narrow;
    std::vector<std::uint64_t> words;
    bool duplicates = false;
    const bool wide = least == Words::wide || partition_.largest_block() > 32;
    for (const BlockSlot& slot : inverse_.layout().slots()) {
      const Entries<T> stored = entries(slot.block);
      const bool regular = least == Words::none && is_regular(stored, slot.size);
      const auto first = static_cast<offset_t>(values.size());
      const index_t stride = slot.size + 3;  // with gaps between the rows
      slots.push_back({static_cast<offset_t>(words.size()), regular || !wide ? first : 0, regular ? stride : 0});
      detail::MapEntry last{-1, -1, -1};
      for (const Entry<T>& e : stored) {
        if (regular && e.j == 0 && e.i > 0) values.resize(values.size() + 3, T(1000));
        const detail::MapEntry entry{static_cast<offset_t>(values.size()), e.i, e.j};
        values.push_back(e.value);
        if (regular) continue;
        narrow.push_back(detail::map_word<std::uint32_t>(entry, slots.back()));
        words.push_back(detail::map_word<std::uint64_t>(entry, slots.back()));
        duplicates = duplicates || same_element(entry, last);
        last = entry;
      }
    }
    slots.push_back({static_cast<offset_t>(words.size()), 0, 0});
    const Array<T> device_values(backend_, values);
    const Array<detail::MapSlot> device_slots(backend_, slots);
    const Array<std::uint32_t> device_narrow(backend_, narrow);
    const Array<std::uint64_t> device_wide(backend_, words);
    detail::block_ops<T>(backend_).setup(
        detail::compute_cast(device_values.data()),
        {device_slots.data(), wide ? nullptr : device_narrow.data(), device_wide.data(), duplicates},
        detail::compute_view(inverse_.view()), hermitian, fallback, {info_.data(), rcond_.data(), defects_.data()});
    backend_.synchronize();
  }

  std::vector<T> apply(const std::vector<T>& r) const {
    const Array<T> input(backend_, r);
    Array<T> output(backend_, std::vector<T>(r.size(), T(7)));
    detail::block_ops<T>(backend_).apply(detail::compute_view(inverse_.view()), Op::none,
                                         detail::compute_cast(input.data()), detail::compute_cast(output.data()));
    return output.to_host();
  }

  Matrix<T> block(index_t b) const {
    const std::vector<T> values = inverse_.block(b);
    return Eigen::Map<const Matrix<T>>(values.data(), partition_.block_size(b), partition_.block_size(b));
  }
  std::vector<int> info() const { return info_.to_host(); }
  std::vector<real_t<T>> rcond() const { return rcond_.to_host(); }
  int defects() const { return defects_.to_host()[0]; }

 private:
  /// Whether all elements are there, row by row.
  static bool is_regular(const Entries<T>& entries, index_t n) {
    if (std::ssize(entries) != static_cast<std::ptrdiff_t>(n) * n) return false;
    for (std::size_t e = 0; e < entries.size(); ++e)
      if (entries[e].i * n + entries[e].j != static_cast<index_t>(e)) return false;
    return true;
  }

  static std::vector<index_t> offsets(const std::vector<index_t>& sizes) {
    std::vector<index_t> offsets{0};
    for (const index_t size : sizes) offsets.push_back(offsets.back() + size);
    return offsets;
  }

  Backend backend_;
  BlockPartition partition_;
  BlockBatch<T> inverse_;
  Array<int> info_;
  Array<real_t<T>> rcond_;
  Array<int> defects_;
};

using WideMatrix = Eigen::Matrix<std::complex<double>, Eigen::Dynamic, Eigen::Dynamic>;

template <Scalar T>
WideMatrix widen(const Matrix<T>& a) {
  return a.template cast<std::complex<double>>();
}

/// NaN if the matrix has one, which Eigen's maximum passes over unless told not to.
inline double infinity_norm(const WideMatrix& a) {
  return a.rows() == 0 ? 0.0 : a.cwiseAbs().rowwise().sum().maxCoeff<Eigen::PropagateNaN>();
}

/// min(||I - A X||, ||I - X A||) / (n eps ||A|| ||X||) in the infinity norm, evaluated in double; its own rounding
/// adds at most about 1 for double data.
template <Scalar T>
double inverse_error(const Matrix<T>& a, const Matrix<T>& x) {
  const WideMatrix wide_a = widen<T>(a), wide_x = widen<T>(x);
  const WideMatrix identity = WideMatrix::Identity(a.rows(), a.cols());
  const double right = infinity_norm(identity - wide_a * wide_x);
  const double left = infinity_norm(identity - wide_x * wide_a);
  const double scale = static_cast<double>(a.rows()) * epsilon<T> * infinity_norm(wide_a) * infinity_norm(wide_x);
  return std::min(left, right) / scale;
}

}  // namespace blockjacobi::test
