#pragma once

#include "core/shared/coarse_sums.hpp"
#include "core/shared/compute_type.hpp"

#include <blockjacobi/array.hpp>
#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/sparse_matrix.hpp>

#include <memory>
#include <utility>

namespace blockjacobi::detail {

template <Scalar T>
using CoarseBasis = CoarseBasisArrays<compute_t<T>>;
template <Scalar T>
using CoarseInverseView = CoarseInverseArrays<compute_t<T>, compute_t<single_t<T>>>;

/// Unions of blocks, in backend memory.
struct Aggregates {
  Array<index_t> of_row;  ///< no_group for the rows of blocks that are coupled with no other
  index_t count = 0;
  index_t uncovered_rows = 0;  ///< in none
};

/// Z in backend memory; see CoarseBasisArrays.
template <Scalar T>
struct CoarseSpace {
  index_t order = 0;  ///< columns
  index_t groups = 0;
  index_t width = 0;
  Array<index_t> group;
  Array<index_t> first;  ///< empty where each group has one column
  Array<T> values;       ///< empty for ones

  CoarseBasis<T> view() const {
    return {static_cast<index_t>(group.size()),
            groups,
            width,
            group.data(),
            first.data(),
            compute_cast(static_cast<const T*>(values.data()))};
  }
  std::size_t bytes() const { return group.bytes() + first.bytes() + values.bytes(); }
};

/// A sparse pattern in backend memory.
struct CoarsePattern {
  index_t rows = 0, cols = 0;
  Array<std::int32_t> offsets;
  Array<index_t> columns;

  std::size_t bytes() const { return offsets.bytes() + columns.bytes(); }
  template <class C>
  CsrView<C, std::int32_t> with(C* values) const {
    const MemorySpace space = offsets.backend().memory_space();
    return {rows, cols, static_cast<offset_t>(columns.size()), offsets.data(), columns.data(), values, IndexBase::zero,
            space};
  }
};

/// A sparse matrix in backend memory.
template <Scalar T>
struct CoarseMatrix {
  CoarsePattern pattern;
  Array<T> values;

  CsrView<T, std::int32_t> view() const { return pattern.with(values.data()); }
  CsrView<compute_t<T>, std::int32_t> compute_view() const { return pattern.with(compute_cast(values.data())); }
  std::size_t bytes() const { return pattern.bytes() + values.bytes(); }
};

/// The arrays of CoarseSums.
struct CoarseSumArrays {
  Array<std::int32_t> begin, entry;
  Array<index_t> row;
  Array<index_t> group, other;
  Array<std::int32_t> place, stride;
  Array<std::int32_t> pair_begin;
  Array<index_t> segment, pair_row, pair_column;
  Array<std::int32_t> pair_place, pair_stride;

  CoarseSums view(CoarseSide side) const {
    return {side,
            static_cast<index_t>(group.size()),
            static_cast<index_t>(pair_row.size()),
            begin.data(),
            entry.data(),
            row.data(),
            group.data(),
            other.data(),
            place.data(),
            stride.data(),
            pair_begin.data(),
            segment.data(),
            pair_row.data(),
            pair_column.data(),
            pair_place.data(),
            pair_stride.data()};
  }
  std::size_t bytes() const {
    return begin.bytes() + entry.bytes() + row.bytes() + group.bytes() + other.bytes() + place.bytes() +
           stride.bytes() + pair_begin.bytes() + segment.bytes() + pair_row.bytes() + pair_column.bytes() +
           pair_place.bytes() + pair_stride.bytes();
  }
};

/// All that depends on Z and on the pattern of A alone.
struct CoarsePatterns {
  CoarseSide side = CoarseSide::left;
  CoarsePattern restriction;  ///< Z^H
  CoarsePattern product;      ///< Z^H A, or A Z
  CoarsePattern e;
  CoarseSumArrays sums;
};

/// Which matrices may be inverted without pivoting.
enum class CoarseMatrixKind { general, definite };

/// What makes E^-1 of an order for which no block of a BlockJacobi has room, of the symmetrically equilibrated matrix,
/// to whose diagonal of ones `order` eps are added so that a singular one has an inverse, too.
template <Scalar T>
class CoarseInverse {
 public:
  virtual ~CoarseInverse() = default;
  /// For new values; enqueued. Zero, so that the correction is zero, where E has NaN or Inf or no inverse.
  virtual void refresh(const CsrView<compute_t<T>, std::int32_t>& e) = 0;
  virtual CoarseInverseView<T> view() const = 0;
  virtual std::size_t bytes() const = 0;
  /// 0, the pivot that was zero or, of a definite matrix, not positive (from 1), or -1 after NaN or Inf; waits.
  virtual int info() const = 0;
  /// 1 / (||E|| ||E^-1||) in the 1-norm, equilibrated; waits.
  virtual double rcond() const = 0;
};

/// Reciprocal condition from which on E^-1 is read in single precision: its error, relative to the smallest
/// eigenvalues of E^-1, is below 1 %.
inline constexpr double coarse_single_rcond = 1e-5;

/// With what its passes need besides.
template <Scalar T>
struct CoarseView : CoarseLevelArrays<compute_t<T>, compute_t<single_t<T>>> {
  using C = compute_t<T>;
  index_t pieces = 1;       ///< of each coarse row, summed up on their own; see CoarseOps::pieces()
  C* partials = nullptr;    ///< order x pieces
  C* correction = nullptr;  ///< order: E^-1 (Z^H r - Z^H A y)
};

/// Throws where so many elements of a product do not fit into 32 bits.
void require_coarse_elements(offset_t count);

/// The passes of a coarse level. Enqueued, without allocation; sums run in an order that depends on the shapes and the
/// device alone.
template <Scalar T>
class CoarseOps {
 public:
  using C = compute_t<T>;

  virtual ~CoarseOps() = default;

  /// At most `count` aggregates, near to that number and of similar size, by the matching of BlockPartition::clusters
  /// in the graph of the blocks of a canonical matrix. Waits.
  virtual Aggregates aggregate(const Backend& backend, const AnyCsrView<T>& matrix, const BlockPartition& blocks,
                               index_t count) = 0;
  /// Aggregates of blocks around an independent set, see independent_set_roots(). A coupling is strong from `share` of
  /// the largest at either block on. Waits.
  virtual Aggregates neighbourhoods(const Backend& backend, const AnyCsrView<T>& matrix, const BlockPartition& blocks,
                                    double share) = 0;
  /// Ones on the rows i of each aggregate with the same i mod components. Waits.
  virtual CoarseSpace<T> ones(const Backend& backend, const Aggregates& aggregates, index_t components) = 0;
  /// The vectors, of any scale, on each aggregate, orthonormal there, without what depends on the others: rows x count,
  /// row by row, in backend memory. Waits.
  virtual CoarseSpace<T> orthonormal(const Backend& backend, const Aggregates& aggregates, const Array<T>& vectors,
                                     index_t count) = 0;
  /// Of a canonical matrix. Waits. Throws InvalidArgument if a number of elements does not fit into 32 bits.
  virtual CoarsePatterns patterns(const Backend& backend, CoarseSide side, const AnyCsrView<T>& matrix,
                                  const CoarseSpace<T>& z) = 0;
  /// The values of the restriction of a Z that has values; enqueued.
  virtual void fill_restriction(const CoarsePattern& restriction, const CoarseBasis<T>& z, C* values) = 0;
  /// The product with Z and E, for these values of A; enqueued.
  virtual void multiply(const CoarsePatterns& patterns, const CoarseBasis<T>& z, const C* values, C* product, C* e) = 0;

  virtual std::unique_ptr<CoarseInverse<T>> make_inverse(index_t order, CoarseMatrixKind kind) = 0;
  /// Into how many pieces the sums over `entries` of all coarse rows are divided, each.
  virtual index_t pieces(index_t order, offset_t entries) const = 0;

  /// coarse.correction = E^-1 (Z^H r - (Z^H A) y), or E^-1 Z^H r where y is null.
  virtual void solve(const CoarseView<T>& coarse, const C* r, const C* y) = 0;
  /// z = in + Z coarse.correction, in being zero if null; z may be in.
  virtual void prolong(const CoarseView<T>& coarse, const C* in, C* z) = 0;
  /// Z, row by row. Waits.
  virtual CoarseMatrix<T> rows_of(const Backend& backend, const CoarseSpace<T>& z) = 0;
  /// The pattern of A B. Waits. Throws InvalidArgument if the number of its terms does not fit into 32 bits.
  virtual CoarsePattern product_pattern(const Backend& backend, const AnyCsrView<T>& a, const CoarsePattern& b) = 0;
  /// The values of A B, whose pattern is `product`, each sum in the order of the entries of A; enqueued.
  virtual void multiply(const AnyCsrView<T>& a, const CsrView<C, std::int32_t>& b, const CoarsePattern& product,
                        C* values) = 0;
  /// The pattern of the transposed matrix, and which entry of `pattern` each of its entries is. Waits.
  virtual std::pair<CoarsePattern, Array<std::int32_t>> transposed(const Backend& backend,
                                                                   const CoarsePattern& pattern) = 0;
  /// to[k] = conj(from[order[k]]); enqueued.
  virtual void conjugate(const Array<std::int32_t>& order, const C* from, C* to) = 0;
  /// The values of P = Z - relaxation D^-1 (A Z), D the diagonal of A, whose pattern is that of A Z, with all elements
  /// of Z in rows with a diagonal element; rows without one have those of Z. Enqueued.
  virtual void smooth(const AnyCsrView<T>& a, const CoarseBasis<T>& z, real_t<T> relaxation, const CoarsePattern& p,
                      C* values) = 0;
  /// rounding_scales[i] = |a_ii|; enqueued.
  virtual void rounding_scales(const AnyCsrView<T>& a, real_t<T>* rounding_scales) = 0;
  /// coarse[k] = sum over j of |p_jk|^2 fine[j], for P^H with its values, or with ones where these are null: the
  /// rounding scales of P^H A P. Enqueued.
  virtual void restrict_rounding_scales(const CsrView<C, std::int32_t>& adjoint, const real_t<T>* fine,
                                        real_t<T>* coarse) = 0;

  /// x += matrix c, for short rows.
  virtual void add_product(const CsrView<C, std::int32_t>& matrix, const C* c, C* x) = 0;
  /// out = in - matrix c; out may be in.
  virtual void subtract_product(const CsrView<C, std::int32_t>& matrix, const C* c, const C* in, C* out) = 0;
};

}  // namespace blockjacobi::detail
