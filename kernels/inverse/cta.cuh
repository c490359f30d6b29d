#pragma once

#include "kernels/inverse/cta_resident.cuh"
#include "kernels/inverse/cta_streamed.cuh"
#include "kernels/inverse/cta_whole.cuh"

namespace blockjacobi::kernels {

/// Inverse of one n x n matrix by Gauss-Jordan elimination in panels with partial pivoting, by a thread block
/// (one-dimensional, at least Layout::threads(n), several warps), a row a thread. Rows behind the matrix are zero.
///
/// The matrix is taken by panels of columns, one in shared memory, where it is eliminated by inner panels of W columns,
/// of which each thread has its row in registers. That leaves in a panel the columns of the transformation T that its
/// steps amount to, T = I elsewhere: with K = the pivot rows, B = what they held and P = the panel all other columns
/// take one product,
///   a(i, j) = (i in K ? 0 : a(i, j)) + sum_l P(i, l) B(l, j),
/// within the panel in shared memory after each inner panel. Outside of it a panel takes it in the registers of the
/// thread block, as sums of the tensor cores. If all panels stay on the multiprocessor, they take it one after the
/// other after each elimination. If not, when they are needed, a panel all that stand before it together just before it
/// is eliminated, and all that stand behind it at the end (left-looking): each P is then read from global memory once.
///
/// Rows stay where they are: step k has pivot row p(k). At the end X(i, p(l)) = a(p(i), l). Column l is kept as column
/// p(l) from its elimination on, unless the matrix is inverted in its place.
template <class C, int W, int MostWarps = largest_order / 32>
struct CtaGaussJordan {
  using Layout = GaussJordanLayout<C, W>;
  using Panel = GaussJordanPanel<C, W, MostWarps>;
  using Outcome = typename Panel::Outcome;
  using Matrix = detail::MatrixRef<C>;

  unsigned char* shared;
  int n;
  Layout layout;

  __host__ __device__ static constexpr std::size_t bytes(int n, const Layout& layout) {
    return Panel::bytes(n, layout);
  }

  /// `target` may be `source`, a MatrixRef or SteppedRef; it is undefined if the outcome is not regular. Uniform in the
  /// thread block.
  template <GaussJordanPlace Place, class Source, class Passage = Unchanged>
  __device__ Outcome run_in(const Source& source, const Matrix& target, const Passage& passage = {}) const {
    if constexpr (Place == GaussJordanPlace::whole)
      return WholeGaussJordan<C, W, MostWarps>(shared, n, layout).run(source, target, passage);
    else if constexpr (Place == GaussJordanPlace::resident)
      return ResidentGaussJordan<C, W, MostWarps>(shared, n, layout).run(source, target, passage);
    else
      return StreamedGaussJordan<C, W, MostWarps>(shared, n, layout).run(source, target, passage);
  }
};

}  // namespace blockjacobi::kernels
