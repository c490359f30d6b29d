#pragma once

#include "kernels/qr/cta_kernels.cuh"
#include "kernels/qr/lanes_kernels.cuh"
#include "kernels/qr/launch.hpp"
#include "kernels/qr/team_kernels.cuh"
#include "kernels/qr/thread_kernels.cuh"

#include <algorithm>

namespace blockjacobi::kernels {

template <int N, class C>
void launch_geqrf_contiguous(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream) {
  constexpr QrPolicy policy = qr_policy(compiled_device, scalar_of<C>, N);
  constexpr int threads = 32 * policy.warps;
  const ContiguousBatch<C, N> batch{a.data, a.count};
  const auto launch = [&](auto* kernel, int matrices, std::size_t bytes) {
    allow_shared_memory(kernel, bytes);
    kernel<<<grid_for(a.count, matrices, "geqrf"), threads, bytes, stream>>>(batch, tau);
    check_launch("geqrf");
  };
  if constexpr (policy.design == QrDesign::thread) {
    launch(geqrf_thread_kernel<N, C>, threads, QrThreadScratch<N, C>::bytes);
  } else {
    static_assert(policy.design == QrDesign::team_mesh);
    launch(geqrf_team_kernel<N, C>, qr_teams<N, C>, QrScratch<N, C>::bytes);
  }
}

template <int N, class C>
void launch_geqrf_class(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream) {
  constexpr std::size_t bytes = QrScratch<N, C>::bytes;
  auto* kernel = geqrf_class_kernel<N, C>;
  allow_shared_memory(kernel, bytes);
  kernel<<<grid_for(a.count, class_chunk, "geqrf"), 32 * qr_team<N, C>.warps, bytes, stream>>>(StridedBatch<C>{a}, tau);
  check_launch("geqrf");
}

/// More than largest_tiny_order rows or columns; of mixed orders the tiny ones are left out.
template <class C>
void launch_geqrf_large(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream) {
  const int rows = std::max(a.rows, largest_tiny_order + 1);  // low rectangles go like this
  with_large_policy<qr_policy, scalar_of<C>>(rows, "geqrf", [&]<QrPolicy policy>() {
    if constexpr (policy.design == QrDesign::cta_plain) {
      geqrf_cta_plain_kernel<C><<<grid_for(a.count, 1, "geqrf"), plain_qr_threads, 0, stream>>>(a, tau);
      check_launch("geqrf");
    } else {
      using Factorization = CtaQr<C, policy.columns, policy.rows, policy.stages>;
      static_assert(has_room<qr_policy, scalar_of<C>, policy>(  // with as many columns as ask for most
          [](int m) { return Factorization::bytes(m, m + Factorization::width); }));
      launch_ctas(geqrf_cta_kernel<C, policy.columns, policy.rows, policy.warps, policy.stages>, "geqrf",
                  32 * Factorization::bands(a.rows), a.count, Factorization::bytes(a.rows, a.cols), stream, a, tau);
    }
  });
}

template <class C>
void geqrf(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream) {
  if (a.rows == 0 || a.cols == 0) return;
  const bool large = std::max(a.rows, a.cols) > largest_tiny_order;
  if (large) launch_geqrf_large(a, tau, stream);
  if (large && a.orders == nullptr) return;
  if (a.rows != a.cols)
    launch_lanes(RectangularQr<C>{a, tau}, "geqrf", stream);
  else if (is_contiguous_batch(a))
    with_order(a.rows, [&]<int N>() { launch_geqrf_contiguous<N>(a, tau, stream); });
  else
    for_each_class_of(a, [&]<int N>() { launch_geqrf_class<N>(a, tau, stream); });
}

}  // namespace blockjacobi::kernels
