#pragma once

#include "core/shared/equilibration.hpp"
#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/cta_reduce.cuh"
#include "kernels/collectives/stepped_ref.cuh"
#include "kernels/setup/outcome.cuh"
#include "kernels/setup/scale.cuh"

#include <climits>

namespace blockjacobi::kernels {

/// The powers of two that equilibrate a block A of order n, for a thread block with a thread for each row: B = R A C,
/// and A^-1 = C B^-1 R. As the Passage of an elimination (see Unchanged) it scales what arrives and what leaves, and
/// sums up the moduli of the rows of B and B^-1 on the way, so that no other pass over the block is needed.
///
/// They serve if no product of one of a row and one of a column leaves the range, which makes every scaling one
/// multiplication.
template <class C>
struct CtaScales {
  using Real = detail::arithmetic_real_t<C>;
  using Field = ExponentField<Real>;
  static constexpr bool changes = true;

  int n;
  ReduceScratch<1, Real>& reals;
  ReduceScratch<1, int>& integers;
  int& widest_row;    ///< the largest |exponent| of a row
  Real* row_sum;      ///< of moduli, for rows of B
  Real* inverse_sum;  ///< and of B^-1; NaN if the row of A^-1 might leave the range
  int *row, *column;  ///< exponents, where they stand in a magnitude word

  /// A whole number of warps' rows: what stands behind the block has the power 1.
  __host__ __device__ static constexpr int rows(int n) { return (n + 31) / 32 * 32; }
  __host__ __device__ static constexpr std::size_t bytes(int n) {
    return sizeof(ReduceScratch<1, Real>) + sizeof(ReduceScratch<1, int>) + 16 +
           static_cast<std::size_t>(rows(n)) * 2 * (sizeof(Real) + sizeof(int));
  }

  __device__ CtaScales(unsigned char* shared, int order)
      : n(order),
        reals(*reinterpret_cast<ReduceScratch<1, Real>*>(shared)),
        integers(*reinterpret_cast<ReduceScratch<1, int>*>(&reals + 1)),
        widest_row(*reinterpret_cast<int*>(&integers + 1)),
        row_sum(reinterpret_cast<Real*>(&widest_row + 4)),
        inverse_sum(row_sum + rows(n)),
        row(reinterpret_cast<int*>(inverse_sum + rows(n))),
        column(row + rows(n)) {}

  __device__ int row_exponent(int i) const { return row[i] >> Field::shift; }
  __device__ int column_exponent(int j) const { return column[j] >> Field::shift; }

  /// Brings rows, then columns near 1, by the largest magnitudes of a source as PanelMaxima; whether the powers
  /// serve. Uniform in the thread block.
  template <class Maxima>
  __device__ bool find(const Maxima& maxima) const {
    for (int i = thread(); i < rows(n); i += static_cast<int>(blockDim.x)) {
      row_sum[i] = inverse_sum[i] = 0;
      if (i >= n) row[i] = column[i] = 0;
    }
    int of_rows = 0, of_columns = 0;
    const auto keep = [](int& power, int& widest, unsigned word) {
      const int exponent = exponent_of(word);
      power = word_of(-exponent);
      widest = max(widest, abs(exponent));
    };
    maxima.find([&](int i, unsigned word) { keep(row[i], of_rows, word); },
                [&](int i, C x) { return magnitude_word(scaled(x, power_from_word(Real(), row[i] + one))); },
                [&](int j, unsigned word) { keep(column[j], of_columns, word); });
    of_rows = largest_of_all(of_rows);
    if (thread() == 0) widest_row = of_rows;
    return detail::are_ordinary_scales<Real>(of_rows, largest_of_all(of_columns));
  }

  /// Whether find() met a row whose largest element has no full precision or is not finite.
  __device__ bool has_row_out_of_range() const { return widest_row == out_of_range; }

  /// i + j n of the first element in column-major order that is NaN or Inf; INT_MAX if there is none.
  __device__ int first_non_finite(const SteppedRef<const C>& a) const {
    int first = INT_MAX;
    for (int i = thread(); i < n; i += static_cast<int>(blockDim.x))
      for (int j = 0; j < n; ++j)
        if (!detail::finite(a(i, j))) first = min(first, i + j * n);
    return cta_reduce(first, integers, [](int x, int y) { return x < y ? x : y; });
  }

  template <class Tile>
  __device__ void arrive(Tile& tile, int first) const {
    const int top = thread() / 32 * 32;
#pragma unroll
    for (int r = 0; r < Tile::rows; ++r) {
      const int i = top + Tile::row(r), own = row[i];
      double sum = 0;
#pragma unroll
      for (int c = 0; c < Tile::groups; ++c)
#pragma unroll
        for (int v = 0; v < 2; ++v) sum += scale(tile, r, c, v, double_power(own + column[first + Tile::column(c, v)]));
      sum += __shfl_xor_sync(full_warp, sum, 1);
      sum += __shfl_xor_sync(full_warp, sum, 2);
      if (thread() % 4 == 0) row_sum[i] += static_cast<Real>(sum);
    }
    __syncwarp();
  }

  __device__ void arrive(C* to, int ld, int first, int width) const {
    const int own = row[thread()] + one;
    Real sum = 0;
#pragma unroll 8
    for (int c = 0; c < width; ++c) {
      C& x = to[c * ld];
      x = scaled(x, power_from_word(Real(), own + column[first + c]));
      sum += moderate_modulus(x);
    }
    row_sum[thread()] += sum;
  }

  /// Row i of A^-1 has the power of column i of A, its column j that of row j.
  struct Row {
    Real& result;
    const int* row;
    int own;      ///< that of the column, as a power
    int largest;  ///< exponent of a row sum that keeps the products in range
    Real sum = 0;

    __device__ C operator()(int j, C x) {
      sum += moderate_modulus(x);
      return scaled(x, power_from_word(Real(), own + row[j]));
    }
    __device__ void end() {
      const int exponent = static_cast<int>(magnitude_word(sum) >> Field::shift) - Field::bias;
      result += exponent < largest ? sum : Real(0) / Real(0);
    }
  };
  __device__ Row leave() const {
    const int i = thread();
    return {inverse_sum[i], row, column[i] + one, Field::bias - 2 - column_exponent(i) - widest_row};
  }

  /// Adds what the other thread blocks of a cluster summed up.
  template <class Cluster>
  __device__ void add_from(const Cluster& cluster) const {
    if (thread() >= n) return;
    for (unsigned other = 0; other < cluster.num_blocks(); ++other) {
      if (other == cluster.block_rank()) continue;
      row_sum[thread()] += cluster.map_shared_rank(row_sum, other)[thread()];
      inverse_sum[thread()] += cluster.map_shared_rank(inverse_sum, other)[thread()];
    }
  }

  __device__ Real norm() const { return largest_of_all(row_sum); }
  /// NaN if an element of A^-1 might not be finite.
  __device__ Real norm_of_inverse() const { return largest_of_all(inverse_sum); }

 private:
  /// Of zero, of what has no full precision, of NaN and Inf.
  static constexpr int out_of_range = 2048;
  /// The power 2^0.
  static constexpr int one = Field::bias << Field::shift;

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }

  __device__ static int exponent_of(unsigned word) {
    const int field = static_cast<int>(word >> Field::shift);
    return field > 0 && field < Field::top ? field - Field::bias : out_of_range;
  }

  __device__ static int word_of(int exponent) { return exponent == -out_of_range ? 0 : exponent * (1 << Field::shift); }
  __device__ static double double_power(int word) {
    using Double = ExponentField<double>;
    return power_from_word(double(), (word >> (Field::shift - Double::shift)) + (Double::bias << Double::shift));
  }

  /// Returns the modulus of the product.
  template <class Tile>
  __device__ static double scale(Tile& tile, int r, int c, int v, double power) {
#pragma unroll
    for (int part = 0; part < Tile::parts; ++part) tile.sum[part][r][c][v] *= power;
    if constexpr (Tile::is_complex)
      return static_cast<double>(moderate_modulus(tile.rounded(r, c, v)));
    else
      return fabs(tile.sum[0][r][c][v]);
  }

  __device__ int largest_of_all(int value) const {
    return cta_reduce(value, integers, [](int x, int y) { return x > y ? x : y; });
  }
  __device__ Real largest_of_all(const Real* values) const {
    return cta_reduce(thread() < n ? values[thread()] : Real(0), reals, LargerOrNan<Real>{});
  }
};

}  // namespace blockjacobi::kernels
