#pragma once

#include "kernels/cholesky/cta_inverse_kernels.cuh"
#include "kernels/cholesky/cta_kernels.cuh"
#include "kernels/cholesky/lanes_kernels.cuh"
#include "kernels/cholesky/launch.hpp"
#include "kernels/cholesky/thread_kernels.cuh"
#include "kernels/cholesky/warp_kernels.cuh"
#include "kernels/inverse/launch.hpp"

#include <algorithm>

namespace blockjacobi::kernels {

template <int N, class C>
void launch_potrf_contiguous(bool upper, const MatrixBatchView<C>& a, int* info, CUstream_st* stream) {
  constexpr CholeskyPolicy policy = cholesky_policy(compiled_device, scalar_of<C>, N);
  constexpr int threads = 32 * policy.warps;
  const ContiguousBatch<C, N> batch{a.data, a.count};
  const auto launch = [&](auto* kernel, int matrices, std::size_t bytes) {
    allow_shared_memory(kernel, bytes);
    kernel<<<grid_for(a.count, matrices, "potrf"), threads, bytes, stream>>>(batch, upper, info);
    check_launch("potrf");
  };
  if constexpr (policy.design == CholeskyDesign::thread) {
    launch(potrf_thread_kernel<N, C>, threads, TriangleStage<C, N, threads>::shared_bytes);
  } else {
    static_assert(policy.design == CholeskyDesign::warp);
    launch(potrf_warp_kernel<N, C>, policy.matrices, cholesky_warp_bytes<N, C>);
  }
}

template <int N, class C>
void launch_potrf_class(bool upper, const MatrixBatchView<C>& a, int* info, CUstream_st* stream) {
  constexpr std::size_t bytes = cholesky_class_warps * cholesky_warp_bytes<N, C>;
  potrf_class_kernel<N, C><<<grid_for(a.count, class_chunk, "potrf"), 32 * cholesky_class_warps, bytes, stream>>>(
      StridedBatch<C>{a}, upper, info);
  check_launch("potrf");
}

/// Of mixed orders those above `above`, which is not less than largest_tiny_order.
template <class C>
void launch_potrf_large(bool upper, const MatrixBatchView<C>& a, int above, int* info, CUstream_st* stream) {
  with_large_policy<cholesky_policy, scalar_of<C>>(a.rows, "potrf", [&]<CholeskyPolicy policy>() {
    constexpr int rows = policy.rows, columns = policy.columns, ctas = policy.warps_held / cholesky_cta_warps;
    launch_ctas(
        upper ? potrf_cta_kernel<C, rows, columns, true, ctas> : potrf_cta_kernel<C, rows, columns, false, ctas>,
        "potrf", 32 * policy.warps, a.count, sizeof(typename CtaCholesky<C, rows, columns, false>::Diagonal), stream, a,
        above, info);
  });
}

template <class C>
void potrf(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream) {
  const bool upper = triangle == batched::Triangle::upper;
  if (is_contiguous_batch(a))
    with_order(a.rows, [&]<int N>() { launch_potrf_contiguous<N>(upper, a, info, stream); });
  else
    for_each_class_of(a, [&]<int N>() { launch_potrf_class<N>(upper, a, info, stream); });
  if (a.rows > largest_tiny_order) launch_potrf_large(upper, a, largest_tiny_order, info, stream);
}

/// As launch_potrf_large(), from the factors.
template <class C>
void launch_potri_large(bool upper, const MatrixBatchView<C>& factors, const MatrixBatchView<C>& x, SpdPlace place,
                        int above, int* info, CUstream_st* stream) {
  with_large_policy<cholesky_inverse_policy, scalar_of<C>>(factors.rows, "potri", [&]<CholeskyInversePolicy policy>() {
    if constexpr (policy.design == CholeskyInverseDesign::cta_plain) {
      const auto kernel = upper ? potri_cta_plain_kernel<C, true> : potri_cta_plain_kernel<C, false>;
      kernel<<<grid_for(factors.count, 1, "potri"), plain_cholesky_threads, 0, stream>>>(factors, x, place, above,
                                                                                         info);
      check_launch("potri");
    } else {
      constexpr int columns = policy.columns;
      using Inverse = CtaPotri<C, columns, false>;
      static_assert(
          has_room<cholesky_inverse_policy, scalar_of<C>, policy>([](int n) { return Inverse::shared_bytes(n); }));
      launch_ctas(upper ? potri_cta_kernel<C, columns, true> : potri_cta_kernel<C, columns, false>, "potri",
                  32 * policy.warps, factors.count, Inverse::shared_bytes(factors.rows), stream, factors, x, place,
                  above, info);
    }
  });
}

template <class C>
void potri(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream) {
  launch_lanes(CholeskyInverse<C>{a, triangle, info}, "potri", stream);
  if (a.rows > largest_tiny_order)
    launch_potri_large(triangle == batched::Triangle::upper, a, a, SpdPlace::triangle, largest_tiny_order, info,
                       stream);
}

/// The matrices from `first` on.
template <class T>
MatrixBatchView<T> slice(MatrixBatchView<T> batch, offset_t first, offset_t count) {
  if (batch.data != nullptr) batch.data += first * batch.stride;
  if (batch.pointers != nullptr) batch.pointers += first;
  if (batch.orders != nullptr) batch.orders += first;
  batch.count = count;
  return batch;
}

/// Factorizes and inverts where the full result goes; what will be packed as many matrices at a time as `work` takes.
/// Orders above `above`.
template <class C>
void launch_spd_inverse_large(bool upper, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x,
                              batched::SpdStorage storage, int above, int* info, const MatrixBatchView<C>& work,
                              CUstream_st* stream) {
  const bool packed = storage == batched::SpdStorage::packed;
  const auto invert = [&](const MatrixBatchView<const C>& input, const MatrixBatchView<C>& factors,
                          const MatrixBatchView<C>& result, int* outcomes) {
    if (input.data != factors.data || input.pointers != factors.pointers)
      launch_ctas(copy_triangle_kernel<C>, "copy_triangle", copy_triangle_threads, input.count, 0, stream, input,
                  factors, upper, above);
    launch_potrf_large(upper, factors, above, outcomes, stream);
    launch_potri_large(upper, factors, result, packed ? SpdPlace::packed : SpdPlace::full, above, outcomes, stream);
  };
  if (!packed) return invert(a, x, x, info);
  for (offset_t first = 0; first < a.count; first += work.count) {
    const offset_t count = std::min(work.count, a.count - first);
    const auto input = slice(a, first, count);
    auto factors = slice(work, 0, count);
    factors.orders = input.orders;
    invert(input, factors, slice(x, first, count), info + first);
  }
}

template <class C>
void spd_inverse(batched::Triangle triangle, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x,
                 batched::SpdStorage storage, int* info, const MatrixBatchView<C>& work, CUstream_st* stream) {
  const int done = spd_inverse_at_once(triangle, a, x, storage, info, stream);
  if (a.rows > done)
    launch_spd_inverse_large(triangle == batched::Triangle::upper, a, x, storage, done, info, work, stream);
}

}  // namespace blockjacobi::kernels
