#pragma once

#include "kernels/collectives/equilibrate.cuh"
#include "kernels/inverse/team_careful.cuh"
#include "kernels/setup/outcome.cuh"
#include "kernels/setup/tiny_block.cuh"

#include <climits>

namespace blockjacobi::kernels {

/// A block of order n whose condition is at least this in all units counts as singular without a search for better
/// ones: within a factor 32 of the threshold, where rounding decides.
template <class R>
__device__ R hopeless_condition(int n) {
  return R(1) / (R(32) * detail::singular_threshold<R>(n));
}

/// A warp, as detail::Equilibration sees it.
struct WarpGroup {
  static constexpr int size = 32;
  int rank;

  __device__ void sync() const { __syncwarp(); }
  __device__ bool any(bool predicate) const { return predicate; }  // which all lanes know
  __device__ int max(int value) const { return __reduce_max_sync(full_warp, value); }
  __device__ int min(int value) const { return __reduce_min_sync(full_warp, value); }
};

/// Equilibration, inversion and condition of a tiny block of BlockJacobi in shared memory by a warp, a row a lane: for
/// the blocks that the fast path leaves undecided, which are those with elements, pivots or scales out of the ordinary.
template <class C>
struct CarefulSetup {
  using Real = detail::arithmetic_real_t<C>;
  using Warp = Team<32>;
  using Scratch = SetupScratch<Real, largest_tiny_order>;

  C* a;  ///< n x n, with leading dimension n | 1 before and packed afterwards
  int n;
  Warp warp;
  Scratch scratch;
  C* spare;  ///< n x n elements of global memory to work with

  /// Whether the block, of which `x` is the inverse, stays singular however it is scaled. The least condition of all
  /// scalings is the spectral radius of |A^-1| |A| (Bauer, Optimally scaled matrices, 1963), which is at least the
  /// smallest of (|A^-1| |A| s)_i / s_i for any s > 0 (Collatz, Wielandt); here s = |A^-1| m with the largest elements
  /// m of the rows, that is the row sums of the inverse of the block with equal rows.
  __device__ bool is_singular_in_all_units(const C* x) const {
    const int i = warp.rank;
    // Element i of |matrix| v, with one element of v in each lane.
    const auto product = [&](const C* matrix, int ld, Real v) {
      Real sum = 0;
      for (int j = 0; j < n; ++j) {
        const Real factor = Warp::broadcast(v, j);
        if (has_row()) sum += detail::modulus(matrix[i + j * ld]) * factor;
      }
      return sum;
    };
    Real largest = 0;
    for (int j = 0; has_row() && j < n; ++j) largest = fmax(largest, detail::modulus(a[i + j * (n | 1)]));
    const Real s = product(x, n, largest);
    const Real z = product(x, n, product(a, n | 1, s));
    return !Warp::any_in_warp(has_row() && !(detail::finite(z) && z >= hopeless_condition<Real>(n) * s));
  }

  /// The diagonal that takes the place of the inverse of a singular block.
  __device__ void replace(detail::Fallback fallback) const {
    const C diagonal = has_row() ? a[warp.rank * ((n | 1) + 1)] : C{};
    Warp::sync();
    put_diagonal(diagonal, fallback);
  }

  /// Leaves the inverse in a, or the diagonal that takes its place.
  __device__ Outcome<Real> run(detail::Fallback fallback) const {
    pack();
    const C diagonal = has_row() ? at(warp.rank, warp.rank) : C{};
    const Outcome<Real> outcome = invert();
    if (outcome.info == 0) return outcome;
    put_diagonal(diagonal, fallback);
    return outcome;
  }

 private:
  __device__ void put_diagonal(const C& diagonal, detail::Fallback fallback) const {
    for (int e = warp.rank; e < n * n; e += 32) a[e] = C{};
    Warp::sync();
    if (has_row()) at(warp.rank, warp.rank) = detail::fallback_diagonal(fallback, diagonal);
    Warp::sync();
  }

  __device__ C& at(int i, int j) const { return a[i + j * n]; }
  __device__ bool has_row() const { return warp.rank < n; }
  /// The exponents of the powers that scale rows and columns, where the fast path had the powers.
  __device__ int* row() const { return reinterpret_cast<int*>(scratch.row); }
  __device__ int* column() const { return reinterpret_cast<int*>(scratch.column); }

  /// Column by column, as each lands where others stood.
  __device__ void pack() const {
    for (int j = 1; j < n; ++j) {
      const C element = has_row() ? a[warp.rank + j * (n | 1)] : C{};
      Warp::sync();
      if (has_row()) at(warp.rank, j) = element;
      Warp::sync();
    }
  }

  __device__ Outcome<Real> invert() const {
    const int bad = first_non_finite();
    equilibrate();
    const Real norm = infinity_norm();
    Warp::sync();
    const int zero_pivot = CarefulInverse<C, largest_tiny_order, 32>{a, n, warp, scratch.pivots}.run();
    const Real rcond = reciprocal_condition(norm, infinity_norm());
    Warp::sync();  // the norm was read by rows
    const bool finite = undo_scaling();
    Warp::sync();
    if (bad != INT_MAX) return {detail::info_non_finite(bad % n, bad / n, n), Real(0) / Real(0)};
    if (zero_pivot != 0) return {zero_pivot, Real(0)};
    const bool accepted = finite && rcond >= detail::singular_threshold<Real>(n);
    return {accepted ? 0 : detail::info_ill_conditioned(n), rcond};
  }

  /// i + j n of the first element in column-major order that is NaN or Inf; INT_MAX if there is none.
  __device__ int first_non_finite() const {
    int first = INT_MAX;
    for (int e = warp.rank; e < n * n; e += 32)
      if (!detail::finite(a[e])) first = min(first, e);
    return __reduce_min_sync(full_warp, first);
  }

  __device__ void equilibrate() const {
    kernels::equilibrate<C, WarpGroup>(
        {a, n, n, {warp.rank}, row(), column(), detail::EquilibrationWork::at(spare, n)});
    if (has_row())
      for (int i = 0; i < n; ++i)
        at(i, warp.rank) = detail::scale_by_power(at(i, warp.rank), row()[i] + column()[warp.rank]);
    Warp::sync();
  }

  __device__ Real infinity_norm() const {
    Real sum = 0;
    if (has_row())
      for (int j = 0; j < n; ++j) sum += detail::modulus(at(warp.rank, j));
    return Warp::reduce(sum, LargerOrNan<Real>{});
  }

  /// (R A C)^-1 = C^-1 A^-1 R^-1: element (i, j) takes the scales of column i and row j. False if it overflows.
  __device__ bool undo_scaling() const {
    bool all_finite = true;
    const int j = warp.rank;
    for (int i = 0; has_row() && i < n; ++i) {
      at(i, j) = detail::scale_by_power(at(i, j), column()[i] + row()[j]);
      all_finite = all_finite && detail::finite(at(i, j));
    }
    return !Warp::any_in_warp(!all_finite);
  }
};

}  // namespace blockjacobi::kernels
