#pragma once

#include <blockjacobi/array.hpp>
#include <blockjacobi/export.hpp>
#include <blockjacobi/gather.hpp>
#include <blockjacobi/permutation.hpp>
#include <blockjacobi/views.hpp>

#include <cstddef>
#include <utility>

namespace blockjacobi {

/// Whether the rows k b .. (k + 1) b - 1, a node of b unknowns, make one in the new numbering, too, and in their order.
/// Throws InvalidArgument for b < 1.
[[nodiscard]] BLOCKJACOBI_EXPORT bool keeps_nodes(const Permutation& permutation, index_t b);

/// Vectors in a backend's memory on their way to another numbering, y = P x, y_k = x[order[k]], and back, x = P^T y:
///
///     const auto [permutation, blocks] = BlockPartition::clusters(A);
///     const SparseMatrix<double> B = A.renumbered(permutation);
///     const BlockJacobi<double> M(B, blocks);
///     const Renumbering<double> P(backend, permutation);
///     P.to_permuted(b.view(), c.view());
///     cg(B, M, c.view(), y.view());
///     P.to_original(y.view(), x.view());
///
/// Permutation has the same of vectors on the host. Holds 16 bytes an element. Thread safety as of Gather.
template <Scalar T>
class BLOCKJACOBI_EXPORT Renumbering {
 public:
  using In = MultiVectorView<const T>;
  using Out = MultiVectorView<T>;

  /// Waits for the numbers of a permutation that a device found, and may wait else.
  Renumbering(const Backend& backend, Permutation permutation);

  const Permutation& permutation() const noexcept { return permutation_; }
  const Backend& backend() const noexcept { return to_permuted_.backend(); }

  /// y = P x. Enqueued on the backend's stream; allocates nothing, waits for nothing and can be captured in a CUDA
  /// graph. x and y have as many elements as the permutation, both in the backend's memory, and do not overlap;
  /// InvalidArgument else. Columns are as many in both, and column-major.
  void to_permuted(VectorView<const T> x, VectorView<T> y) const { to_permuted_.apply(x, y); }
  void to_permuted(In X, Out Y) const { to_permuted_.apply(X, Y); }
  /// x = P^T y, otherwise the same.
  void to_original(VectorView<const T> y, VectorView<T> x) const { to_original_.apply(y, x); }
  void to_original(In Y, Out X) const { to_original_.apply(Y, X); }

  /// Z = P^T f(P R): f(In, Out) enqueues what works in the new numbering. `work` has two elements, at least, for each
  /// of R, in the backend's memory; InvalidArgument else, and as of to_permuted(), before f is called. R may be Z.
  template <class F>
  void around(In R, Out Z, const Array<T>& work, F&& f) const {
    require_around(R, Z, work);
    const Out r{work.data(), R.rows, R.cols, R.rows, Layout::column_major, R.space};
    Out z = r;
    z.data += static_cast<offset_t>(R.rows) * R.cols;
    to_permuted_.apply(R, r);
    std::forward<F>(f)(In(r), z);
    to_original_.apply(z, Z);
  }
  /// The same for vectors and f(VectorView<const T>, VectorView<T>).
  template <class F>
  void around(VectorView<const T> r, VectorView<T> z, const Array<T>& work, F&& f) const {
    around(In{r.data, r.size, 1, r.size, Layout::column_major, r.space},
           Out{z.data, z.size, 1, z.size, Layout::column_major, z.space}, work, [&](const In& in, const Out& out) {
             std::forward<F>(f)(VectorView<const T>(in.data, in.rows, in.space),
                                VectorView<T>(out.data, out.rows, out.space));
           });
  }

 private:
  void require_around(const In& R, const Out& Z, const Array<T>& work) const;

  Permutation permutation_;
  Gather<T> to_permuted_, to_original_;
};

}  // namespace blockjacobi
