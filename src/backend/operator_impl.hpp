#pragma once

#include "backend/coarse_ops.hpp"
#include "backend/storage_ops.hpp"
#include "core/shared/bundles.hpp"

#include <optional>

namespace blockjacobi {
enum class CoarseMode;
}

namespace blockjacobi::detail {

/// y = A x in backend memory.
template <Scalar T>
class OperatorImpl {
 public:
  using C = compute_t<T>;

  virtual ~OperatorImpl() = default;
  virtual index_t rows() const = 0;
  /// Enqueued; x and y do not overlap.
  virtual void apply(const C* x, C* y) const = 0;
  /// r = b - A x with products and sums in double, whatever T is, rounded at the end; false, and nothing is done, where
  /// A is known as a product alone, or where apply() has such sums. Enqueued; r overlaps neither b nor x.
  virtual bool residual(const C* /*b*/, const C* /*x*/, C* /*r*/) const { return false; }
  /// apply() for all columns at once; false, and nothing is done, where they have to be taken one at a time.
  virtual bool apply_bundles(const Bundles&, const C* /*x*/, C* /*y*/) const { return false; }
  /// residual() for all columns at once; else false.
  virtual bool residual_bundles(const Bundles&, const ColumnsView<const C>& /*b*/, const C* /*x*/, C* /*r*/) const {
    return false;
  }
  /// apply() may be recorded in a graph and replayed.
  virtual bool capturable() const = 0;
};

/// Inverted blocks in backend memory.
template <Scalar T>
struct InverseView {
  std::optional<BlockBatchView<const compute_t<T>>> full;  ///< none where only other formats are there
  std::optional<StoredBlocksView> stored;                  ///< in other formats, by which apply() multiplies then
  bool is_full() const { return !stored; }
};

template <Scalar T>
class PreconditionerImpl;

/// z = y + Z E^-1 (Z^H r - (Z^H A) y) for y = M^-1 r, without the last term where coarse.left_product has no rows;
/// where coarse.right_product has rows z = M^-1 (r - (A Z) c) + Z c for c = E^-1 Z^H r.
template <Scalar T>
struct CoarseCorrection {
  const PreconditionerImpl<T>& first;  ///< M
  CoarseView<T> coarse;
};

/// z = M^-1 r in backend memory.
template <Scalar T>
class PreconditionerImpl {
 public:
  using C = compute_t<T>;

  virtual ~PreconditionerImpl() = default;
  virtual index_t rows() const = 0;
  virtual void apply(const C* r, C* z) const = 0;
  /// apply() for all columns at once; false, and nothing is done, where they have to be taken one at a time.
  virtual bool apply_bundles(const Bundles&, const C* /*r*/, C* /*z*/) const { return false; }
  virtual bool capturable() const = 0;
  /// Iterations worth enqueueing before the outcome is looked at, of which a backend usually takes so many: an apply()
  /// after the stop may cost as much as one before.
  virtual int batch(int usual) const { return usual; }
  /// The inverted blocks, if apply() multiplies by them and does nothing else.
  virtual std::optional<InverseView<T>> inverse() const { return std::nullopt; }
  /// What apply() does, if it is that.
  virtual std::optional<CoarseCorrection<T>> coarse_correction() const { return std::nullopt; }
  /// How a coarse level takes part, if there is one.
  virtual std::optional<CoarseMode> coarse_mode() const { return std::nullopt; }
  /// u = what a solver adds to x wherever it forms r = b - A x anew, and true; or false, and nothing is done. Enqueued;
  /// u may be r.
  virtual bool correct_start(const C* /*r*/, C* /*u*/) const { return false; }
  /// A number in backend memory, if there is one: not 0 when a solve must end with singular_block.
  virtual const int* failure() const { return nullptr; }
};

}  // namespace blockjacobi::detail
