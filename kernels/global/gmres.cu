#include "core/shared/gmres_recurrence.hpp"
#include "kernels/block/grid_sum.cuh"
#include "kernels/global/vector.cuh"

// The state is only written by the thread block that arrives last in a reduction, after every other has read its stop
// flags.

namespace blockjacobi::kernels {

namespace {

/// Reads `count` values with the whole thread block, so that the one thread that runs the scalar step finds them in
/// the L1 cache instead of waiting for each.
template <class V>
__device__ void warm_cache(const V* values, int count) {
  const auto* words = reinterpret_cast<const int*>(values);
  const int total = count * static_cast<int>(sizeof(V) / sizeof(int));
  for (int i = static_cast<int>(threadIdx.x); i < total; i += static_cast<int>(blockDim.x))
    asm volatile("" ::"r"(words[i]));  // keeps the load, which plain code would drop and volatile would send to L2
}

/// beta = ||v_0|| and the start of the cycle.
template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    gmres_begin_kernel(index_t n, const C* residual, const detail::GmresSmall<C> small, detail::GmresState* state,
                       const ReductionWorkspace workspace) {
  __shared__ GridSum<1>::Scratch scratch;
  if (state->stop != 0) return;
  double sum[1] = {0.0};
  for_each_element(n, [&](offset_t i) { accumulate_square(sum[0], residual[i]); });
  if (!GridSum<1>::run(sum, workspace.partials, workspace.tickets, scratch)) return;
  if (threadIdx.x == 0) detail::gmres_begin_cycle(*state, small, sqrt(sum[0]));
}

/// v *= state->scale.
template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    gmres_scale_kernel(index_t n, C* v, const detail::GmresState* state) {
  using R = detail::arithmetic_real_t<C>;
  const offset_t i = own_element();
  if (i >= n || state->cycle_stop != 0) return;
  v[i] = static_cast<R>(state->scale) * v[i];
}

/// One pass of Gram-Schmidt over the columns first .. columns - 1 of the basis, a group of them for each blockIdx.y:
/// h[k] = v_k^H w. The second pass writes its correction and adds it to the first.
template <class C>
struct Projection {
  index_t n;
  const C* basis;
  const C* w;
  int first;
  int columns;
  C* h;    ///< receives the products
  C* sum;  ///< h is added to it; null in the first pass
};

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    gmres_project_kernel(const Projection<C> a, const detail::GmresState* state, const ReductionWorkspace workspace) {
  constexpr int group = basis_policy.columns;
  constexpr int width = sum_width<C>;
  using Sum = GridSum<group * width>;
  __shared__ typename Sum::Scratch scratch;
  if (state->cycle_stop != 0) return;

  const int column0 = a.first + static_cast<int>(blockIdx.y) * group;
  const int count = min(group, a.columns - column0);
  const C* v = a.basis + static_cast<offset_t>(column0) * a.n;
  double sums[group * width] = {};
  for (offset_t i = own_element(); i < a.n; i += static_cast<offset_t>(gridDim.x) * vector_policy.threads) {
    const C w = a.w[i];
#pragma unroll
    for (int k = 0; k < group; ++k)
      if (k < count) accumulate_dot(sums + k * width, v[i + static_cast<offset_t>(k) * a.n], w);
  }
  double* partials = workspace.partials + static_cast<offset_t>(blockIdx.y) * gridDim.x * (group * width);
  if (!Sum::run(sums, partials, workspace.tickets + blockIdx.y, scratch)) return;
  if (threadIdx.x != 0) return;
#pragma unroll
  for (int k = 0; k < group; ++k) {
    if (k >= count) continue;
    const C product = detail::narrow<C>(to_accumulator<C>(sums + k * width));
    a.h[column0 + k] = product;
    if (a.sum != nullptr) a.sum[column0 + k] += product;
  }
}

/// w - sum_k h[k] v_k for element i.
template <class C>
__device__ C orthogonal_part(index_t n, const C* basis, int columns, const C* h, offset_t i, C w) {
#pragma unroll 4
  for (int k = 0; k < columns; ++k) w -= h[k] * basis[i + static_cast<offset_t>(k) * n];
  return w;
}

/// First pass: w -= V h.
template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    gmres_subtract_kernel(index_t n, const C* basis, int columns, const C* h, C* w, const detail::GmresState* state) {
  const offset_t i = own_element();
  if (i >= n || state->cycle_stop != 0) return;
  w[i] = orthogonal_part(n, basis, columns, h, i, w[i]);
}

/// Second pass: w -= V h2, the subdiagonal ||w||, and the rotation of column j.
template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    gmres_finish_kernel(index_t n, const C* basis, const detail::GmresSmall<C> small, int j, C* w,
                        detail::GmresState* state, const ReductionWorkspace workspace) {
  __shared__ GridSum<1>::Scratch scratch;
  if (state->cycle_stop != 0) return;
  double sum[1] = {0.0};
  const offset_t stride = static_cast<offset_t>(gridDim.x) * vector_policy.threads;
  for (offset_t i = own_element(); i < n; i += stride) {
    const C element = orthogonal_part(n, basis, j + 1, small.h2, i, w[i]);
    w[i] = element;
    accumulate_square(sum[0], element);
  }
  if (!GridSum<1>::run(sum, workspace.partials, workspace.tickets, scratch)) return;
  C* h = small.h + static_cast<offset_t>(j) * (small.restart + 1);
  warm_cache(h, j + 1);
  warm_cache(small.cs, j);
  warm_cache(small.sn, j);
  __syncthreads();
  if (threadIdx.x != 0) return;
  state->norm = sqrt(sum[0]);
  h[j + 1] = detail::from_real<C>(static_cast<detail::arithmetic_real_t<C>>(state->norm));
  detail::gmres_rotate(*state, small, j);
}

/// y = R^-1 g.
template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    gmres_triangular_kernel(const detail::GmresSmall<C> small, const detail::GmresState* state) {
  const int columns = state->columns;
  for (int k = 0; k < columns; ++k) warm_cache(small.h + static_cast<offset_t>(k) * (small.restart + 1), k + 1);
  warm_cache(small.g, columns);
  __syncthreads();
  if (threadIdx.x == 0) detail::gmres_solve_triangular(*state, small);
}

/// u = V y over the columns of the cycle; the others may hold anything.
template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    gmres_combine_kernel(index_t n, const C* basis, const C* y, const detail::GmresState* state, C* u) {
  const offset_t i = own_element();
  if (i >= n) return;
  const int columns = state->columns;
  C sum{};
#pragma unroll 4
  for (int k = 0; k < columns; ++k) sum += y[k] * basis[i + static_cast<offset_t>(k) * n];
  u[i] = sum;
}

/// h[k] = v_k^H w, k < columns, in launches of at most basis_policy.groups groups of columns.
template <class C>
void project(Projection<C> a, const detail::GmresState* state, const ReductionWorkspace& workspace,
             CUstream_st* stream) {
  constexpr int group = basis_policy.columns;
  for (; a.first < a.columns; a.first += group * basis_policy.groups) {
    const int groups = std::min((a.columns - a.first + group - 1) / group, basis_policy.groups);
    const unsigned most = static_cast<unsigned>(vector_policy.reduction_blocks / groups);
    const dim3 grid(std::min(reduction_blocks(a.n), most), static_cast<unsigned>(groups));
    gmres_project_kernel<<<grid, vector_policy.threads, 0, stream>>>(a, state, workspace);
    check_launch("gmres_project_kernel");
  }
}

template <class C>
void scale(index_t n, C* v, const detail::GmresState* state, CUstream_st* stream) {
  if (n == 0) return;
  gmres_scale_kernel<<<elementwise_blocks(n), vector_policy.threads, 0, stream>>>(n, v, state);
  check_launch("gmres_scale_kernel");
}

}  // namespace

template <class C>
void gmres_begin(index_t n, C* basis, const detail::GmresSmall<C>& small, detail::GmresState* state,
                 const ReductionWorkspace& workspace, CUstream_st* stream) {
  gmres_begin_kernel<<<reduction_blocks(n), vector_policy.threads, 0, stream>>>(n, basis, small, state, workspace);
  check_launch("gmres_begin_kernel");
  scale(n, basis, state, stream);
}

template <class C>
void gmres_orthogonalize(index_t n, C* basis, const detail::GmresSmall<C>& small, int j, detail::GmresState* state,
                         const ReductionWorkspace& workspace, CUstream_st* stream) {
  C* w = basis + static_cast<offset_t>(j + 1) * n;
  C* h = small.h + static_cast<offset_t>(j) * (small.restart + 1);

  project<C>({n, basis, w, 0, j + 1, h, nullptr}, state, workspace, stream);
  if (n > 0) {
    gmres_subtract_kernel<<<elementwise_blocks(n), vector_policy.threads, 0, stream>>>(n, basis, j + 1, h, w, state);
    check_launch("gmres_subtract_kernel");
  }
  project<C>({n, basis, w, 0, j + 1, small.h2, h}, state, workspace, stream);
  gmres_finish_kernel<<<reduction_blocks(n), vector_policy.threads, 0, stream>>>(n, basis, small, j, w, state,
                                                                                 workspace);
  check_launch("gmres_finish_kernel");
  scale(n, w, state, stream);
}

template <class C>
void gmres_combine(index_t n, const C* basis, const detail::GmresSmall<C>& small, const detail::GmresState* state, C* u,
                   CUstream_st* stream) {
  gmres_triangular_kernel<<<1, vector_policy.threads, 0, stream>>>(small, state);
  check_launch("gmres_triangular_kernel");
  if (n == 0) return;
  gmres_combine_kernel<<<elementwise_blocks(n), vector_policy.threads, 0, stream>>>(n, basis, small.y, state, u);
  check_launch("gmres_combine_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                     \
  template void gmres_begin(index_t, C*, const detail::GmresSmall<C>&, detail::GmresState*, const ReductionWorkspace&, \
                            CUstream_st*);                                                                             \
  template void gmres_orthogonalize(index_t, C*, const detail::GmresSmall<C>&, int, detail::GmresState*,               \
                                    const ReductionWorkspace&, CUstream_st*);                                          \
  template void gmres_combine(index_t, const C*, const detail::GmresSmall<C>&, const detail::GmresState*, C*,          \
                              CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
