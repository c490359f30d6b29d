#pragma once

#include "kernels/collectives/equilibrate.cuh"
#include "kernels/inverse/team_careful.cuh"
#include "kernels/setup/outcome.cuh"

#include <climits>

namespace blockjacobi::kernels {

/// Shared memory of a team for a block of BlockJacobi of order up to N beside the block itself: pivots, and the powers
/// of two that scale columns and rows. Those of the rows come last: a loop over them reads sixteen bytes at once, and
/// what stood behind them would be read while others write it.
template <class Real, int N>
struct SetupScratch {
  static constexpr int bytes = 32 + 2 * (N + N % 2) * static_cast<int>(sizeof(Real));
  unsigned char* pivots;
  Real* column;
  Real* row;

  __device__ explicit SetupScratch(unsigned char* shared)
      : pivots(shared), column(reinterpret_cast<Real*>(shared + 32)), row(column + N) {}
};

/// A team, as detail::Equilibration sees it.
template <int L>
struct TeamGroup {
  static constexpr int size = L;
  int rank;

  __device__ void sync() const { Team<L>::sync(); }
  __device__ bool any(bool predicate) const { return Team<L>::any_in_warp(predicate); }
  __device__ int max(int value) const {
    return Team<L>::reduce(value, [](int x, int y) { return x > y ? x : y; });
  }
  __device__ int min(int value) const {
    return Team<L>::reduce(value, [](int x, int y) { return x < y ? x : y; });
  }
};

/// Equilibration, inversion and condition of a block of BlockJacobi in shared memory: for the blocks that the fast path
/// cannot serve, which are those with elements, pivots or scales out of the ordinary, and for those that it finds
/// singular.
template <class C, int N, int L>
struct CarefulSetup {
  using Real = detail::arithmetic_real_t<C>;

  C* a;  ///< n x n, with leading dimension n | 1 before and packed afterwards
  int n;
  Team<L> team;
  SetupScratch<Real, N> scratch;
  C* spare;  ///< n x n elements of global memory to work with

  /// The exponents of the powers that scale rows and columns, where the fast path had the powers.
  __device__ int* row() const { return reinterpret_cast<int*>(scratch.row); }
  __device__ int* column() const { return reinterpret_cast<int*>(scratch.column); }

  /// Leaves the inverse in a, or the diagonal that takes its place. All teams of a warp call it together; those with
  /// nothing to do have n = 0.
  __device__ Outcome<Real> run(detail::Fallback fallback) const {
    pack();
    C diagonal[(N + L - 1) / L];
    for_each_own_row([&](int q, int i) { diagonal[q] = at(i, i); });
    const Outcome<Real> outcome = invert();
    if (outcome.info != 0) {
      for (int e = team.rank; e < n * n; e += L) a[e] = C{};
    }
    Team<L>::sync();
    if (outcome.info != 0)
      for_each_own_row([&](int q, int i) { at(i, i) = detail::fallback_diagonal(fallback, diagonal[q]); });
    Team<L>::sync();
    return outcome;
  }

 private:
  __device__ C& at(int i, int j) const { return a[i + j * n]; }

  /// Column by column, as each lands where others stood.
  __device__ void pack() const {
    for (int j = 1; j < N; ++j) {
      C column[(N + L - 1) / L];
      for_each_own_row([&](int q, int i) {
        if (j < n) column[q] = a[i + j * (n | 1)];
      });
      Team<L>::sync();
      for_each_own_row([&](int q, int i) {
        if (j < n) at(i, j) = column[q];
      });
      Team<L>::sync();
    }
  }

  /// visit(q, i) for the rows i = rank + q L.
  template <class Visit>
  __device__ void for_each_own_row(Visit visit) const {
#pragma unroll
    for (int q = 0; q < (N + L - 1) / L; ++q)
      if (team.rank + q * L < n) visit(q, team.rank + q * L);
  }

  __device__ Outcome<Real> invert() const {
    const int bad = first_non_finite();
    equilibrate();
    const Real norm = infinity_norm();
    Team<L>::sync();
    const int zero_pivot = CarefulInverse<C, N, L>{a, n, team, scratch.pivots}.run();
    const Real rcond = reciprocal_condition(norm, infinity_norm());
    Team<L>::sync();  // the norm was read by rows
    const bool finite = undo_scaling();
    Team<L>::sync();
    if (bad != INT_MAX) return {detail::info_non_finite(bad % n, bad / n, n), Real(0) / Real(0)};
    if (zero_pivot != 0) return {zero_pivot, Real(0)};
    const bool accepted = finite && rcond >= detail::singular_threshold<Real>(n);
    return {accepted ? 0 : detail::info_ill_conditioned(n), rcond};
  }

  /// i + j n of the first element in column-major order that is NaN or Inf; INT_MAX if there is none.
  __device__ int first_non_finite() const {
    int first = INT_MAX;
    for (int e = team.rank; e < n * n; e += L)
      if (!detail::finite(a[e])) first = min(first, e);
    return Team<L>::reduce(first, [](int x, int y) { return x < y ? x : y; });
  }

  __device__ void equilibrate() const {
    kernels::equilibrate<C, TeamGroup<L>>(
        {a, n, n, {team.rank}, row(), column(), detail::EquilibrationWork::at(spare, n)});
    for (int j = team.rank; j < n; j += L)
      for (int i = 0; i < n; ++i) at(i, j) = detail::scale_by_power(at(i, j), row()[i] + column()[j]);
    Team<L>::sync();
  }

  __device__ Real infinity_norm() const {
    Real norm = 0;
    for (int i = team.rank; i < n; i += L) {
      Real sum = 0;
      for (int j = 0; j < n; ++j) sum += detail::modulus(at(i, j));
      norm = LargerOrNan<Real>{}(sum, norm);
    }
    return Team<L>::reduce(norm, LargerOrNan<Real>{});
  }

  /// (R A C)^-1 = C^-1 A^-1 R^-1: element (i, j) takes the scales of column i and row j. False if it overflows.
  __device__ bool undo_scaling() const {
    int overflows = 0;
    for (int j = team.rank; j < n; j += L)
      for (int i = 0; i < n; ++i) {
        at(i, j) = detail::scale_by_power(at(i, j), column()[i] + row()[j]);
        overflows |= !detail::finite(at(i, j));
      }
    return Team<L>::reduce(overflows, [](int x, int y) { return x | y; }) == 0;
  }
};

}  // namespace blockjacobi::kernels
