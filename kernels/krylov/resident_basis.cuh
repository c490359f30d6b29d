#pragma once

#include "kernels/collectives/grid_sum.cuh"
#include "kernels/krylov/resident.cuh"

namespace blockjacobi::kernels {

/// The rows of a thread block of a Krylov basis: the first columns in shared memory, as many as find room, the others
/// where they are. Each thread block reads and writes its own rows alone.
template <class C>
class ResidentBasis {
 public:
  /// Of columns of `n` rows, of which the thread block has row0 .. row0 + rows - 1; `count` of them are multiplied
  /// with.
  __device__ ResidentBasis(C* columns, index_t n, int row0, int rows, int count, SharedRoom& shared)
      : rows_(rows), columns_(columns + row0), n_(n) {
    constexpr int most_lanes = 8;
    constexpr int banks = 128 / static_cast<int>(sizeof(C));  // elements of different banks
    const int threads = static_cast<int>(blockDim.x);
    while (lanes_ < most_lanes && 2 * lanes_ * rows <= threads) lanes_ *= 2;
    // The columns that lanes read together had better begin in different banks.
    stride_ = lanes_ == 1 ? rows : (rows + banks - 1) / banks * banks + banks / lanes_;
    held_ = max(0, min(count, (shared.room_for(sizeof(C)) - banks) / max(stride_, 1)));
    own_ = shared.take<C>(held_ * stride_);
  }

  __device__ C& at(int column, int row) const {
    return column < held_ ? own_[column * stride_ + row] : columns_[static_cast<offset_t>(column) * n_ + row];
  }

  /// sums += the share of a lane in v_k^H w, which a warp adds up.
  __device__ void add_dot(int k, const C* w, int lane, double* sums) const {
    const C* const v = &at(k, 0);
#pragma unroll 8
    for (int row = lane; row < rows_; row += 32) accumulate_dot(sums, v[row], w[row]);
  }

  /// visit(row, sum_k coefficient(k) v_k) for each row, in one thread of those that share it; k < count.
  template <class Coefficient, class Visit>
  __device__ void combine(int count, Coefficient coefficient, Visit visit) const {
    for_each_row(rows_, lanes_, [&](int row, int rank, bool exists) {
      C sum{};
      if (exists) {
#pragma unroll 8
        for (int k = rank; k < count; k += lanes_) sum += coefficient(k) * at(k, row);
      }
      sum = sum_of_lanes(sum, lanes_);
      if (exists && rank == 0) visit(row, sum);
    });
  }

 private:
  int rows_;
  C* columns_;
  offset_t n_;
  C* own_;
  int lanes_ = 1;  ///< that share a row
  int stride_;
  int held_;  ///< columns
};

}  // namespace blockjacobi::kernels
