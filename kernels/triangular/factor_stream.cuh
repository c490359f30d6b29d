#pragma once

#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/copy_async.cuh"
#include "kernels/triangular/factor.cuh"

#include <cuda_pipeline.h>

namespace blockjacobi::kernels {

/// 32 rows of two triangles on their way to shared memory, a warp's own: pieces in the order in which substitution
/// takes them, first of a lower triangle from the left up to the diagonal, then of an upper one from the right. They
/// are asked for far ahead, as none of them depends on a solution. Behind the matrix stand zeros, outside of a triangle
/// whatever stood there before. A piece has `row_bytes` of each row; `most_pieces` of them are there or on their way.
template <class C, int row_bytes, int most_pieces>
class FactorStream {
 public:
  static constexpr int width = row_bytes / static_cast<int>(sizeof(C));  ///< columns of a piece
  /// Between columns; odd, so that neither the rows of a column nor the columns of a row meet in a bank.
  static constexpr int ld = 33;
  static_assert(32 % width == 0);

  using Element = Aligned<C>;
  struct alignas(16) Stages {
    Element elements[most_pieces][width * ld];
  };

  /// Of the same matrix.
  __device__ FactorStream(Stages& stages, const TriangularFactor<C>& lower, const TriangularFactor<C>& upper, int n,
                          int first_row)
      : stages_(stages), lower_(lower), upper_(upper), n_(n), first_row_(first_row) {
#pragma unroll 1
    for (stage_ = 0; stage_ < most_pieces; ++stage_) fetch();
    stage_ = 0;
  }

  /// Pieces of the block of 32 columns from `first` on.
  __device__ int pieces_of(int first) const { return (min(32, n_ - first) + width - 1) / width; }

  /// use(own), where own[c * ld].value is the element of this lane's row in column c of the next piece; by the whole
  /// warp.
  template <class Use>
  __device__ void next(Use use) {
    __pipeline_wait_prior(most_pieces - 1);
    __syncwarp();
    use(stages_.elements[stage_] + lane());
    __syncwarp();
    fetch();
    stage_ = stage_ + 1 == most_pieces ? 0 : stage_ + 1;
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  /// Asks for the next piece, if there is one, in the place of the oldest.
  __device__ void fetch() {
    if (in_lower_ || column_ >= first_row_) copy();
    column_ += in_lower_ ? width : -width;
    if (in_lower_ && column_ >= min(first_row_ + 32, n_)) {
      in_lower_ = false;
      column_ = (n_ - 1) / width * width;
    }
    __pipeline_commit();
  }

  /// The lanes take consecutive elements in memory: rows, of a transpose columns.
  __device__ void copy() const {
    const offset_t by_row = in_lower_ ? lower_.row : upper_.row, by_column = in_lower_ ? lower_.column : upper_.column;
    const bool transposed = by_row != 1;
    const int rows = transposed ? 32 / width : 0, columns = transposed ? 0 : 1;  // from one copy to the next
    const int row = transposed ? lane() / width : lane(), column = transposed ? lane() % width : 0;
    const int i = first_row_ + row, k = column_ + column;
    // Positive in the triangle.
    int inside = in_lower_ ? i - k : k - i;
    const int inward = in_lower_ ? rows - columns : columns - rows;
    Element* to = stages_.elements[stage_] + row + column * ld;
    const int place_step = rows + columns * ld;
    const C* from = lower_.data + i * by_row + k * by_column;
    const offset_t step = rows * by_row + columns * by_column;
    if (is_regular()) {
#pragma unroll
      for (int e = 0; e < width; ++e, from += step, to += place_step, inside += inward)
        if (inside > 0) __pipeline_memcpy_async(to, from, sizeof(C));
    } else {
#pragma unroll 1
      for (int e = 0; e < width; ++e, from += step, to += place_step, inside += inward)
        if (i + e * rows >= n_ || k + e * columns >= n_)
          to->value = C{};
        else if (inside > 0)
          copy_async(&to->value, from);
    }
  }

  /// Whether no element of the next piece is behind the matrix or not aligned: std::complex does not ask for that.
  __device__ bool is_regular() const {
    const bool aligned =
        !detail::Arithmetic<C>::is_complex || reinterpret_cast<std::uintptr_t>(lower_.data) % sizeof(C) == 0;
    return aligned && first_row_ + 32 <= n_ && column_ + width <= n_;
  }

  Stages& stages_;
  TriangularFactor<C> lower_, upper_;
  int n_, first_row_;
  int stage_, column_ = 0;  ///< of the next piece
  bool in_lower_ = true;    ///< as is the next piece
};

}  // namespace blockjacobi::kernels
