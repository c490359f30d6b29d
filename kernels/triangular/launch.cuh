#pragma once

#include "kernels/triangular/cta_substitution_kernels.cuh"
#include "kernels/triangular/cta_tensor_kernels.cuh"
#include "kernels/triangular/lanes_kernels.cuh"
#include "kernels/triangular/launch.hpp"
#include "kernels/triangular/policy.hpp"

#include <algorithm>

namespace blockjacobi::kernels {

template <class C>
void launch_solve_plain(const MatrixBatchView<const C>& factors, const index_t* ipiv, const MatrixBatchView<C>& b,
                        const SolveSteps& steps, const char* name, CUstream_st* stream) {
  solve_plain_kernel<C><<<grid_for(factors.count, 1, name), plain_solve_threads, 0, stream>>>(factors, ipiv, b, steps);
  check_launch(name);
}

template <int columns>
constexpr TriangularPolicy triangular_policy_for(Device device, ScalarType scalar, int n) {
  return triangular_policy(device, scalar, n, columns);
}

template <class C, int columns, TriangularPolicy policy>
void launch_solve_substitution(const MatrixBatchView<const C>& factors, const index_t* ipiv,
                               const MatrixBatchView<C>& b, const SolveSteps& steps, const char* name,
                               CUstream_st* stream) {
  using Solve = CtaSubstitution<C, policy.columns, policy.row_bytes, policy.pieces>;
  constexpr auto bytes_for = [](int n) {
    return Solve::bytes(n) + sizeof(int) * static_cast<std::size_t>(threads_for_rows(n));
  };
  static_assert(has_room<triangular_policy_for<columns>, scalar_of<C>, policy>(bytes_for));
  launch_ctas(solve_substitution_kernel<C, policy.columns, policy.row_bytes, policy.pieces, policy.per_multiprocessor>,
              name, factors.rows, factors.count, bytes_for(factors.rows), stream, factors, ipiv, b, steps);
}

template <class C, int columns, TriangularPolicy policy>
void launch_solve_tensor(const MatrixBatchView<const C>& factors, const index_t* ipiv, const MatrixBatchView<C>& b,
                         const SolveSteps& steps, const char* name, CUstream_st* stream) {
  constexpr int tiles = policy.columns / 8;
  using Solve = CtaTensorSolve<C, tiles>;
  static_assert(has_room<triangular_policy_for<columns>, scalar_of<C>, policy>([](int n) { return Solve::bytes(n); }));
  if (factors.count > INT_MAX) check(cudaErrorInvalidConfiguration, name);
  const offset_t groups = (b.cols - 1) / Solve::width + 1, chunks = std::min(groups, INT_MAX / factors.count);
  launch_ctas(solve_tensor_kernel<C, tiles, 32 * policy.warps>, name, factors.rows, factors.count * chunks,
              Solve::bytes(factors.rows), stream, factors, ipiv, b, steps, static_cast<unsigned>(chunks));
}

/// Orders above largest_tiny_order; of mixed orders the tiny ones are left out.
template <class C>
void launch_solve_large(const MatrixBatchView<const C>& factors, const index_t* ipiv, const MatrixBatchView<C>& b,
                        const SolveSteps& steps, const char* name, CUstream_st* stream) {
  const auto solve = [&]<int columns>() {
    with_large_policy<triangular_policy_for<columns>, scalar_of<C>>(factors.rows, name, [&]<TriangularPolicy policy>() {
      using enum TriangularDesign;
      if constexpr (policy.design == warp_plain)
        launch_solve_plain(factors, ipiv, b, steps, name, stream);
      else if constexpr (policy.design == cta_substitution)
        launch_solve_substitution<C, columns, policy>(factors, ipiv, b, steps, name, stream);
      else
        launch_solve_tensor<C, columns, policy>(factors, ipiv, b, steps, name, stream);
    });
  };
  // Policies change between these numbers alone.
  if (b.cols == 1) return solve.template operator()<1>();
  if (b.cols <= most_few_columns) return solve.template operator()<most_few_columns>();
  if (b.cols <= 16) return solve.template operator()<16>();
  solve.template operator()<17>();
}

template <class C>
void getrs(batched::Op op, const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& b,
           CUstream_st* stream) {
  if (b.cols == 0) return;
  launch_lanes(LuSolve<C>{lu, ipiv, b, op}, "getrs", stream);
  if (lu.rows > largest_tiny_order) launch_solve_large(lu, ipiv, b, SolveSteps::of_lu(op), "getrs", stream);
}

template <class C>
void potrs(batched::Triangle triangle, const MatrixBatchView<const C>& cholesky, const MatrixBatchView<C>& b,
           CUstream_st* stream) {
  if (b.cols == 0) return;
  launch_lanes(CholeskySolve<C>{cholesky, b, triangle}, "potrs", stream);
  if (cholesky.rows > largest_tiny_order)
    launch_solve_large<C>(cholesky, nullptr, b, SolveSteps::of_cholesky(triangle), "potrs", stream);
}

}  // namespace blockjacobi::kernels
