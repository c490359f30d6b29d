#pragma once

#include "kernels/collectives/message.cuh"
#include "kernels/krylov/column_numbers.cuh"
#include "kernels/krylov/resident_share.cuh"

namespace blockjacobi::kernels {

/// Lanes for each of the rows: so many that a lane has few entries, and as many as there are, but not more than have
/// something to do.
__device__ inline int lanes_for(int rows, int entries, int threads) {
  int lanes = 1;
  while (lanes < 32 && 2 * lanes * rows <= entries &&
         (2 * lanes * rows <= threads || resident_lane_entries * lanes * rows < entries))
    lanes *= 2;
  return lanes;
}

/// The rows of a thread block in shared memory, with the elements of the direction that they multiply: its own first,
/// then those of others. The number of an element has 16 bits where all find room so. Entries and elements that find no
/// room there stay where they are; the others tell their elements of the direction by messages then.
template <class C>
class ResidentRows {
 public:
  using Number = unsigned short;

  /// The rows row0 .. row0 + rows - 1. `numbers`: ColumnNumbers::bytes(a.rows) that are free until the end of this.
  __device__ ResidentRows(const CsrRows<C>& a, int row0, int rows, void* numbers_memory, SharedRoom& shared)
      : a_(a), row0_(row0), rows_(rows), first_(a.offsets[row0] - a.base) {
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    constexpr int element = sizeof(C) + sizeof(int), narrow_element = sizeof(C) + sizeof(Number);
    entries_ = a.offsets[row0 + rows] - a.base - first_;
    offsets_ = shared.take<int>(rows + 1);
    const int room = shared.room_for(element) - 8;  // four pieces, each of which is aligned
    const int bytes = room * element;

    ColumnNumbers numbers(numbers_memory, a.rows, row0, rows);
    for (int k = thread; k < entries_; k += threads) numbers.insert(a.columns[first_ + k] - a.base);
    for (int i = thread; i <= rows; i += threads) offsets_[i] = a.offsets[row0 + i] - a.base - first_;
    numbers.finish();
    const int all = numbers.count();
    is_complete_ =
        all <= most_numbers && all <= bytes / element && entries_ <= (bytes - all * element) / narrow_element;
    held_ = is_complete_ ? entries_ : max(0, min(entries_, room - rows));
    count_ = is_complete_ ? all : min(all, room - held_);
    values_ = shared.take<C>(held_);
    numbers_ = shared.take<Number>(is_complete_ ? held_ : 0);
    columns_ = shared.take<int>(is_complete_ ? 0 : held_);
    directions_ = shared.take<C>(count_);
    list_ = shared.take<int>(count_);
    for (int k = thread; k < held_; k += threads) {
      const int column = a.columns[first_ + k] - a.base, number = numbers.number(column);
      values_[k] = a.values[first_ + k];
      if (is_complete_)
        numbers_[k] = static_cast<Number>(number);
      else
        columns_[k] = number < count_ ? number : ~column;
    }
    numbers.for_each([&](int number, int column) {
      if (number < count_) list_[number] = column;
    });
    __syncthreads();
  }

  __device__ int entries() const { return entries_; }
  __device__ bool is_complete() const { return is_complete_; }
  __device__ int begin(int row) const { return offsets_[row]; }
  /// Elements of a vector that the rows multiply: those of the thread block first.
  __device__ int elements() const { return count_; }
  /// Of the thread block's own row `row`.
  __device__ C direction(int row) const { return directions_[row]; }
  __device__ const C* directions() const { return directions_; }

  /// The direction as it is.
  __device__ void fetch(const C* p) { fetch(p, directions_); }
  /// The elements() of a vector.
  __device__ void fetch(const C* vector, C* elements) const {
    for (int i = static_cast<int>(threadIdx.x); i < count_; i += static_cast<int>(blockDim.x))
      elements[i] = vector[list_[i]];
    __syncthreads();
  }

  /// The elements() that are of other thread blocks, by messages of `round`, in the threads from `first` on. No
  /// barrier.
  __device__ void receive(const Message<C>* told, unsigned round, int first, C* elements) const {
    constexpr int K = sizeof(C) > 8 ? 2 : 4;  // on the way at once
    const int threads = static_cast<int>(blockDim.x) - first;
    for (int base = rows_ + static_cast<int>(threadIdx.x) - first; base < count_; base += K * threads) {
      C taken[K];
      receive_others<K>(base, threads, told, round, taken);
#pragma unroll
      for (int k = 0; k < K; ++k)
        if (base + k * threads < count_) elements[base + k * threads] = taken[k];
    }
  }

  /// The elements of a vector, which is `own` in the rows of the thread block and messages of `round` from the others,
  /// in place of the direction.
  __device__ void take(const C* own, const Message<C>* told, unsigned round) {
    constexpr int K = sizeof(C) > 8 ? 4 : 8;  // on the way at once
    const int threads = static_cast<int>(blockDim.x);
    for (int base = static_cast<int>(threadIdx.x); base < count_; base += K * threads) {
      C taken[K];
      receive_others<K>(base, threads, told, round, taken);
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const int i = base + k * threads;
        if (i < count_) directions_[i] = i < rows_ ? own[i] : taken[k];
      }
    }
    __syncthreads();
  }

  /// x += step p in the rows of the thread block, p = z + beta p, where z is `own` in these rows and messages of
  /// `round` from the others. `kept` receives the elements() of z, unless it is null.
  __device__ void turn(const C* own, const Message<C>* z, unsigned round, C step, C beta, C* x, C* kept) {
    constexpr int K = sizeof(C) > 8 ? 4 : 8;  // on the way at once
    const int threads = static_cast<int>(blockDim.x);
    for (int base = static_cast<int>(threadIdx.x); base < count_; base += K * threads) {
      C turned[K], position[K];
      receive_others<K>(base, threads, z, round, turned);
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const int i = base + k * threads;
        position[k] = i < rows_ ? x[i] : C{};
      }
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const int i = base + k * threads;
        if (i >= count_) continue;
        const C old = directions_[i], element = i < rows_ ? own[i] : turned[k];
        directions_[i] = element + beta * old;
        if (kept != nullptr) kept[i] = element;
        if (i < rows_) x[i] = position[k] + step * old;
      }
    }
    __syncthreads();
  }

  /// The same with z -= step t before, where all elements() of z and t are here.
  __device__ void follow(C* z, const C* t, C step, C beta, C* x) {
    for (int i = static_cast<int>(threadIdx.x); i < count_; i += static_cast<int>(blockDim.x)) {
      const C old = directions_[i], element = z[i] - step * t[i];
      z[i] = element;
      directions_[i] = element + beta * old;
      if (i < rows_) x[i] += step * old;
    }
    __syncthreads();
  }

  /// Tells the others the direction in the rows of the thread block.
  __device__ void tell(Message<C>* p, unsigned round) const {
    for (int i = static_cast<int>(threadIdx.x); i < rows_; i += static_cast<int>(blockDim.x))
      put(p[row0_ + i], round, directions_[i]);
  }

  /// The share of a lane in the product of the entries begin .. end - 1 with the direction. `remote(column)` is asked
  /// for the elements that are not held. Products and sum are of S.
  template <class S = C, class Remote>
  __device__ S product(int begin, int end, int stride, Remote remote) const {
    return is_complete_ ? product_of_held<S>(begin, end, stride) : product_of_all<S>(begin, end, stride, remote);
  }

 private:
  static constexpr int most_numbers = 1 << 16;

  /// Waits for the elements base + k stride of those from other thread blocks.
  template <int K>
  __device__ void receive_others(int base, int stride, const Message<C>* told, unsigned round, C (&elements)[K]) const {
    bool waits = true;
    while (waits) {
      waits = false;
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const int i = base + k * stride;
        if (i >= rows_ && i < count_) waits = !get(told[list_[i]], round, elements[k]) || waits;
      }
    }
  }

  template <class S>
  __device__ S product_of_held(int begin, int end, int stride) const {
    constexpr int K = sizeof(C) > 8 ? 4 : 8;  // on the way at once
    S sum{};
    for (int entry = begin; entry < end; entry += K * stride) {
      C value[K], direction[K];
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const bool exists = entry + k * stride < end;
        value[k] = exists ? values_[entry + k * stride] : C{};
        direction[k] = exists ? directions_[numbers_[entry + k * stride]] : C{};
      }
#pragma unroll
      for (int k = 0; k < K; ++k)
        if (entry + k * stride < end) sum += detail::convert<S>(value[k]) * detail::convert<S>(direction[k]);
    }
    return sum;
  }

  template <class S, class Remote>
  __device__ S product_of_all(int begin, int end, int stride, Remote remote) const {
    S sum{};
    for (int entry = begin; entry < end; entry += stride) {
      const bool is_held = entry < held_;
      const int place = is_held ? columns_[entry] : ~(a_.columns[first_ + entry] - a_.base);
      const C value = is_held ? values_[entry] : a_.values[first_ + entry];
      sum += detail::convert<S>(value) * detail::convert<S>(place >= 0 ? directions_[place] : remote(~place));
    }
    return sum;
  }

  const CsrRows<C>& a_;
  int row0_, rows_;
  int first_, entries_;
  int held_;   ///< entries
  int count_;  ///< elements of the direction
  bool is_complete_;
  C* values_;
  C* directions_;    ///< by number of the column
  Number* numbers_;  ///< if it is complete
  int* columns_;     ///< if it is not: number; the complement of the column, if its element is not held
  int* list_;        ///< column by number
  int* offsets_;     ///< by row of the thread block, counted from its first entry
};

}  // namespace blockjacobi::kernels
