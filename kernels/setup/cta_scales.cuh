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
///
/// An elimination that has all of the block on the multiprocessor lends the place of `work`, which it uses itself
/// between arrived() and leaving(): 1.5 KB more would be one thread block less on a multiprocessor at orders 33, 48 and
/// 64 in d.
template <class C>
struct CtaScales {
  using Real = detail::arithmetic_real_t<C>;
  using Field = ExponentField<Real>;
  static constexpr bool changes = true;

  /// Sixteen bytes.
  struct alignas(16) Kept {
    Real norm;       ///< of B
    int widest_row;  ///< the largest |exponent| of a row
  };

  int n;
  Kept& kept;
  short *row, *column;  ///< exponents
  ReduceScratch<1, Real>& reals;
  ReduceScratch<1, int>& integers;
  Real* row_sum;      ///< of moduli, for rows of B
  Real* inverse_sum;  ///< and of B^-1; NaN if the row of A^-1 might leave the range

  /// A whole number of warps' rows: what stands behind the block has the power 1.
  __host__ __device__ static constexpr int rows(int n) { return (n + 31) / 32 * 32; }
  __host__ __device__ static constexpr std::size_t kept_bytes(int n) {
    return sizeof(Kept) + static_cast<std::size_t>(rows(n)) * 2 * sizeof(short);
  }
  __host__ __device__ static constexpr std::size_t work_bytes(int n) {
    return sizeof(ReduceScratch<1, Real>) + sizeof(ReduceScratch<1, int>) +
           static_cast<std::size_t>(rows(n)) * 2 * sizeof(Real);
  }
  __host__ __device__ static constexpr std::size_t bytes(int n) { return kept_bytes(n) + work_bytes(n); }

  /// With all of its memory, or with `work` at another place.
  __device__ CtaScales(unsigned char* memory, int order)
      : CtaScales(memory, memory + sizeof(Kept), memory + sizeof(Kept) + work_bytes(order), order) {}
  __device__ CtaScales(unsigned char* memory, unsigned char* work, int order)
      : CtaScales(memory, work, memory + sizeof(Kept), order) {}

  /// Brings rows, then columns near 1, by the largest magnitudes of a source as PanelMaxima; whether the powers
  /// serve. Uniform in the thread block.
  template <class Maxima>
  __device__ bool find(const Maxima& maxima) const {
    for (int i = thread(); i < rows(n); i += static_cast<int>(blockDim.x)) {
      row_sum[i] = inverse_sum[i] = 0;
      if (i >= n) row[i] = column[i] = 0;
    }
    int of_rows = 0, of_columns = 0;
    const auto keep = [](short& power, int& widest, unsigned word) {
      const int exponent = exponent_of(word);
      power = static_cast<short>(exponent == out_of_range ? 0 : -exponent);
      widest = max(widest, abs(exponent));
    };
    maxima.find([&](int i, unsigned word) { keep(row[i], of_rows, word); },
                [&](int i, C x) { return magnitude_word(scaled(x, power<Real>(word_of<Real>(row[i]), 0))); },
                [&](int j, unsigned word) { keep(column[j], of_columns, word); });
    of_rows = largest_of_all(of_rows);
    if (thread() == 0) kept.widest_row = of_rows;
    return detail::are_ordinary_scales<Real>(of_rows, largest_of_all(of_columns));
  }

  /// Whether find() met a row whose largest element has no full precision or is not finite.
  __device__ bool has_row_out_of_range() const { return kept.widest_row == out_of_range; }

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
      const int i = top + Tile::row(r), own = word_of<double>(row[i]);
      double sum = 0;
#pragma unroll
      for (int c = 0; c < Tile::groups; ++c)
#pragma unroll
        for (int v = 0; v < 2; ++v) sum += scale(tile, r, c, v, power<double>(own, column[first + Tile::column(c, v)]));
      sum += __shfl_xor_sync(full_warp, sum, 1);
      sum += __shfl_xor_sync(full_warp, sum, 2);
      if (thread() % 4 == 0) row_sum[i] += static_cast<Real>(sum);
    }
    __syncwarp();
  }

  __device__ void arrive(C* to, int ld, int first, int width) const {
    const int own = word_of<Real>(row[thread()]);
    Real sum = 0;
#pragma unroll 8
    for (int c = 0; c < width; ++c) {
      C& x = to[c * ld];
      x = scaled(x, power<Real>(own, column[first + c]));
      sum += moderate_modulus(x);
    }
    row_sum[thread()] += sum;
  }

  /// Row i of A^-1 has the power of column i of A, its column j that of row j.
  struct Row {
    Real& result;
    const short* row;
    int own;      ///< that of the column, as a power
    int largest;  ///< exponent of a row sum that keeps the products in range
    Real sum = 0;

    __device__ C operator()(int j, C x) {
      sum += moderate_modulus(x);
      return scaled(x, power<Real>(own, row[j]));
    }
    __device__ void end() {
      const int exponent = static_cast<int>(magnitude_word(sum) >> Field::shift) - Field::bias;
      result += exponent < largest ? sum : Real(0) / Real(0);
    }
  };
  __device__ Row leave() const {
    const int i = thread();
    return {inverse_sum[i], row, word_of<Real>(column[i]), Field::bias - 2 - column[i] - kept.widest_row};
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

  /// Takes the norm of B, once all of it has arrived.
  __device__ void arrived() const {
    const Real norm = largest_of_all(row_sum);
    if (thread() == 0) kept.norm = norm;
    __syncthreads();
  }
  /// Before the first leave(), behind a barrier, where `work` was lent.
  __device__ void leaving() const {
    if (thread() < n) inverse_sum[thread()] = 0;
  }
  __device__ Real norm() const { return kept.norm; }
  /// NaN if an element of A^-1 might not be finite.
  __device__ Real norm_of_inverse() const { return largest_of_all(inverse_sum); }

 private:
  __device__ CtaScales(unsigned char* memory, unsigned char* work, unsigned char* powers, int order)
      : n(order),
        kept(*reinterpret_cast<Kept*>(memory)),
        row(reinterpret_cast<short*>(powers)),
        column(row + rows(n)),
        reals(*reinterpret_cast<ReduceScratch<1, Real>*>(work)),
        integers(*reinterpret_cast<ReduceScratch<1, int>*>(&reals + 1)),
        row_sum(reinterpret_cast<Real*>(&integers + 1)),
        inverse_sum(row_sum + rows(n)) {}

  /// Of zero, of what has no full precision, of NaN and Inf.
  static constexpr int out_of_range = 2048;

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }

  __device__ static int exponent_of(unsigned word) {
    const int field = static_cast<int>(word >> Field::shift);
    return field > 0 && field < Field::top ? field - Field::bias : out_of_range;
  }

  /// The power with an exponent as a magnitude word, and times that with another.
  template <class R>
  __device__ static int word_of(int exponent) {
    return (exponent + ExponentField<R>::bias) * (1 << ExponentField<R>::shift);
  }
  template <class R>
  __device__ static R power(int word, int exponent) {
    return power_from_word(R(), word + exponent * (1 << ExponentField<R>::shift));
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
