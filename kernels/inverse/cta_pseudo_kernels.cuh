#pragma once

#include "core/shared/matrix_batch.hpp"
#include "core/shared/singular_rule.hpp"
#include "kernels/collectives/arithmetic.cuh"
#include "kernels/inverse/cta_pseudo.cuh"
#include "kernels/inverse/policy.hpp"
#include "kernels/launch/cta.cuh"

namespace blockjacobi::kernels {

template <class C>
struct alignas(16) PseudoInverseShared {
  PseudoInverseScratch<C> scratch;
  ReduceScratch<1, detail::arithmetic_real_t<C>> reals;
};

/// Thread blocks with a piece of `work` each take the matrices one after the other. Scaled by a power of two, so that
/// the squares of no matrix leave the range.
template <class C>
__global__ void __launch_bounds__(32 * pseudo_inverse_warps, 1)
    pseudo_inverse_cta_kernel(const MatrixBatchView<const C> a, const MatrixBatchView<C> x, const double rtol,
                              index_t* rank, const MatrixBatchView<C> work) {
  using R = detail::arithmetic_real_t<C>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto& shared = *reinterpret_cast<PseudoInverseShared<C>*>(shared_bytes);
  C* const vectors = reinterpret_cast<C*>(shared_bytes + sizeof(shared));
  C* const own = work.data + blockIdx.x * work.stride;
  for (offset_t k = blockIdx.x; k < a.count; k += gridDim.x) {
    const auto matrix = detail::matrix_of(a, k);
    const int n = matrix.rows;
    if (n <= largest_tiny_order) continue;
    const auto inverse = detail::matrix_of(x, k, n, n);
    const auto for_each = [n](auto visit) {
      for (int j = static_cast<int>(threadIdx.x) / 32; j < n; j += pseudo_inverse_warps)
        for (int i = static_cast<int>(threadIdx.x) % 32; i < n; i += 32) visit(i, j);
    };
    R largest = 0;
    bool finite = true;
    for_each([&](int i, int j) {
      const C value = matrix(i, j);
      own[i + j * n] = value;
      largest = fmax(largest, detail::abs1(value));
      finite = finite && detail::finite(value);
    });
    finite = __syncthreads_and(finite) != 0;
    int outcome = -1;
    if (finite) {
      largest = cta_reduce(largest, shared.reals, [](R p, R q) { return p > q ? p : q; });
      const int scale = detail::equilibrating_exponent(largest);
      for_each([&](int i, int j) { own[i + j * n] = detail::scale_by_power(own[i + j * n], scale); });
      __syncthreads();
      const R tolerance = rtol > 0 ? static_cast<R>(rtol) : R(n) * detail::machine_epsilon<R>();
      outcome =
          CtaPseudoInverse<C>(own, n, vectors, shared.scratch).run(tolerance, R(0), n, [&](int i, int j, C value) {
            inverse(i, j) = detail::scale_by_power(value, scale);
          });
    } else {
      for_each([&](int i, int j) { inverse(i, j) = quiet_nan<C>(); });
    }
    if (threadIdx.x == 0) rank[k] = outcome;
    __syncthreads();
  }
}

}  // namespace blockjacobi::kernels
