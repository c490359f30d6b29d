#pragma once

#include <blockjacobi/array.hpp>
#include <blockjacobi/export.hpp>
#include <blockjacobi/moved.hpp>
#include <blockjacobi/types.hpp>
#include <blockjacobi/views.hpp>

#include <span>

namespace blockjacobi {

/// Picks elements, y_k = x[from[k]], in a backend's memory: values of a matrix in the order of a PermutedMatrix by its
/// value_map(), for example; for vectors there and back see Renumbering. Holds the numbers of `from`, 8 bytes each, in
/// the backend's memory. Immutable; several threads may use one of a host backend, one at a time that of a device. One
/// that was moved from picks nothing of nothing.
template <Scalar T>
class BLOCKJACOBI_EXPORT Gather {
 public:
  /// `from` lies on the host, and may be changed when the call returns: numbers 0 .. sources - 1 of elements of x, each
  /// any number of times, or never. May wait. Throws InvalidArgument naming the position for any other number, and for
  /// sources < 0 and more sources or numbers than index_t counts.
  Gather(const Backend& backend, std::span<const index_t> from, offset_t sources);
  Gather(const Backend& backend, std::span<const offset_t> from, offset_t sources);

  /// y_k = x[from[k]]. Enqueued on the backend's stream; allocates nothing, waits for nothing and can be captured in a
  /// CUDA graph. x has sources() elements and y size(), both in the backend's memory, and they do not overlap;
  /// InvalidArgument else.
  void apply(VectorView<const T> x, VectorView<T> y) const;
  /// The same column by column, X of sources() rows and Y of size(), as many columns in both, column-major.
  void apply(MultiVectorView<const T> X, MultiVectorView<T> Y) const;

  const Backend& backend() const noexcept { return from_.backend(); }
  index_t sources() const noexcept { return sources_; }
  index_t size() const noexcept { return static_cast<index_t>(from_.size()); }

 private:
  void enqueue(const T* x, T* y) const;

  Array<offset_t> from_;
  detail::ZeroOnceMoved<index_t> sources_;
};

}  // namespace blockjacobi
