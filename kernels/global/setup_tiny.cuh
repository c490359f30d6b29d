#pragma once

#include "kernels/check.hpp"
#include "kernels/global/setup.cuh"
#include "kernels/subwarp/gauss_jordan.cuh"
#include "kernels/tuning/setup.hpp"

#include <climits>

namespace blockjacobi::kernels {

/// A block of order n <= W in shared memory, worked on by W lanes: column-major with an odd leading dimension, so that
/// rows and columns can be read without bank conflicts. Lane i owns row i or column i.
template <int W, class C>
struct TinyTile {
  using R = detail::arithmetic_real_t<C>;
  static constexpr int capacity = W * (W + 1);

  C* a;
  int* row_exponent;
  int* column_exponent;
  int n;
  int ld;
  Lanes<W> lanes;

  __device__ bool owns() const { return lanes.rank < n; }
  __device__ C& at(int i, int j) const { return a[i + j * ld]; }

  /// Calls visit(i, j, e) for the elements of this lane, e = i + j n; neighbouring lanes take neighbouring elements.
  template <class Visit>
  __device__ void for_each_element(Visit visit) const {
    int i = lanes.rank, j = 0;
    for (int e = lanes.rank; e < n * n; e += W) {
      while (i >= n) {
        i -= n;
        ++j;
      }
      visit(i, j, e);
      i += W;
    }
  }

  __device__ void clear() const {
    for (int e = lanes.rank; e < n * ld; e += W) a[e] = C{};
    lanes.sync();
  }

  __device__ void extract(const C* values, const MapRange& map) const {
    clear();
    extract_entries(values, map, lanes.rank, W, [&](int position, C value) { at(position % n, position / n) = value; });
    lanes.sync();
  }

  /// i + j n of the first element in column-major order that is NaN or Inf; INT_MAX if there is none.
  __device__ int first_non_finite() const {
    int first = INT_MAX;
    if (owns())
      for (int i = n - 1; i >= 0; --i)
        if (!detail::finite(at(i, lanes.rank))) first = i + lanes.rank * n;
    return lanes.min(first);
  }

  /// Scales rows, then columns, by powers of two.
  __device__ void equilibrate() const {
    const int own = lanes.rank;
    if (owns()) {
      R largest = 0;
      for (int j = 0; j < n; ++j) largest = fmax(largest, detail::abs1(at(own, j)));
      const int exponent = detail::equilibrating_exponent(largest);
      row_exponent[own] = exponent;
      if (exponent != 0)
        for (int j = 0; j < n; ++j) at(own, j) = detail::scale_by_power(at(own, j), exponent);
    }
    lanes.sync();
    if (owns()) {
      R largest = 0;
      for (int i = 0; i < n; ++i) largest = fmax(largest, detail::abs1(at(i, own)));
      const int exponent = detail::equilibrating_exponent(largest);
      column_exponent[own] = exponent;
      if (exponent != 0)
        for (int i = 0; i < n; ++i) at(i, own) = detail::scale_by_power(at(i, own), exponent);
    }
    lanes.sync();
  }

  __device__ R infinity_norm() const {
    R sum = 0;
    if (owns())
      for (int j = 0; j < n; ++j) sum += detail::modulus(at(lanes.rank, j));
    return lanes.reduce(sum, LargerOrNan<R>{});
  }

  /// In place; returns the 1-based index of the first pivot that is exactly zero, or 0.
  __device__ int invert() const {
    C row[W];
#pragma unroll
    for (int j = 0; j < W; ++j) row[j] = owns() && j < n ? at(lanes.rank, j) : C{};
    RowPlace place;
    const int zero_pivot = gauss_jordan(lanes, row, n, place);
    if (zero_pivot != 0) return zero_pivot;
    lanes.sync();  // every lane has read its row
#pragma unroll
    for (int j = 0; j < W; ++j) {
      const int step = j - (W - n);
      if (step < 0) continue;
      const int column = lanes.broadcast(place.pivot_column, step);
      if (owns()) at(place.row, column) = row[j];
    }
    lanes.sync();
    return 0;
  }

  /// (R A C)^-1 = C^-1 A^-1 R^-1: element (i, j) takes the scales of column i and row j. False if it overflows.
  __device__ bool undo_scaling() const {
    bool all_finite = true;
    for_each_element([&](int i, int j, int) {
      const C x = detail::scale_by_power(at(i, j), column_exponent[i] + row_exponent[j]);
      all_finite = all_finite && detail::finite(x);
      at(i, j) = x;
    });
    lanes.sync();
    return lanes.all(all_finite);
  }

  /// Equilibrates and inverts a finite block.
  __device__ Outcome<R> solve() const {
    equilibrate();
    const R norm = infinity_norm();
    const int zero_pivot = invert();
    if (zero_pivot != 0) return {zero_pivot, R(0)};
    const R rcond = reciprocal_condition(norm, infinity_norm());
    lanes.sync();  // the norm was read by rows
    const bool finite = undo_scaling();
    const bool accepted = finite && rcond >= detail::singular_threshold<R>(n);
    return {accepted ? 0 : detail::info_ill_conditioned(n), rcond};
  }

  __device__ void set_diagonal(C own_element) const {
    lanes.sync();
    clear();
    if (owns()) at(lanes.rank, lanes.rank) = own_element;
    lanes.sync();
  }

  __device__ void store(C* block) const {
    for_each_element([&](int i, int j, int e) { block[e] = at(i, j); });
  }
};

/// Bytes of shared memory a lane group needs.
template <int W, class C>
constexpr std::size_t tiny_tile_bytes = static_cast<std::size_t>(TinyTile<W, C>::capacity) * sizeof(C) +
                                        2 * sizeof(int) * W;

template <int W, class C>
inline constexpr TinySetupPolicy tiny_policy = tiny_setup_policy(sizeof(C), W);

template <int W, class C>
__global__ void __launch_bounds__(tiny_policy<W, C>.threads, 1)
    setup_tiny_kernel(const SetupArguments<C> arguments, const SlotRange range) {
  using R = detail::arithmetic_real_t<C>;
  constexpr int groups = tiny_policy<W, C>.threads / W;
  extern __shared__ __align__(16) unsigned char shared_bytes[];

  const int group = static_cast<int>(threadIdx.x) / W;
  const offset_t member = static_cast<offset_t>(blockIdx.x) * groups + group;
  if (member >= range.count) return;  // whole groups leave; no barrier of the thread block follows
  const offset_t s = range.first + member;
  const BlockSlot slot = arguments.slots[s];

  C* tiles = reinterpret_cast<C*>(shared_bytes);
  int* exponents = reinterpret_cast<int*>(tiles + groups * TinyTile<W, C>::capacity) + group * 2 * W;
  const TinyTile<W, C> tile{tiles + group * TinyTile<W, C>::capacity,
                            exponents,
                            exponents + W,
                            slot.size,
                            slot.size | 1,
                            Lanes<W>::current()};
  const int rank = tile.lanes.rank;

  tile.extract(arguments.values, entries_of(arguments, s));
  const C diagonal = tile.owns() ? tile.at(rank, rank) : C{};
  const int bad = tile.first_non_finite();
  tile.lanes.sync();
  const Outcome<R> outcome = bad == INT_MAX
                                 ? tile.solve()
                                 : Outcome<R>{detail::info_non_finite(bad % tile.n, bad / tile.n, tile.n), R(0) / R(0)};
  if (outcome.info != 0) tile.set_diagonal(detail::fallback_diagonal(arguments.fallback, diagonal));
  tile.store(arguments.inverse + slot.start);
  if (rank == 0) store_outcome(arguments, slot, outcome);
}

template <int W, class C>
void launch_setup_tiny(const SetupArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  constexpr int threads = tiny_policy<W, C>.threads;
  constexpr int groups = threads / W;
  const auto blocks = static_cast<unsigned>((static_cast<offset_t>(range.count) + groups - 1) / groups);
  setup_tiny_kernel<W, C><<<blocks, threads, groups * tiny_tile_bytes<W, C>, stream>>>(arguments, range);
  check_launch("setup_tiny_kernel");
}

template <class C>
void setup_tiny(const SetupArguments<C>& arguments, const SlotRange& range, int width, CUstream_st* stream) {
  switch (width) {
    case 4: return launch_setup_tiny<4>(arguments, range, stream);
    case 8: return launch_setup_tiny<8>(arguments, range, stream);
    case 16: return launch_setup_tiny<16>(arguments, range, stream);
    default: return launch_setup_tiny<32>(arguments, range, stream);
  }
}

}  // namespace blockjacobi::kernels
