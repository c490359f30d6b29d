#pragma once

#include "kernels/collectives/copy_async.cuh"
#include "kernels/collectives/panel_maxima.cuh"
#include "kernels/inverse/cta_panel.cuh"

#include <cuda_pipeline.h>

namespace blockjacobi::kernels {

/// CtaGaussJordan for a matrix that is one panel.
template <class C, int W, int MostWarps>
struct WholeGaussJordan : GaussJordanPanel<C, W, MostWarps> {
  using Base = GaussJordanPanel<C, W, MostWarps>;
  using Base::Base;
  using typename Base::Outcome;

  template <class Source, class Passage>
  __device__ Outcome run(const Source& source, const detail::MatrixRef<C>& target, const Passage& passage) const {
    start();
    load(source);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    if constexpr (Passage::changes)
      if (!passage.find(PanelMaxima<C>{{panel, layout.ld}, n})) return {0, false};
    if (thread() < n) passage.arrive(&at(thread(), 0), layout.ld, 0, n);
    passage.arrived();
    const int info = eliminate_panel(0, n);
    if (info != 0 || keys.non_finite != 0) return {info, false};
    passage.leaving();
    store_rows(target, 0, n, passage);
    return {0, true};
  }

 private:
  using Base::at;
  using Base::clear;
  using Base::eliminate_panel;
  using Base::has_row;
  using Base::keys;
  using Base::layout;
  using Base::load_panel;
  using Base::n;
  using Base::panel;
  using Base::start;
  using Base::store_rows;
  using Base::thread;

  /// The whole matrix; what is behind it in the panel is zero.
  template <class Source>
  __device__ void load(const Source& source) const {
    if (source.is_stepped()) {
      load_panel(source.stepped(), 0, layout.panel_columns);
    } else {
      clear();
      source.copy_entries([this](int i, int j) { return &at(i, j); });
    }
  }
  __device__ void load(const detail::MatrixRef<const C>& a) const {
    if (has_row()) {
      const int copied = thread() < n ? n : 0;
      const C* from = &a(min(thread(), n - 1), 0);
      C* to = &at(thread(), 0);
#pragma unroll 4
      for (int c = 0; c < copied; ++c, from += a.ld, to += layout.ld) copy_async(to, from);
      for (int c = copied; c < layout.panel_columns; ++c) at(thread(), c) = C{};
    }
  }
};

}  // namespace blockjacobi::kernels
