#pragma once

#include "backend/host_block_ops.hpp"

#include "backend/host_equilibration.hpp"
#include "backend/host_extract.hpp"
#include "backend/host_fixed_size.hpp"
#include "backend/host_invert.hpp"
#include "backend/host_lanes.hpp"
#include "backend/host_lu.hpp"
#include "backend/host_product.hpp"
#include "backend/host_repair.hpp"
#include "backend/host_slots.hpp"
#include "core/compute_views.hpp"
#include "core/shared/l1_sum.hpp"
#include "core/shared/tiny_order.hpp"

#include <array>
#include <limits>

namespace blockjacobi::detail {

/// Below these, waking threads costs more than it saves.
inline constexpr offset_t smallest_parallel_batch = 16384;  // elements
inline constexpr index_t smallest_parallel_rows = 4096;
/// That a thread takes.
constexpr int blocks_at_once(index_t order) { return order > largest_tiny_order ? 1 : 256; }

/// The elements of a block of order N, row by row.
template <int N, class C>
void extract_rows(const C* values, const PositionMapView& map, offset_t slot, C* block) {
  const MapSlot& place = map.slots[slot];
  const C* first = values + place.first_source;
  if (place.row_stride != 0) {
    for (int i = 0; i < N; ++i, first += place.row_stride)
      for (int j = 0; j < N; ++j) block[i * N + j] = first[j];
  } else if (map.narrow != nullptr && !map.duplicates && map.slots[slot + 1].begin - place.begin == N * N) {
    // All elements, which stand in this order.
    const std::uint32_t* words = map.narrow + place.begin;
    for (int e = 0; e < N * N; ++e) block[e] = first[words[e] >> 2 * map_bits<std::uint32_t>];
  } else {
    std::fill_n(block, N * N, C{});
    for_each_entry(map, slot, [&](index_t i, index_t j, offset_t k) { block[i * N + j] += values[k]; });
  }
}

/// Working storage of one block; `N` is its order, or 0 for any order up to max_block_size.
template <Scalar T, int N>
class BlockSetup {
  using C = compute_t<T>;
  using R = real_t<T>;
  static constexpr std::size_t capacity = static_cast<std::size_t>(N > 0 ? N : max_block_size);

 public:
  BlockSetup(C* block, int order) : a_(block), order_(order) {}

  /// Inverts the block in place; `info` and `rcond` as BlockJacobi has them. `hermitian`: the block is.
  void run(const C* values, const PositionMapView& map, offset_t slot, bool hermitian, Fallback fallback, int& info,
           R& rcond) {
    extract_block(values, map, slot, n(), a_);
    for (int i = 0; i < n(); ++i) diagonal_[index(i)] = a_[at(i, i)];
    info = first_non_finite();
    rcond = std::numeric_limits<R>::quiet_NaN();
    if (info == 0) {
      equilibrate();
      info = invert_scaled(rcond);
      if (info != 0 || !scales_serve(values, map, slot)) {
        extract_block(values, map, slot, n(), a_);
        equilibrate_thoroughly(a_, n(), row_.data(), column_.data());
        scale_elements();
        info = invert_scaled(rcond);
      }
    }
    if (info != 0)
      store_fallback(fallback);
    else if (hermitian && n() > largest_tiny_order)
      symmetrize();
  }

  /// As BlockJacobi has it. The LU factorization takes the place of the block; `pivots`: n elements.
  R pivot_growth(const C* values, const PositionMapView& map, offset_t slot, index_t* pivots) {
    extract_block(values, map, slot, n(), a_);
    if (first_non_finite() != 0) return std::numeric_limits<R>::quiet_NaN();
    equilibrate();
    const R before = largest_modulus([](int, int) { return true; });
    static_cast<void>(lu_paneled<T>(MatrixRef<C>{a_, n(), n(), n()}, pivots));
    return growth_between(before, largest_modulus([](int i, int j) { return i <= j; }));
  }

 private:
  int n() const { return N > 0 ? N : order_; }
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  int at(int i, int j) const { return i + j * n(); }

  int first_non_finite() const {
    for (int j = 0; j < n(); ++j)
      for (int i = 0; i < n(); ++i)
        if (!finite(a_[at(i, j)])) return info_non_finite(i, j, n());
    return 0;
  }

  /// Rows first, then columns.
  void equilibrate() {
    std::array<R, capacity> largest;
    std::fill_n(largest.begin(), n(), R(0));
    for (int j = 0; j < n(); ++j)
      for (int i = 0; i < n(); ++i) largest[index(i)] = std::max(largest[index(i)], abs1(a_[at(i, j)]));
    for (int i = 0; i < n(); ++i) row_[index(i)] = equilibrating_exponent(largest[index(i)]);
    for (int j = 0; j < n(); ++j) {
      column_[index(j)] = equilibrating_exponent(column_exponent(j));
      for (int i = 0; i < n(); ++i) a_[at(i, j)] = scale_by_power(a_[at(i, j)], row_[index(i)] + column_[index(j)]);
    }
  }

  void scale_elements() {
    for (int j = 0; j < n(); ++j)
      for (int i = 0; i < n(); ++i) a_[at(i, j)] = scale_by_power(a_[at(i, j)], row_[index(i)] + column_[index(j)]);
  }

  /// Whether the powers of equilibrate() were good enough, once it is known where the pivots were found.
  bool scales_serve(const C* values, const PositionMapView& map, offset_t slot) const {
    int widest_row = 0, largest_column = 0;
    std::array<int, capacity> origin;
    for (int i = 0; i < n(); ++i) {
      widest_row = std::max(widest_row, std::abs(row_[index(i)]));
      largest_column = std::max(largest_column, column_[index(i)]);
      origin[index(i)] = i;
    }
    if (!are_ordinary_scales<R>(widest_row, largest_column)) return false;
    std::array<bool, capacity> misleads;
    for (int k = 0; k < n(); ++k) {
      std::swap(origin[index(k)], origin[index(pivots_[index(k)])]);
      misleads[index(k)] = is_unlike(origin[index(k)], k);
    }
    const auto none_misleads = [&] {
      return std::find(misleads.begin(), misleads.begin() + n(), true) == misleads.begin() + n();
    };
    if (none_misleads()) return true;
    const auto look = [&](int k, int j, C element) {
      const int exponent = magnitude_exponent(abs1(element)) + row_[index(k)] + column_[index(j)];
      if (j == origin[index(k)] && has_counterpart<R>(exponent)) misleads[index(k)] = false;
    };
    const MapSlot& place = map.slots[slot];
    if (place.row_stride != 0) {
      const C* row = values + place.first_source;
      for (int k = 0; k < n(); ++k, row += place.row_stride) look(k, origin[index(k)], row[origin[index(k)]]);
    } else {
      for_each_entry(map, slot, [&](index_t k, index_t j, offset_t source) { look(k, j, values[source]); });
    }
    return none_misleads();
  }

  bool is_unlike(int i, int k) const {
    return exchanges_unlike_rows<R>(row_[index(i)], column_[index(i)], row_[index(k)], column_[index(k)]);
  }

  /// Of the largest element of column j after the scaling of the rows, which may itself underflow.
  int column_exponent(int j) const {
    R largest = 0;
    for (int i = 0; i < n(); ++i) largest = std::max(largest, abs1(scale_by_power(a_[at(i, j)], row_[index(i)])));
    if (largest >= std::numeric_limits<R>::min()) return magnitude_exponent(largest);
    int exponent = no_exponent;
    for (int i = 0; i < n(); ++i)
      exponent = std::max(exponent, magnitude_exponent(abs1(a_[at(i, j)])) + row_[index(i)]);
    return exponent;
  }

  R infinity_norm() const {
    std::array<R, capacity> sum;
    std::fill_n(sum.begin(), n(), R(0));
    for (int j = 0; j < n(); ++j)
      for (int i = 0; i < n(); ++i) sum[index(i)] += modulus(a_[at(i, j)]);
    R norm = 0;
    for (int i = 0; i < n(); ++i)
      if (norm == norm && !(sum[index(i)] <= norm)) norm = sum[index(i)];  // keeps NaN
    return norm;
  }

  /// Of the elements (i, j) that are taken; NaN if one of them is.
  template <class Taken>
  R largest_modulus(Taken taken) const {
    R largest = 0;
    for (int j = 0; j < n(); ++j)
      for (int i = 0; i < n(); ++i)
        if (taken(i, j) && largest == largest && !(modulus(a_[at(i, j)]) <= largest)) largest = modulus(a_[at(i, j)]);
    return largest;
  }

  /// Inverts the block as it is scaled, and undoes that; `info` and `rcond` as BlockJacobi has them.
  int invert_scaled(R& rcond) {
    const R norm = infinity_norm();
    rcond = 0;
    if (const int info = eliminate(); info != 0) return info;
    rcond = R(1) / (norm * infinity_norm());
    if (!finite(rcond)) rcond = 0;
    return undo_scaling() && rcond >= singular_threshold<R>(n()) ? 0 : info_ill_conditioned(n());
  }

  /// Half the sum with the adjoint, exactly Hermitian. why no Cholesky factorization: elimination with a search is 1.0
  /// to 1.4 times as fast here up to order 256, that of definite matrices by a sweep 1.0 to 1.9 times.
  void symmetrize() {
    for (int j = 0; j < n(); ++j)
      for (int i = j; i < n(); ++i) {
        const C mean = hermitian_mean(a_[at(i, j)], a_[at(j, i)]);
        a_[at(i, j)] = mean;
        a_[at(j, i)] = conj(mean);
      }
  }

  int eliminate() {
    if constexpr (N > 0)
      return gauss_jordan(a_, std::integral_constant<int, N>{}, pivots_.data());
    else
      return paneled_gauss_jordan(public_cast(a_), order_, order_, pivots_.data());
  }

  /// (R A C)^-1 = C^-1 A^-1 R^-1, so element (i, j) takes the scales of column i and row j. False if it overflows.
  bool undo_scaling() {
    bool all_finite = true;
    for (int j = 0; j < n(); ++j)
      for (int i = 0; i < n(); ++i) {
        C& x = a_[at(i, j)];
        x = scale_by_power(x, column_[index(i)] + row_[index(j)]);
        all_finite = all_finite && finite(x);
      }
    return all_finite;
  }

  void store_fallback(Fallback fallback) {
    std::fill_n(a_, n() * n(), C{});
    for (int i = 0; i < n(); ++i) a_[at(i, i)] = fallback_diagonal(fallback, diagonal_[index(i)]);
  }

  C* a_;
  int order_;
  std::array<C, capacity> diagonal_;
  std::array<int, capacity> row_, column_, pivots_;
};

/// z = X^T r for one block, or z = X^H r.
template <int N, Op op, class C>
void multiply_transposed(const C* x, int order, const C* r, C* z) {
  const int n = N > 0 ? N : order;
  for (int j = 0; j < n; ++j) {
    const C* column = x + static_cast<std::ptrdiff_t>(j) * n;
    C sum{};
    for (int i = 0; i < n; ++i) sum += (op == Op::transpose ? column[i] : conj(column[i])) * r[i];
    z[j] = sum;
  }
}

/// z = X r for one block.
template <int N, class C>
void multiply(const C* x, int order, const C* r, C* z) {
  if constexpr (N > 0) {
    C sum[static_cast<std::size_t>(N)];
    for (int i = 0; i < N; ++i) sum[i] = x[i] * r[0];
    add_product<N>(x + N, N, N - 1, r + 1, sum);
    std::copy_n(sum, N, z);
  } else {
    std::fill_n(z, order, C{});
    add_product<0>(x, order, order, r, z);
  }
}

/// The blocks of one order, some of which fill the lanes of a vector.
template <Scalar T, int N>
class LaneSetup {
  using C = compute_t<T>;

 public:
  static constexpr int lanes = LaneInverse<T, N>::lanes;

  LaneSetup(const BlockBatchView<C>& inverse, Fallback fallback, const BlockStatusView<T>& status)
      : inverse_(inverse), fallback_(fallback), status_(status) {}

  /// Inverts the blocks first .. first + count - 1, count <= lanes; returns how many of them have info != 0.
  int run(const C* values, const PositionMapView& map, offset_t first, int count) {
    // Lanes without a block of their own take the last one again.
    for (int lane = 0; lane < lanes; ++lane)
      extract_rows<N>(values, map, first + std::min(lane, count - 1), block_.rows(lane));
    block_.run();
    int defects = 0;
    for (int lane = 0; lane < count; ++lane) {
      const BlockSlot& slot = inverse_.slots[first + lane];
      C* const place = inverse_.data + slot.start;
      int& info = status_.info[slot.block];
      if (block_.is_unusual(lane)) {
        BlockSetup<T, N>(place, N).run(values, map, first + lane, false, fallback_, info, status_.rcond[slot.block]);
        defects += info != 0;
      } else {
        block_.store(lane, place);
        info = 0;
        status_.rcond[slot.block] = block_.rcond(lane);
      }
    }
    return defects;
  }

 private:
  LaneInverse<T, N> block_;
  const BlockBatchView<C>& inverse_;
  Fallback fallback_;
  const BlockStatusView<T>& status_;
};

template <Scalar T>
void HostBlockOps<T>::setup(const C* values, const PositionMapView& map, const BlockBatchView<C>& inverse,
                            bool hermitian, Fallback fallback, const BlockStatusView<T>& status) {
  int defects = 0;
  for (const BlockGroup& group : inverse.groups) {
    with_fixed_size(group.size, [&](auto fixed) {
      const offset_t end = static_cast<offset_t>(group.first_slot) + group.count;
      if constexpr (!is_complex<T> && fixed() > 0 && fixed() <= largest_lane_size) {
        constexpr int lanes = LaneInverse<T, fixed()>::lanes;
#pragma omp parallel num_threads(threads_) reduction(+ : defects) \
    if (static_cast<offset_t>(group.count) * group.size * group.size > smallest_parallel_batch)
        {
          LaneSetup<T, fixed()> blocks(inverse, fallback, status);
#pragma omp for schedule(static)
          for (offset_t s = group.first_slot; s < end; s += lanes)
            defects += blocks.run(values, map, s, static_cast<int>(std::min<offset_t>(lanes, end - s)));
        }
        return;
      }
      // dynamic: pivoting and fallbacks make blocks of one order differ in cost
#pragma omp parallel for num_threads(threads_) schedule(dynamic, blocks_at_once(group.size)) reduction(+ : defects) \
    if (static_cast<offset_t>(group.count) * group.size * group.size > smallest_parallel_batch)
      for (offset_t s = group.first_slot; s < end; ++s) {
        const BlockSlot& slot = inverse.slots[s];
        BlockSetup<T, fixed()> block(inverse.data + slot.start, slot.size);
        block.run(values, map, s, hermitian, fallback, status.info[slot.block], status.rcond[slot.block]);
        defects += status.info[slot.block] != 0;
      }
    });
  }
  *status.defects = defects;
}

template <Scalar T>
void HostBlockOps<T>::repair(const C* values, const PositionMapView& map, const BlockBatchView<C>& work, Repair repair,
                             const real_t<T>* rounding_scales, const BlockStatusView<T>& status,
                             const ScratchView<C>& scratch) {
  if (*status.defects == 0 && rounding_scales == nullptr) return;
  int found = 0;
  for_each_slot(work, scratch, threads_, [&](const BlockSlot& slot, offset_t s, C* own) {
    int& info = status.info[slot.block];
    real_t<T>& rcond = status.rcond[slot.block];
    const real_t<T>* const of_block = rounding_scales != nullptr ? rounding_scales + slot.first_row : nullptr;
    BlockRepair<T> block(values, map, s, slot.size, work.data + slot.start, own, of_block);
    if (of_block != nullptr && info == 0 && block.is_rounding(rcond)) {
      info = info_ill_conditioned(slot.size);
#pragma omp atomic
      ++found;
    }
    if (info > 0) block.run(repair, rcond);
  });
  *status.defects += found;
}

template <Scalar T>
void HostBlockOps<T>::count_defects(const int* info, index_t blocks, int* defects) {
  *defects = static_cast<int>(blocks - std::count(info, info + blocks, 0));
}

template <Scalar T>
void HostBlockOps<T>::append_l1_entries(const C* values, const L1PatternView& pattern, C* extended) {
#pragma omp parallel for num_threads(threads_) schedule(static) if (pattern.rows > smallest_parallel_rows)
  for (index_t row = 0; row < pattern.rows; ++row) {
    L1Sum<C> sum;
    const offset_t end = pattern.row_offsets[row + 1];
    for (offset_t k = pattern.row_offsets[row]; k < end; ++k) {
      extended[k + row] = values[k];
      sum.add(values[k], row, pattern.columns[k], pattern.block_begin[row], pattern.block_end[row]);
    }
    extended[end + row] = sum.entry();
  }
}

template <Scalar T>
void HostBlockOps<T>::pivot_growth(const C* values, const PositionMapView& map, const BlockBatchView<C>& work,
                                   index_t* pivots, int*, real_t<T>* growth) {
  for (const BlockGroup& group : work.groups) {
#pragma omp parallel for num_threads(threads_)                                                                        \
    schedule(dynamic, blocks_at_once(group.size)) if (static_cast <offset_t>(group.count) * group.size * group.size > \
                                                      smallest_parallel_batch)
    for (index_t b = 0; b < group.count; ++b) {
      const offset_t s = offset_t{group.first_slot} + b;
      const BlockSlot& slot = work.slots[s];
      growth[slot.block] = BlockSetup<T, 0>(work.data + slot.start, slot.size)
                               .pivot_growth(values, map, s, pivots + offset_t{b} * group.size);
    }
  }
}

template <Op op, class C>
void apply_blocks(const BlockBatchView<const C>& inverse, const C* r, C* z, [[maybe_unused]] int threads) {
#pragma omp parallel num_threads(threads) if (inverse.rows > smallest_parallel_rows)
  for (const BlockGroup& group : inverse.groups) {
    const BlockSlot* slots = inverse.slots + group.first_slot;
    with_fixed_size<ProductSizes>(group.size, [&](auto fixed) {
      const int n = fixed() > 0 ? fixed() : group.size;
#pragma omp for schedule(static) nowait
      for (index_t b = 0; b < group.count; ++b) {
        const C* block = inverse.data + group.start + offset_t{b} * n * n;
        // The table of slots need not be read where the blocks follow each other in the rows too, as most do.
        const index_t row = group.first_row >= 0 ? group.first_row + b * n : slots[b].first_row;
        if constexpr (op == Op::none)
          multiply<fixed()>(block, n, r + row, z + row);
        else
          multiply_transposed<fixed(), op>(block, n, r + row, z + row);
      }
    });
  }
}

template <Scalar T>
void HostBlockOps<T>::apply(const BlockBatchView<const C>& inverse, Op op, const C* r, C* z) {
  if (op == Op::none) return apply_blocks<Op::none>(inverse, r, z, threads_);
  if (op == Op::transpose || !is_complex<T>) return apply_blocks<Op::transpose>(inverse, r, z, threads_);
  if constexpr (is_complex<T>) apply_blocks<Op::conjugate_transpose>(inverse, r, z, threads_);
}

}  // namespace blockjacobi::detail
