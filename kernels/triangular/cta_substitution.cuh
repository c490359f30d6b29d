#pragma once

#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/lanes.cuh"
#include "kernels/triangular/factor_stream.cuh"

namespace blockjacobi::kernels {

/// Solution of triangular systems of order n with R right-hand sides by a thread block, a warp for 32 rows, a lane for
/// each. In each step one warp solves its 32 rows by substitution and publishes the solution in shared memory; those
/// with rows that are left subtract its products with columns of the factor, which are there already.
template <class C, int R, int row_bytes, int pieces>
struct CtaSubstitution {
  using Stream = FactorStream<C, row_bytes, pieces>;
  using Element = typename Stream::Element;
  using Row = C[R];  ///< of the right-hand sides

  struct alignas(16) Solution {
    Row rows[32];
  };
  struct Shared {
    Solution solution[2];  ///< of this step and the last
  };

  __host__ __device__ static constexpr int warps_for(int n) { return (n + 31) / 32; }
  __host__ __device__ static constexpr std::size_t bytes(int n) {
    return sizeof(Shared) + static_cast<std::size_t>(warps_for(n)) * sizeof(typename Stream::Stages);
  }

  Shared& shared;  ///< followed by the stages of every warp
  int n;

  /// By a lower triangle, then an upper one, which have the same diagonal but where it is one. All warps that have
  /// rows; load(x) brings the right-hand sides while the first pieces of the factors are on their way.
  template <class Load>
  __device__ void solve(Row& x, const TriangularFactor<C>& lower, const TriangularFactor<C>& upper, Load load) const {
    auto* const stages = reinterpret_cast<typename Stream::Stages*>(&shared + 1);
    Stream stream(stages[warp()], lower, upper, n, 32 * warp());
    const int i = static_cast<int>(threadIdx.x);
    const Divisor<C> diagonal(i < n ? lower.data[i * (lower.row + lower.column)] : detail::from_real<C>(1));
    load(x);
    solve_triangle<true>(x, lower, diagonal, stream);
    solve_triangle<false>(x, upper, diagonal, stream);
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }

  template <bool forward>
  __device__ void solve_triangle(Row& x, const TriangularFactor<C>& factor, const Divisor<C>& diagonal,
                                 Stream& stream) const {
    if (factor.conjugate) conjugate(x);
    const int steps = warps_for(n), own = forward ? warp() : steps - 1 - warp();
    // why all steps in one loop: a barrier of a thread block is one place of the code
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      Solution& solution = shared.solution[step % 2];
      if (step == own) {
        // why here: before the loop it would be in registers through all steps
        const Divisor<C> divisor = factor.unit ? Divisor<C>(detail::from_real<C>(1)) : diagonal;
        substitute<forward>(x, divisor, stream);
        publish(x, solution);
      }
      __syncthreads();
      if (step < own) subtract<forward>(x, 32 * (forward ? step : steps - 1 - step), solution, stream);
    }
    if (factor.conjugate) conjugate(x);
  }

  /// visit(first column in the block, this lane's row) of the pieces of the block from column `first` on.
  template <bool forward, class Visit>
  __device__ static void for_each_piece(int first, Stream& stream, Visit visit) {
    const int count = stream.pieces_of(first);
#pragma unroll 1
    for (int step = 0; step < count; ++step) {
      const int column = Stream::width * (forward ? step : count - 1 - step);
      stream.next([&](const Element* own) { visit(column, own); });
    }
  }

  /// The products with a block of 32 columns.
  template <bool forward>
  __device__ static void subtract(Row& x, int first, const Solution& solution, Stream& stream) {
    for_each_piece<forward>(first, stream, [&](int column, const Element* own) {
      // why: 16 bytes of it are one access
      const Row* const rows = static_cast<const Row*>(__builtin_assume_aligned(solution.rows + column, 16));
#pragma unroll
      for (int c = 0; c < Stream::width; ++c)
#pragma unroll
        for (int j = 0; j < R; ++j) x[j] = fused_subtract(x[j], own[c * Stream::ld].value, rows[c][j]);
    });
  }

  /// The rows of this warp, after all before them.
  template <bool forward>
  __device__ void substitute(Row& x, const Divisor<C>& divisor, Stream& stream) const {
    const auto lanes = Lanes<32>::current();
    // why: a zero factor does not make NaN or Inf harmless, which may stand behind the last row
    if (static_cast<int>(threadIdx.x) >= n)
#pragma unroll
      for (int j = 0; j < R; ++j) x[j] = C{};
    for_each_piece<forward>(32 * warp(), stream, [&](int column, const Element* own) {
#pragma unroll
      for (int step = 0; step < Stream::width; ++step) {
        const int c = forward ? step : Stream::width - 1 - step, k = column + c;
        const bool remains = forward ? lanes.rank > k : lanes.rank < k;
#pragma unroll
        for (int j = 0; j < R; ++j) {
          const C x_k = lanes.broadcast(divisor.divide(x[j]), k);
          if (remains) x[j] = fused_subtract(x[j], own[c * Stream::ld].value, x_k);
        }
      }
    });
#pragma unroll
    for (int j = 0; j < R; ++j) x[j] = divisor.divide(x[j]);
  }

  __device__ static void publish(const Row& x, Solution& solution) {
#pragma unroll
    for (int j = 0; j < R; ++j) solution.rows[lane()][j] = x[j];
  }

  __device__ static void conjugate(Row& x) {
#pragma unroll
    for (int j = 0; j < R; ++j) x[j] = detail::conj(x[j]);
  }
};

}  // namespace blockjacobi::kernels
