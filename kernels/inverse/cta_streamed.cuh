#pragma once

#include "kernels/inverse/cta_steps.cuh"
#include "kernels/inverse/permute_columns.cuh"

#include <type_traits>

namespace blockjacobi::kernels {

/// CtaGaussJordan for a matrix of several panels, all but one of which are in global memory.
template <class C, int W, int MostWarps>
struct StreamedGaussJordan : GaussJordanSteps<C, W, MostWarps> {
  using Base = GaussJordanSteps<C, W, MostWarps>;
  using Base::Base;
  using typename Base::Outcome;
  using typename Base::Product;

  template <class Source, class Passage>
  __device__ Outcome run(const Source& source, const detail::MatrixRef<C>& target, const Passage& passage) const {
    const bool in_place = source.data == target.data;
    const detail::MatrixRef<const C> transformed{target.data, n, n, target.ld};
    const Source to_be_finished(transformed);
    start();
    const int panels = (n + outer - 1) / outer;
    __syncthreads();
    // the next panel is on its way while one is stored, if there are registers for both and nothing to convert
    constexpr bool ahead = std::is_same_v<C, double>;
    Product tile;
    const auto load = [&](int turn) {
      load_tile(tile, turn < panels ? source : to_be_finished, (turn < panels ? turn : turn - panels) * outer);
    };
    if (ahead) load(0);
#pragma unroll 1
    for (int turn = 0; turn < 2 * panels; ++turn) {
      const bool final = turn >= panels;
      const int first = (final ? turn - panels : turn) * outer, width = min(outer, n - first);
      if (!ahead) load(turn);
      if (Passage::changes && !final && has_rows()) passage.arrive(tile, first);
      apply(tile, transformed, final ? first + width : 0, final ? n : first);
      __syncthreads();
      put(tile, final);
      if (!final) {
        const int info = eliminate_panel(first, width);
        if (info != 0 || keys.non_finite != 0) return {info, false};
        if (!in_place && thread() < width) state[first + thread()].place = state[first + thread()].pivot_row;
      }
      __syncthreads();
      if (ahead && turn + 1 < 2 * panels) load(turn + 1);
      if (Passage::changes && final)
        store_panel(target, first, width, passage);
      else
        store_panel(target, first, width);
      __syncthreads();
    }
    if (in_place)
      permute_columns(
          target, [this](int j) { return state[j].pivot_row; }, panel, layout.panel);
    return {0, true};
  }

 private:
  using Base::apply;
  using Base::eliminate_panel;
  using Base::has_rows;
  using Base::keys;
  using Base::layout;
  using Base::load_tile;
  using Base::n;
  using Base::outer;
  using Base::panel;
  using Base::put;
  using Base::start;
  using Base::state;
  using Base::store_panel;
  using Base::thread;
};

}  // namespace blockjacobi::kernels
