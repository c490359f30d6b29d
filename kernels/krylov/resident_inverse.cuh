#pragma once

#include "kernels/krylov/resident_share.cuh"

namespace blockjacobi::kernels {

/// The inverses of the blocks of a thread block's rows, in shared memory if there is room.
template <class C>
class ResidentInverse {
 public:
  /// Of the rows row0 .. row0 + rows - 1, which are whole blocks.
  __device__ ResidentInverse(const ResidentBlocks<C>& blocks, int row0, int rows, SharedRoom& shared)
      : rows_(rows), inverse_(blocks.inverse), places_(shared.take<Place>(rows)) {
    const int thread = static_cast<int>(threadIdx.x), warps = static_cast<int>(blockDim.x) / 32;
    for (int g = thread / 32; g < blocks.count; g += warps) {
      const BlockGroup& group = blocks.groups[g];
      const int end = members_before(blocks, group, row0 + rows);
      for (int member = members_before(blocks, group, row0) + thread % 32; member < end; member += 32) {
        const int first = first_row_of_block(blocks, group, member) - row0;
        const auto start = static_cast<int>(group.start + static_cast<offset_t>(member) * group.size * group.size);
        for (int i = 0; i < group.size; ++i)
          places_[first + i] = {start + i, 0, static_cast<short>(first), static_cast<short>(group.size)};
      }
    }
    __syncthreads();
  }

  /// Brings the elements to shared memory, if there is room for all.
  __device__ void load(SharedRoom& shared) {
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    const int elements = find_starts();
    if (elements > shared.room_for(sizeof(C)) - 2) return;  // the piece is aligned
    C* const own = shared.take<C>(elements);
    for (int i = thread; i < rows_; i += threads) {
      Place& place = places_[i];
#pragma unroll 8
      for (int j = 0; j < place.order; ++j)
        own[place.own_start + j * place.order] = inverse_[place.start + j * place.order];
      place.start = place.own_start;
    }
    __syncthreads();
    inverse_ = own;
  }

  /// For each row: as many as there are, but not more than have something to do.
  __device__ int lanes(int threads) const {
    const int order = rows_ > 0 ? places_[0].order : 1;
    int lanes = 1;
    while (lanes < 32 && 2 * lanes <= order && 2 * lanes * rows_ <= threads) lanes *= 2;
    return lanes;
  }

  /// The share of a lane in the product of row `row` with r, both counted as the rows of the thread block are.
  __device__ C product(int row, const C* r, int rank, int stride) const {
    constexpr int K = sizeof(C) > 8 ? 4 : 8;  // on the way at once
    const Place place = places_[row];
    const C* const x = inverse_ + place.start;
    C sum{};
    for (int j = rank; j < place.order; j += K * stride) {
      C element[K];
#pragma unroll
      for (int k = 0; k < K; ++k) element[k] = j + k * stride < place.order ? x[(j + k * stride) * place.order] : C{};
#pragma unroll
      for (int k = 0; k < K; ++k)
        if (j + k * stride < place.order) sum += element[k] * r[place.first + j + k * stride];
    }
    return sum;
  }

 private:
  /// Of a row: its first element of the inverse, here and in shared memory, the first row of its block, and its order.
  struct Place {
    int start, own_start;
    short first, order;
  };

  /// The starts in shared memory, where the blocks stand as in the matrix; returns the number of elements.
  __device__ int find_starts() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    int before = 0;  // every warp counts for itself
    for (int base = 0; base < rows_; base += 32) {
      const int i = base + lane;
      const int order = i < rows_ ? places_[i].order : 0;
      int sum = order;
#pragma unroll
      for (int distance = 1; distance < 32; distance *= 2) {
        const int left = __shfl_up_sync(~0u, sum, distance);
        if (lane >= distance) sum += left;
      }
      if (i < rows_ && threadIdx.x < 32) {
        const int rank = i - places_[i].first;  // each row of the block before this one has as many elements
        places_[i].own_start = before + sum - order - rank * order + rank;
      }
      before += __shfl_sync(~0u, sum, 31);
    }
    __syncthreads();
    return before;
  }

  int rows_;
  const C* inverse_;
  Place* places_;
};

}  // namespace blockjacobi::kernels
