#pragma once

#include "core/shared/coarse_basis.hpp"
#include "kernels/collectives/grid_exchange.cuh"
#include "kernels/krylov/launch.hpp"
#include "kernels/krylov/resident.cuh"

namespace blockjacobi::kernels {

template <class C, class S>
class ResidentCoarse;

/// A coarse level for thread blocks that reside.
template <class C, class S>
struct ResidentCoarseArrays : CoarseLevelArrays<C, S> {
  static constexpr bool exists = true;
  using Part = ResidentCoarse<C, S>;

  /// With what the thread blocks tell each other at `messages`; those after it are free.
  ResidentCoarseArrays(const CoarseLevelArrays<C, S>& level, bool hermitian, Message<C>* messages)
      : CoarseLevelArrays<C, S>(level),
        is_hermitian(hermitian),
        vectors(messages),
        sums(vectors + 2 * offset_t{level.basis.rows}),
        solution(sums + offset_t{exchange_copies} * level.inverse.order) {}
  static constexpr std::size_t messages_for(index_t rows, index_t order) {
    return 2 * static_cast<std::size_t>(rows) + (exchange_copies + 1) * static_cast<std::size_t>(order);
  }

  bool is_hermitian;    ///< E
  Message<C>* vectors;  ///< y, then r
  Message<C>* sums;     ///< Z^H r - Z^H A y, scaled as E is, exchange_copies times
  Message<C>* solution;
};

/// In its place where there is none.
struct NoResidentCoarse {
  static constexpr bool exists = false;
  struct Part {
    __device__ Part(const NoResidentCoarse&, SharedRoom&) {}
    __device__ void load(SharedRoom&) {}
  };
};

/// The coarse part of an iteration, c = E^-1 (Z^H r - Z^H A y), the last term where there is a product: every thread
/// block has a share of the coarse rows, which may be none, and keeps their entries and rows of E^-1 in shared memory
/// if there is room. It gathers what r and y have there from the thread blocks of these rows, tells its sums to all,
/// and its elements of c to whom it concerns.
template <class C, class S>
class ResidentCoarse {
  using Arrays = ResidentCoarseArrays<C, S>;

 public:
  __device__ ResidentCoarse(const Arrays& a, SharedRoom& shared)
      : a_(a),
        order_(a.inverse.order),
        begin_(share(blockIdx.x)),
        count_(share(blockIdx.x + 1) - begin_),
        is_single_(a.inverse.single != nullptr && *a.inverse.is_single != 0),
        s_(shared.take<C>(order_)),
        partials_(shared.take<C>(count_ + warps())),
        offsets_(shared.take<int>(count_ + 1)) {
    // Every thread its own sum: there are few rows.
    for (int k = thread(); k <= count_; k += threads()) {
      int entries = a.restriction.row_offsets[begin_ + k] - a.restriction.row_offsets[begin_];
      if (has_left_product()) entries += a.left_product.row_offsets[begin_ + k] - a.left_product.row_offsets[begin_];
      offsets_[k] = entries;
    }
    __syncthreads();
  }

  /// Brings what there is room for to shared memory.
  __device__ void load(SharedRoom& shared) {
    const int entries = offsets_[count_];
    held_ = min(entries, max(0, shared.room_for(sizeof(C) + sizeof(int)) - 4));  // two pieces, each of which is aligned
    C* const values = shared.take<C>(held_);
    int* const places = shared.take<int>(held_);
    for (int k = warp(); k < count_; k += warps())
      for (int e = offsets_[k] + lane(); e < min(offsets_[k + 1], held_); e += 32) {
        const Entry entry = entry_of(k, e);
        values[e] = entry.value;
        places[e] = entry.place;
      }
    values_ = values;
    places_ = places;
    if (is_single_)
      single_ = rows_of(a_.inverse.single, shared);
    else
      full_ = rows_of(a_.inverse.full, shared);
    __syncthreads();
  }

  /// Whether y counts, and whether A Z c is to be taken from r before M^-1.
  __device__ bool has_left_product() const { return a_.left_product.rows > 0; }
  __device__ bool has_right_product() const { return a_.right_product.rows > 0; }

  /// Tells the others r and y of a row.
  __device__ void tell(int row, unsigned round, C r, C y) const {
    if (has_left_product()) put(a_.vectors[row], round, y);
    put(a_.vectors[a_.basis.rows + row], round, r);
  }

  /// Solves with what all thread blocks have told in this round. A barrier of the thread block.
  __device__ void solve(unsigned round) const {
    for_each_row([&](int k, int first, int step) { return part_of_sum(k, first, step, round); },
                 [&](int k, C sum) {
                   const C scaled = scale(k, sum);
                   for (int copy = 0; copy < exchange_copies; ++copy)
                     put(a_.sums[copy * order_ + begin_ + k], round, scaled);
                 });
    if (count_ == 0) return;
    const Message<C>* const sums = a_.sums + static_cast<int>(blockIdx.x) % exchange_copies * order_;
    for (int j = thread(); j < order_; j += threads()) s_[j] = receive(sums[j], round);
    __syncthreads();
    for_each_row([&](int k, int first, int step) { return part_of_product(k, first, step); },
                 [&](int k, C sum) { put(a_.solution[begin_ + k], round, scale(k, sum)); });
  }

  /// (Z c)_i, once the thread blocks that it concerns have told their elements of c.
  __device__ C prolonged(int row, unsigned round) const {
    const index_t group = a_.basis.group[row];
    if (group == detail::no_group) return C{};
    const index_t first = a_.basis.first_column(group), columns = a_.basis.columns(group);
    C sum{};
    for (index_t v = 0; v < columns; ++v) sum += a_.basis.value(row, v) * receive(a_.solution[first + v], round);
    return sum;
  }
  /// (A Z c)_i in the same way.
  __device__ C right_product(int row, unsigned round) const {
    C sum{};
    for (int k = a_.right_product.row_offsets[row]; k < a_.right_product.row_offsets[row + 1]; ++k)
      sum += a_.right_product.values[k] * receive(a_.solution[a_.right_product.columns[k]], round);
    return sum;
  }

 private:
  /// Of a coarse row: of r with its element of Z^H, or of y with that of -Z^H A.
  struct Entry {
    C value;
    int place;  ///< among the messages
  };

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int threads() { return resident_policy.threads; }
  __device__ static int lane() { return thread() % 32; }
  __device__ static int warp() { return thread() / 32; }
  __device__ static int warps() { return threads() / 32; }
  __device__ int share(unsigned cta) const { return static_cast<int>(offset_t{order_} * cta / gridDim.x); }
  __device__ C scale(int k, C a) const { return a_.inverse.scale != nullptr ? a_.inverse.scale[begin_ + k] * a : a; }

  /// Entry e of all, which is of coarse row k: first those of Z^H.
  __device__ Entry entry_of(int k, int e) const {
    const int row = begin_ + k, begin = a_.restriction.row_offsets[row];
    const int of_r = a_.restriction.row_offsets[row + 1] - begin, i = e - offsets_[k];
    if (i < of_r) {
      const C value = a_.restriction.values != nullptr ? a_.restriction.values[begin + i] : detail::from_real<C>(1);
      return {value, a_.basis.rows + a_.restriction.columns[begin + i]};
    }
    const int entry = a_.left_product.row_offsets[row] + i - of_r;
    return {-a_.left_product.values[entry], a_.left_product.columns[entry]};
  }
  /// Of row k of E^-1. A Hermitian one is read as the column that it is the conjugate of, whose elements stand
  /// together.
  template <class E>
  __device__ E element_of_inverse(const E* inverse, int k, int j) const {
    const offset_t row = begin_ + k;
    if (a_.is_hermitian) return detail::conj(inverse[row * order_ + j]);
    return inverse[offset_t{j} * order_ + row];
  }
  /// The rows of E^-1 of the thread block, in shared memory; null without room.
  template <class E>
  __device__ const E* rows_of(const E* inverse, SharedRoom& shared) const {
    if (count_ * order_ > shared.room_for(sizeof(E)) - 2) return nullptr;
    E* const held = shared.take<E>(count_ * order_);
    for (int k = warp(); k < count_; k += warps())
      for (int j = lane(); j < order_; j += 32) held[k * order_ + j] = element_of_inverse(inverse, k, j);
    return held;
  }

  /// finish(k, sum) for each coarse row, in one thread, of what part(k, first, step) returns in the lanes of some
  /// warps.
  template <class Part, class Finish>
  __device__ void for_each_row(Part part, Finish finish) const {
    const int pieces = count_ > 0 ? max(1, warps() / count_) : 1;
    for (int task = warp(); task < count_ * pieces; task += warps()) {
      const C sum = sum_of_lanes(part(task / pieces, task % pieces * 32 + lane(), 32 * pieces), 32);
      if (lane() == 0) partials_[task] = sum;
    }
    __syncthreads();
    for (int k = thread(); k < count_; k += threads()) {
      C sum{};
      for (int p = 0; p < pieces; ++p) sum += partials_[k * pieces + p];
      finish(k, sum);
    }
  }

  /// Waits for the elements.
  __device__ C part_of_sum(int k, int first, int step, unsigned round) const {
    constexpr int K = sizeof(C) > 8 ? 2 : 4;  // on the way at once
    const int end = offsets_[k + 1];
    C sum{};
    for (int e = offsets_[k] + first; e < end; e += K * step) {
      Entry entry[K];
      C element[K];
#pragma unroll
      for (int i = 0; i < K; ++i) {
        const int own = e + i * step;
        if (own < end) entry[i] = own < held_ ? Entry{values_[own], places_[own]} : entry_of(k, own);
      }
      bool waits = true;
      while (waits) {
        waits = false;
#pragma unroll
        for (int i = 0; i < K; ++i)
          if (e + i * step < end) waits = !get(a_.vectors[entry[i].place], round, element[i]) || waits;
      }
#pragma unroll
      for (int i = 0; i < K; ++i)
        if (e + i * step < end) sum += entry[i].value * element[i];
    }
    return sum;
  }

  __device__ C part_of_product(int k, int first, int step) const {
    return is_single_ ? part_of_product(single_, a_.inverse.single, k, first, step)
                      : part_of_product(full_, a_.inverse.full, k, first, step);
  }
  /// `held`: rows_of(inverse).
  template <class E>
  __device__ C part_of_product(const E* held, const E* inverse, int k, int first, int step) const {
    C sum{};
    if (held != nullptr) {
#pragma unroll 4
      for (int j = first; j < order_; j += step) sum += detail::convert<C>(held[k * order_ + j]) * s_[j];
    } else {
#pragma unroll 4
      for (int j = first; j < order_; j += step) sum += detail::convert<C>(element_of_inverse(inverse, k, j)) * s_[j];
    }
    return sum;
  }

  const Arrays& a_;
  int order_;
  int begin_, count_;  ///< coarse rows of the thread block
  bool is_single_;     ///< E^-1 is read in single precision
  C* s_;
  C* partials_;
  int* offsets_;  ///< of the entries of each coarse row
  int held_ = 0;  ///< entries in shared memory
  const C* values_ = nullptr;
  const int* places_ = nullptr;
  const C* full_ = nullptr;    ///< rows of E^-1, if there is room
  const S* single_ = nullptr;  ///< in its place where it is read in single precision
};

}  // namespace blockjacobi::kernels
