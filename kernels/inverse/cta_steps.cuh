#pragma once

#include "kernels/inverse/cta_panel.cuh"

#include <cuda_pipeline.h>

namespace blockjacobi::kernels {

/// GaussJordanPanel with the steps of panels that are in global memory.
template <class C, int W, int MostWarps>
struct GaussJordanSteps : GaussJordanPanel<C, W, MostWarps> {
  using Base = GaussJordanPanel<C, W, MostWarps>;
  using Base::Base;
  using typename Base::Product;

  /// The transformations of the steps begin..end - 1, panel by panel. The pivot rows of one go through shared memory,
  /// for which all wait; each warp brings its rows of P there for itself, some pieces ahead. Columns behind the matrix
  /// meet rows behind it.
  __device__ void apply(Product& tile, const detail::MatrixRef<const C>& x, int begin, int end) const {
    constexpr int depth = Product::depth;
    double* const rows_of_b = reinterpret_cast<double*>(staged);
    C* const pieces =
        reinterpret_cast<C*>(rows_of_b + layout.buffers * Product::staged) + warp() * layout.stages * Product::piece;
    const bool exists = thread() < n;
    // sixteen bytes at once where all columns are aligned to that and end so
    constexpr int size = Vector16<C>::size;
    const bool aligned = reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 && x.ld % size == 0 && n % size == 0;
    const auto column = [&](int l) { return column_of(x, state[min(l, end - 1)].place) + 32 * warp(); };
    const auto fetch = [&](int first, int slot) {
      C* const to = pieces + slot * Product::piece;
      if (first < end && aligned) {
        const int row = lane() % (32 / size) * size;
        if (32 * warp() + row < n)
#pragma unroll
          for (int c = lane() * size / 32; c < depth; c += size)
            __pipeline_memcpy_async(to + c * Product::ld + row, column(first + c) + row, 16);
      } else if (first < end && exists) {
#pragma unroll
        for (int c = 0; c < depth; ++c) copy_async(to + c * Product::ld + lane(), column(first + c) + lane());
      }
      __pipeline_commit();
    };
    if (has_rows()) {
      if (!exists)
        for (int c = 0; c < layout.stages * depth; ++c) pieces[c * Product::ld + lane()] = C{};
      for (int u = 0; u + 1 < layout.stages; ++u) fetch(begin + u * depth, u);
    }
    int slot = 0, free = layout.stages - 1;
#pragma unroll 1
    for (int k = begin; k < end; k += outer) {
      double* const b = rows_of_b + (k / outer & (layout.buffers - 1)) * Product::staged;
      if (has_rows())
#pragma unroll
        for (int t = 0; t < Product::rows; ++t) {
          const int step = state[top_row() + 8 * t].step - k;
          if (step >= 0 && step < outer) tile.move_row(t, b, step);
        }
      __syncthreads();
      if (has_rows())
#pragma unroll 1
        for (int l = k; l < min(k + outer, end); l += depth) {
          __pipeline_wait_prior(layout.stages - 2);
          __syncwarp();
          fetch(l + (layout.stages - 1) * depth, free);
          tile.add(pieces + slot * Product::piece, Product::ld, Product::rows, b + (l - k) * Product::stride);
          free = slot;
          slot = slot + 1 == layout.stages ? 0 : slot + 1;
        }
    }
  }

  /// The panel in shared memory to its columns.
  template <class Passage = Unchanged>
  __device__ void store_panel(const detail::MatrixRef<C>& to, int first, int width, const Passage& passage = {}) const {
    if (thread() < n) {
      auto row = passage.leave();
      store_row(
          to, width, thread(), [&](int c) { return state[first + c].place; },
          [&](int c, int, C x) { return row(state[first + c].pivot_row, x); });
      row.end();
    }
  }

 protected:
  using Base::has_rows;
  using Base::lane;
  using Base::layout;
  using Base::n;
  using Base::outer;
  using Base::staged;
  using Base::state;
  using Base::store_row;
  using Base::thread;
  using Base::top_row;
  using Base::warp;
};

}  // namespace blockjacobi::kernels
