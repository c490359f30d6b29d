#pragma once

#include "kernels/inverse/cta_panel.cuh"

#include <cuda_pipeline.h>

namespace blockjacobi::kernels {

/// CtaGaussJordan for a matrix of up to most_panels panels that all stay on the multiprocessor (right-looking): one
/// is in registers, the others are in shared memory, where the first of them is eliminated and the others are parked.
template <class C, int W, int MostWarps>
struct ResidentGaussJordan : GaussJordanPanel<C, W, MostWarps> {
  using Base = GaussJordanPanel<C, W, MostWarps>;
  using Base::Base;
  using typename Base::Outcome;
  using typename Base::Product;

  template <class Source, class Passage>
  __device__ Outcome run(const Source& source, const detail::MatrixRef<C>& target, const Passage& passage) const {
    const int panels = (n + outer - 1) / outer, parked = panels - 2, size = layout.ld * outer;
    ResidentGaussJordan here = *this;
    C* first_parked = panel + size;
    const auto parking = [&](int i) { return i == 0 ? first_parked : panel + (i + 1) * size; };
    // with these places the panel that is the next to be eliminated is always the first parked one
    const int in_registers = parked == 2 ? 2 : 1;
    Product tile;
    const auto number = [&](int i) { return parked == 1 ? 2 : i == 0 ? 3 : 1; };
    start();
    here.load_panel(source, 0);
    for (int i = 0; i < parked; ++i) {
      here.panel = parking(i);
      here.load_panel(source, number(i) * outer);
    }
    here.panel = panel;
    __pipeline_commit();
    __syncthreads();
    load_tile(tile, source, in_registers * outer);
    __pipeline_wait_prior(0);
    __syncthreads();
    if constexpr (Passage::changes) {
      const auto arrive = [&](C* at, int which) {
        if (thread() < n) passage.arrive(at + thread(), layout.ld, which * outer, min(outer, n - which * outer));
      };
      arrive(panel, 0);
      for (int i = 0; i < parked; ++i) arrive(parking(i), number(i));
      __syncwarp();
      if (has_rows()) passage.arrive(tile, in_registers * outer);
      passage.arrived();
    }
#pragma unroll 1
    for (int first = 0; first < n; first += outer) {
      const int info = here.eliminate_panel(first, min(outer, n - first));
      if (info != 0 || keys.non_finite != 0) return {info, false};
      here.transform(tile, first);
#pragma unroll 1
      for (int i = parked - 1; i >= 0; --i) {
        exchange(tile, parking(i));
        __syncthreads();
        here.transform(tile, first);
      }
      if (first + outer >= n) break;
      if (parked > 0)
        exchange(here.panel, first_parked);
      else
        exchange(tile, here.panel);
      __syncthreads();
    }
    if constexpr (Passage::changes) __syncthreads();
    passage.leaving();
    here.store_rows(target, (panels - 1) * outer, passage);
    for (int i = 0; i < parked; ++i) {
      here.panel = parking(i);
      here.store_rows(target, i * outer, passage);
    }
    __syncthreads();
    here.put(tile, false);
    __syncthreads();
    here.store_rows(target, parked * outer, passage);
    return {0, true};
  }

 private:
  using Base::exchange;
  using Base::has_rows;
  using Base::keys;
  using Base::layout;
  using Base::load_panel;
  using Base::load_tile;
  using Base::n;
  using Base::outer;
  using Base::panel;
  using Base::staged;
  using Base::start;
  using Base::state;
  using Base::store_rows;
  using Base::thread;
  using Base::top_row;
  using Base::warp;

  /// The transformation of the panel that was eliminated, steps from `first` on.
  __device__ void transform(Product& tile, int first) const {
    double* const b = reinterpret_cast<double*>(staged);
    if (has_rows())
#pragma unroll
      for (int t = 0; t < Product::rows; ++t) {
        const int step = state[top_row() + 8 * t].step - first;
        if (step >= 0 && step < outer) tile.move_row(t, b, step);
      }
    __syncthreads();
    if (has_rows())
#pragma unroll 1
      for (int l = 0; l < min(outer, n - first); l += Product::depth)
        tile.add(panel + 32 * warp() + l * layout.ld, layout.ld, (layout.rows - 32 * warp()) / 8,
                 b + l * Product::stride);
  }

  /// The panel in registers and the one at `other` change places, each warp its rows.
  __device__ void exchange(Product& tile, C* other) const {
    __syncwarp();
#pragma unroll
    for (int t = 0; t < Product::rows; ++t)
      if (32 * warp() + 8 * t < layout.rows)
#pragma unroll
        for (int c = 0; c < Product::groups; ++c)
#pragma unroll
          for (int v = 0; v < 2; ++v) {
            C& there = other[top_row() + 8 * t + Product::column(c, v) * layout.ld];
            const C x = there;
            there = tile.rounded(t, c, v);
            tile.set(t, c, v, x);
          }
    __syncwarp();
  }
};

}  // namespace blockjacobi::kernels
