#pragma once

#include "core/shared/coarse_basis.hpp"
#include "core/shared/compute_type.hpp"

#include <blockjacobi/views.hpp>

#include <memory>

namespace blockjacobi::detail {

template <Scalar T>
using CoarseBasis = CoarseBasisArrays<compute_t<T>>;
template <Scalar T>
using CoarseInverseView = CoarseInverseArrays<compute_t<T>, compute_t<single_t<T>>>;

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

/// The coarse level of a rows x order matrix Z: arrays in backend memory. Where `product` has rows it is Z^H A.
template <Scalar T>
struct CoarseView {
  using C = compute_t<T>;
  CsrView<C, std::int32_t> restriction;  ///< Z^H; its values are null for ones
  CsrView<C, std::int32_t> product;      ///< Z^H A, or nothing
  CoarseBasis<T> basis;                  ///< Z
  CoarseInverseView<T> inverse;
  index_t pieces = 1;       ///< of each coarse row, summed up on their own; see CoarseOps::pieces()
  C* partials = nullptr;    ///< order x pieces
  C* correction = nullptr;  ///< order: E^-1 (Z^H r - Z^H A y)
};

/// The passes of a coarse level. Enqueued, without allocation; sums run in an order that depends on the shapes and the
/// device alone.
template <Scalar T>
class CoarseOps {
 public:
  virtual ~CoarseOps() = default;

  virtual std::unique_ptr<CoarseInverse<T>> make_inverse(index_t order, CoarseMatrixKind kind) = 0;
  /// Into how many pieces the sums over `entries` of all coarse rows are divided, each.
  virtual index_t pieces(index_t order, offset_t entries) const = 0;

  /// coarse.correction = E^-1 (Z^H r - (Z^H A) y), or E^-1 Z^H r where y is null.
  virtual void solve(const CoarseView<T>& coarse, const T* r, const T* y) = 0;
  /// z = in + Z coarse.correction, in being zero if null; z may be in.
  virtual void prolong(const CoarseView<T>& coarse, const T* in, T* z) = 0;
  /// out = in - matrix c; out may be in.
  virtual void subtract_product(const CsrView<compute_t<T>, std::int32_t>& matrix, const compute_t<T>* c, const T* in,
                                T* out) = 0;
};

}  // namespace blockjacobi::detail
