#pragma once

#include "core/shared/singular_rule.hpp"
#include "core/shared/storage_format.hpp"

#include <climits>
#include <cstdint>

namespace blockjacobi::detail {

/// A third of the digits, as an exponent.
template <class R>
inline constexpr int most_unlike = sizeof(R) == sizeof(float) ? 8 : 17;

/// Whether a block whose rows, then columns were brought near 1 must be equilibrated anew since in step k the pivot was
/// found in row i != k. Such powers of two are one choice of many, since largest elements of 1 in all rows and columns
/// do not determine them, and the ratios of those of a row and its column tell how far they are from a symmetric
/// choice. If row i was enlarged so much more than row k, and the element (k, i) is as small as that makes it in a
/// symmetric block, the pivot may be negligible before the element (k, k) in the units in which the block is well
/// conditioned: the elimination then loses in those units what seems exact in its own.
///
/// The first half of the question, by the exponents that scale rows and columns.
template <class R>
BLOCKJACOBI_HD inline bool exchanges_unlike_rows(int row_i, int column_i, int row_k, int column_k) {
  return (row_i - column_i) - (row_k - column_k) > most_unlike<R>;
}
/// The second half, by the exponent of the element (k, i) as scaled.
template <class R>
BLOCKJACOBI_HD inline bool has_counterpart(int exponent) {
  return exponent > 1 - most_unlike<R>;
}

/// Whether powers of two for rows and columns are far enough from the ends of the range for arithmetic with them that
/// does not look at it.
template <class R>
BLOCKJACOBI_HD inline bool are_ordinary_scales(int widest_row, int largest_column) {
  constexpr int bias = sizeof(R) == sizeof(float) ? 127 : 1023;
  return widest_row + largest_column < bias - 2;
}

/// Who works on a block, as Equilibration sees them: one thread alone.
struct Alone {
  static constexpr int rank = 0, size = 1;
  void sync() const {}
  /// Of all that make the calls together, which may be more than the group.
  bool any(bool predicate) const { return predicate; }
  int max(int value) const { return value; }
  int min(int value) const { return value; }
};

/// Numbers of the columns that Equilibration needs while it works, for the whole group: 8 bytes a column.
struct EquilibrationWork {
  int* distance;
  std::int16_t* from;
  std::int16_t* row_of;

  BLOCKJACOBI_HD static constexpr int bytes(int n) { return 8 * n; }
  BLOCKJACOBI_HD static EquilibrationWork at(void* memory, int n) {
    int* const distance = static_cast<int*>(memory);
    std::int16_t* const from = reinterpret_cast<std::int16_t*>(distance + n);
    return {distance, from, from + n};
  }
};

/// Exponents of powers of two R and C with which R A C shows how well conditioned A is, however it is graded: the units
/// of rows and columns, D A D as well as D1 A D2, do not matter.
///
/// - A Hermitian A whose elements are below sqrt(|a_ii a_jj|), as those of every definite one, is scaled by its
///   diagonal: that is within a factor N of the best condition (van der Sluis, Condition numbers and equilibration of
///   matrices, 1969).
/// - Else a permutation with the largest product of elements is found, and with it scales that bring those elements to
///   1 and no other above (Olschowka, Neumaier, A new pivoting strategy for Gaussian elimination, 1996; Duff, Koster,
///   On algorithms for permuting large entries to the diagonal of a sparse matrix, 2001), by shortest augmenting paths
///   (Jonker, Volgenant, 1987) in whole exponents. What freedom that leaves goes into a few sweeps that balance the
///   other elements of each such row and column (Osborne, On pre-conditioning of matrices, 1960; Parlett, Reinsch,
///   1969). why not alone by sweeps that halve the exponents of all rows and columns (Ruiz, 2001; Knight, Ruiz, Ucar,
///   2014): of sparse blocks with grades from 2^-40 to 2^40 they leave conditions of 2^40 after 30 sweeps.
/// - A Hermitian A gets the means of the powers of a row and its column (Duff, Pralet, Strategies for scaling and
///   pivoting for sparse symmetric indefinite problems, 2005).
/// - A whose every permutation has a zero is singular, whatever the numbers: rows, then columns are brought near 1.
template <class C, class Group>
struct Equilibration {
  const C* a;  ///< finite for a result with a meaning; other numbers do no harm
  int ld;
  int n;  ///< 0 for a group that only makes the calls together with others
  Group group;
  int *row, *column;  ///< results, for the whole group
  EquilibrationWork work;

  BLOCKJACOBI_HD void run() const {
    bool hermitian = true, by_diagonal = true;
    for (int j = group.rank; j < n; j += group.size)
      for (int i = 0; i <= j; ++i) {
        hermitian = hermitian && finite(abs1(at(i, j))) && finite(abs1(at(j, j))) &&
                    is_hermitian_pair(at(i, j), at(j, i), at(i, i), at(j, j));
        by_diagonal =
            by_diagonal && has_element(j, j) && 2 * exponent_of(i, j) <= exponent_of(i, i) + exponent_of(j, j) + 2;
      }
    hermitian = group.min(hermitian ? 1 : 0) != 0;
    by_diagonal = group.min(hermitian && by_diagonal ? 1 : 0) != 0;
    group.sync();
    for_own(by_diagonal ? n : 0, [&](int i) { row[i] = column[i] = -(exponent_of(i, i) >> 1); });
    const int left = by_diagonal ? 0 : n;
    rows_then_columns(left);
    const bool perfect = match(left > 1 ? left : 0);
    rows_then_columns(perfect ? 0 : left);
    balance(perfect && left > 1 ? left : 0);
    for_own(hermitian ? left : 0, [&](int i) { row[i] = column[i] = mean_exponent(row[i], column[i]); });
    group.sync();
  }

 private:
  static constexpr int unreached = INT_MAX, sweeps = 3, most_balanced = 8;

  BLOCKJACOBI_HD C at(int i, int j) const { return a[i + j * ld]; }
  BLOCKJACOBI_HD int exponent_of(int i, int j) const { return magnitude_exponent(abs1(at(i, j))); }
  BLOCKJACOBI_HD bool has_element(int i, int j) const { return exponent_of(i, j) > no_exponent; }
  BLOCKJACOBI_HD int scaled_exponent(int i, int j) const { return exponent_of(i, j) + row[i] + column[j]; }

  template <class Visit>
  BLOCKJACOBI_HD void for_own(int count, Visit visit) const {
    for (int k = group.rank; k < count; k += group.size) visit(k);
  }

  BLOCKJACOBI_HD void rows_then_columns(int m) const {
    for_own(m, [&](int i) {
      int largest = no_exponent;
      for (int j = 0; j < m; ++j) largest = larger(largest, exponent_of(i, j));
      row[i] = equilibrating_exponent(largest);
    });
    group.sync();
    for_own(m, [&](int j) {
      int largest = no_exponent;
      for (int i = 0; i < m; ++i) largest = larger(largest, exponent_of(i, j) + row[i]);
      column[j] = equilibrating_exponent(largest);
    });
    group.sync();
  }

  /// From scales with which no element exceeds 1, to ones that bring a permutation to 1 as well: column j has row
  /// row_of[j] then. False if there is no permutation without zeros.
  BLOCKJACOBI_HD bool match(int m) const {
    for_own(m, [&](int j) { work.row_of[j] = -1; });
    group.sync();
    bool perfect = true;
    for (int i = 0; group.any(perfect && i < m); ++i) {
      const bool active = perfect && i < m;
      const bool found = add_row(i, active ? m : 0);
      perfect = !active || found ? perfect : false;
    }
    return perfect;
  }

  /// Row `added` joins the matching along a path of rows and columns, of which the elements are as near to 1 as can be
  /// (Dijkstra's algorithm on the exponents below 1), and the scales change such that all of them become 1.
  BLOCKJACOBI_HD bool add_row(int added, int m) const {
    for_own(m, [&](int j) { work.distance[j] = unreached; });
    int i = added, last = -1, length = 0;
    bool searching = m > 0, found = false;
    while (group.any(searching)) {
      int nearest = unreached, which = INT_MAX;
      for_own(searching ? m : 0, [&](int j) {
        if (work.distance[j] < 0) return;  // was reached, and is left behind
        if (has_element(i, j)) {
          const int distance = length - scaled_exponent(i, j);
          if (distance < work.distance[j]) {
            work.distance[j] = distance;
            work.from[j] = static_cast<std::int16_t>(last);
          }
        }
        if (work.distance[j] < nearest) {
          nearest = work.distance[j];
          which = j;
        }
      });
      const int least = group.min(nearest);
      which = group.min(nearest == least ? which : INT_MAX);
      if (!searching) continue;
      searching = least != unreached;
      if (!searching) continue;
      length = least;
      last = which;
      i = work.row_of[last];
      found = i < 0;
      searching = !found;
      if (searching && last % group.size == group.rank) work.distance[last] = ~length;
    }
    for_own(found ? m : 0, [&](int j) {
      if (work.distance[j] >= 0) return;
      const int change = length - ~work.distance[j];
      column[j] -= change;
      row[work.row_of[j]] += change;
    });
    group.sync();
    if (found && group.rank == 0) {
      row[added] += length;
      while (last >= 0) {
        const int before = work.from[last];
        work.row_of[last] = before < 0 ? static_cast<std::int16_t>(added) : work.row_of[before];
        last = before;
      }
    }
    group.sync();
    return found;
  }

  /// The largest elements of a row and its column beside the one that both have: the same for both.
  BLOCKJACOBI_HD void balance(int m) const {
    for (int sweep = 0; sweep < sweeps; ++sweep)
      for (int j = 0; group.any(j < m); ++j) {
        const int count = j < m ? m : 0, i = j < m ? work.row_of[j] : 0;
        int in_row = no_exponent, in_column = no_exponent;
        for_own(count, [&](int k) {
          if (k != j) in_row = larger(in_row, scaled_exponent(i, k));
          if (k != i) in_column = larger(in_column, scaled_exponent(k, j));
        });
        in_row = group.max(in_row);
        in_column = group.max(in_column);
        group.sync();
        if (count > 0 && group.rank == 0) {
          const int change = balancing_exponent(in_row, in_column);
          row[i] -= change;
          column[j] += change;
        }
        group.sync();
      }
  }

  BLOCKJACOBI_HD static int balancing_exponent(int in_row, int in_column) {
    if (larger(in_row, in_column) <= no_exponent / 2) return 0;
    const int change = (in_row - in_column) / 2;
    return change > most_balanced ? most_balanced : change < -most_balanced ? -most_balanced : change;
  }

  BLOCKJACOBI_HD static int larger(int x, int y) { return x > y ? x : y; }
};

}  // namespace blockjacobi::detail
