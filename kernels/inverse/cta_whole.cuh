#pragma once

#include "kernels/collectives/copy_async.cuh"
#include "kernels/inverse/cta_panel.cuh"

#include <cuda_pipeline.h>

namespace blockjacobi::kernels {

/// CtaGaussJordan for a matrix that is one panel.
template <class C, int W, int MostWarps>
struct WholeGaussJordan : GaussJordanPanel<C, W, MostWarps> {
  using Base = GaussJordanPanel<C, W, MostWarps>;
  using Base::Base;
  using typename Base::Outcome;

  __device__ Outcome run(const detail::MatrixRef<const C>& source, const detail::MatrixRef<C>& target) const {
    start();
    load(source);
    const int info = eliminate_panel(0, n);
    if (info != 0 || keys.non_finite != 0) return {info, false};
    write_permuted(target);
    return {0, true};
  }

 private:
  using Base::at;
  using Base::eliminate_panel;
  using Base::has_row;
  using Base::keys;
  using Base::layout;
  using Base::n;
  using Base::start;
  using Base::state;
  using Base::store_row;
  using Base::thread;

  /// The whole matrix; what is behind it in the panel is zero.
  __device__ void load(const detail::MatrixRef<const C>& a) const {
    if (has_row()) {
      const int copied = thread() < n ? n : 0;
      const C* from = &a(min(thread(), n - 1), 0);
      C* to = &at(thread(), 0);
#pragma unroll 4
      for (int c = 0; c < copied; ++c, from += a.ld, to += layout.ld) copy_async(to, from);
      for (int c = copied; c < layout.panel_columns; ++c) at(thread(), c) = C{};
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
  }

  __device__ void write_permuted(const detail::MatrixRef<C>& x) const {
    if (thread() < n) store_row(x, n, state[thread()].pivot_row, [&](int c) { return state[c].pivot_row; });
  }
};

}  // namespace blockjacobi::kernels
