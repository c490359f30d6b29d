#pragma once

namespace blockjacobi::kernels {

/// The different columns that a thread block meets, numbered: those of its own rows first, the others by increasing
/// column. A set of bits in shared memory, and how many of them stand before each word. Every function but number()
/// is called by the whole thread block.
class ColumnNumbers {
 public:
  __device__ static constexpr int words(int columns) { return (columns + 31) / 32; }
  __device__ static constexpr int bytes(int columns) { return words(columns) * 2 * static_cast<int>(sizeof(unsigned)); }

  /// `memory`: bytes(columns). own rows first_own .. first_own + own - 1.
  __device__ ColumnNumbers(void* memory, int columns, int first_own, int own)
      : bits_(static_cast<unsigned*>(memory)),
        before_(reinterpret_cast<int*>(bits_ + words(columns))),
        words_(words(columns)),
        first_own_(first_own),
        own_(own) {
    for (int w = static_cast<int>(threadIdx.x); w < words_; w += static_cast<int>(blockDim.x)) bits_[w] = 0;
    __syncthreads();
  }

  /// Any thread, any number of times.
  __device__ void insert(int column) {
    const unsigned bit = 1u << column % 32;
    if (!is_own(column) && (bits_[column / 32] & bit) == 0) atomicOr(bits_ + column / 32, bit);
  }

  /// Once all are inserted.
  __device__ void finish() {
    __syncthreads();
    if (threadIdx.x < 32) {
      const int lane = static_cast<int>(threadIdx.x);
      int before = own_;
      for (int w = lane; w - lane < words_; w += 32) {
        const int own = w < words_ ? __popc(bits_[w]) : 0;
        int sum = own;
#pragma unroll
        for (int distance = 1; distance < 32; distance *= 2) {
          const int left = __shfl_up_sync(~0u, sum, distance);
          if (lane >= distance) sum += left;
        }
        if (w < words_) before_[w] = before + sum - own;
        before += __shfl_sync(~0u, sum, 31);
      }
    }
    __syncthreads();
  }

  __device__ int count() const { return before_[words_ - 1] + __popc(bits_[words_ - 1]); }
  __device__ int number(int column) const {
    if (is_own(column)) return column - first_own_;
    return before_[column / 32] + __popc(bits_[column / 32] & ((1u << column % 32) - 1u));
  }

  /// visit(number, column) for each, in some thread.
  template <class Visit>
  __device__ void for_each(Visit visit) const {
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    for (int i = thread; i < own_; i += threads) visit(i, first_own_ + i);
    for (int w = thread; w < words_; w += threads) {
      int number = before_[w];
      for (unsigned rest = bits_[w]; rest != 0; rest &= rest - 1)
        visit(number++, w * 32 + __ffs(static_cast<int>(rest)) - 1);
    }
  }

 private:
  __device__ bool is_own(int column) const {
    return static_cast<unsigned>(column - first_own_) < static_cast<unsigned>(own_);
  }

  unsigned* bits_;
  int* before_;
  int words_, first_own_, own_;
};

}  // namespace blockjacobi::kernels
