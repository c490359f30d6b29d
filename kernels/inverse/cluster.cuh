#pragma once

#include "kernels/inverse/cta_steps.cuh"

#include <cooperative_groups.h>
#include <cuda_pipeline.h>

namespace blockjacobi::kernels {

/// How a cluster shares a matrix of order n.
template <class C, int W>
struct ClusterShape : private GaussJordanSteps<C, W, largest_order / 32> {
  using Base = GaussJordanSteps<C, W, largest_order / 32>;

  __host__ __device__ static constexpr int panels(int n) { return (n + Base::outer - 1) / Base::outer; }
  /// Shared memory of each of `ctas` thread blocks.
  __host__ __device__ static constexpr std::size_t bytes(int n, int ctas) {
    typename Base::Layout all = Base::Layout::dealt(n);
    all.panel *= (panels(n) + ctas - 1) / ctas;
    return Base::bytes(n, all);
  }
};

// Devices before Hopper have no clusters; ClusterLaunch starts no kernel that was compiled for them.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// Inverse of one matrix by a cluster of thread blocks, as CtaGaussJordan: its panels are dealt to the thread blocks
/// in turn and stay in their shared memory. Right-looking: one thread block eliminates a panel and writes it to the
/// target, from where all others take it through the L2 cache, since a multiprocessor alone cannot send it to so many;
/// its pivots they read from the shared memory of that thread block. Which has the next panel updates and eliminates
/// it before its others.
template <class C, int W>
struct ClusterGaussJordan : GaussJordanSteps<C, W, largest_order / 32> {
  using Base = GaussJordanSteps<C, W, largest_order / 32>;
  using Panel = GaussJordanPanel<C, W, largest_order / 32>;
  using typename Base::Layout;
  using typename Base::Outcome;
  using typename Base::Product;

  int ctas, rank;  ///< thread blocks of the cluster, and which this is

  __device__ ClusterGaussJordan(unsigned char* shared, int n_)
      : Base(shared, n_, Layout::dealt(n_)),
        ctas(static_cast<int>(cooperative_groups::this_cluster().num_blocks())),
        rank(static_cast<int>(cooperative_groups::this_cluster().block_rank())) {}

  /// `target` may be `source`; it is undefined if the outcome is not regular. Uniform in the cluster.
  template <class Source, class Passage = Unchanged>
  __device__ Outcome run(const Source& source, const detail::MatrixRef<C>& target, const Passage& passage = {}) const {
    const int all = ClusterShape<C, W>::panels(n), own = (all - rank + ctas - 1) / ctas;
    ClusterGaussJordan here = *this;
    start();
    for (int i = 0; i < own; ++i) {
      here.panel = parking(i);
      here.load_panel(source, (rank + i * ctas) * outer);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    arrive();
    wait();  // from here on the target may be written
    if constexpr (Passage::changes) {
      for (int i = 0; i < own && thread() < n; ++i) {
        const int first = (rank + i * ctas) * outer;
        passage.arrive(parking(i) + thread(), layout.ld, first, min(outer, n - first));
      }
    }
    int info = 0;
#pragma unroll 1
    for (int k = -1; k < all; ++k) {
      if (k >= 0) {
        wait();
        info = learn(k);
        __syncthreads();
        if (info != 0) break;
      }
      const bool next = k + 1 < all && (k + 1) % ctas == rank;
      if (!next && k + 1 < all) arrive();
      int i = next ? (k + 1) / ctas : 0;
#pragma unroll 1
      for (int u = 0; u < own; ++u) {
        const int which = rank + i * ctas;
        here.panel = parking(i);
        if (k >= 0 && which != k) here.transform(target, k * outer);
        if (which == k + 1) {
          here.eliminate_for_all(target, which * outer);
          arrive();
        }
        i = i + 1 == own ? 0 : i + 1;
      }
    }
    arrive();
    wait();  // all have read what is in the target
    if (info != 0) return {max(info, 0), false};
    for (int i = 0; i < own; ++i) {
      here.panel = parking(i);
      here.store_rows(target, (rank + i * ctas) * outer, passage);
    }
    return {0, true};
  }

 private:
  using Base::apply;
  using Base::at;
  using Base::eliminate_panel;
  using Base::keys;
  using Base::layout;
  using Base::n;
  using Base::outer;
  using Base::panel;
  using Base::put;
  using Base::start;
  using Base::state;
  using Base::store_panel;
  using Base::thread;
  using Base::top_row;

  /// Of the cluster's barrier, which orders what its thread blocks read and write.
  __device__ static void arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
  __device__ static void wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

  __device__ C* parking(int i) const { return panel + i * layout.panel; }

  __device__ void eliminate_for_all(const detail::MatrixRef<C>& target, int first) const {
    const int width = min(outer, n - first);
    const int info = eliminate_panel(first, width);
    if (thread() == 0) keys.info = keys.non_finite != 0 ? -1 : info;
    store_panel(target, first, width);
  }

  /// The pivot rows of panel k from the thread block that eliminated it, which alone has them, and its info, -1 for NaN
  /// and Inf.
  __device__ int learn(int k) const {
    const auto cluster = cooperative_groups::this_cluster();
    const int owner = k % ctas;
    const int info = cluster.map_shared_rank(&keys, static_cast<unsigned>(owner))->info;
    const int step = k * outer + thread();
    if (info == 0 && owner != rank && thread() < outer && step < n) {
      const int pivot = cluster.map_shared_rank(state, static_cast<unsigned>(owner))[step].pivot_row;
      state[step].pivot_row = pivot;
      state[pivot].step = step;
    }
    return info;
  }

  /// Of the panel, by the steps from `first` on.
  __device__ void transform(const detail::MatrixRef<C>& target, int first) const {
    Product tile;
    take(tile);
    apply(tile, {target.data, n, n, target.ld}, first, min(first + outer, n));
    put(tile, false);
    __syncthreads();
  }

  /// What put() stored.
  __device__ void take(Product& tile) const {
#pragma unroll
    for (int t = 0; t < Product::rows; ++t) {
      const int row = top_row() + 8 * t;
      const bool exists = row < layout.rows;
#pragma unroll
      for (int c = 0; c < Product::groups; ++c)
#pragma unroll
        for (int v = 0; v < 2; ++v) tile.set(t, c, v, exists ? at(row, Product::column(c, v)) : C{});
    }
  }
};

#endif

}  // namespace blockjacobi::kernels
