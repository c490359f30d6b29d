#include "core/shared/gmres_recurrence.hpp"
#include "kernels/collectives/grid_sum.cuh"
#include "kernels/collectives/grid_sum_wide.cuh"
#include "kernels/collectives/load_once.cuh"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/krylov/staged_state.cuh"
#include "kernels/krylov/vector.cuh"
#include "kernels/launch/dependent.cuh"

#include <bit>
#include <type_traits>

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

/// column = state->scale w, which may be the column itself; `copy`, if there is one, receives it as it was rounded.
template <class C, class B>
__global__ void __launch_bounds__(vector_policy.threads)
    gmres_normalize_kernel(index_t n, const C* w, B* column, C* copy, const detail::GmresState* state) {
  using R = detail::arithmetic_real_t<C>;
  await_previous();
  if (detail::gmres_is_idle(*state)) return;
  const R scale = static_cast<R>(state->scale);
  for_each_element(n, [&](offset_t i) {
    const B element = detail::convert<B>(scale * w[i]);
    column[i] = element;
    if (copy != nullptr) copy[i] = detail::convert<C>(element);
  });
}

/// A pass over all columns of a basis of at most K: w -= V correction unless that is null, h = V^H w, and sum += h
/// unless that is null. A thread has its rows of V in registers, so that both take one reading.
template <class C, class B>
struct TallPass {
  index_t n;
  const B* basis;
  int columns;
  C* w;
  const C* correction;
  C* h;
  C* sum;
};

template <int K, class C, class B>
constexpr PersistentPolicy policy_of_tall = tall_policy(K, K* static_cast<int>(sizeof(B) / 4 + 2 * sum_width<C>));

/// Real numbers that it sums, and some zeros.
template <int K, class C>
constexpr int sums_of_tall = static_cast<int>(std::bit_ceil(static_cast<unsigned>(K* sum_width<C>)));

template <int K, class C, class B>
__global__ void __launch_bounds__(policy_of_tall<K, C, B>.threads, policy_of_tall<K, C, B>.per_multiprocessor)
    gmres_tall_kernel(const TallPass<C, B> a, const detail::GmresState* state, const ReductionWorkspace workspace) {
  constexpr int width = sum_width<C>;
  constexpr int count = sums_of_tall<K, C>;
  using Sum = WideGridSum<count, policy_of_tall<K, C, B>.threads>;
  __shared__ typename Sum::Scratch scratch;
  __shared__ C correction[K];
  await_previous();
  if (detail::gmres_is_idle(*state)) return;
  const bool corrects = a.correction != nullptr;
  const int own = static_cast<int>(threadIdx.x);
  if (own < K) correction[own] = corrects && own < a.columns ? a.correction[own] : C{};
  __syncthreads();

  double sums[count] = {};
  const offset_t stride = static_cast<offset_t>(gridDim.x) * blockDim.x;
  for (offset_t i = static_cast<offset_t>(blockIdx.x) * blockDim.x + own; i < a.n; i += stride) {
    B v[K];
#pragma unroll
    for (int k = 0; k < K; ++k) v[k] = k < a.columns ? load_once(a.basis + i + static_cast<offset_t>(k) * a.n) : B{};
    C w = a.w[i];
    if (corrects) {
#pragma unroll
      for (int k = 0; k < K; ++k) w -= correction[k] * detail::convert<C>(v[k]);
      a.w[i] = w;
    }
#pragma unroll
    for (int k = 0; k < K; ++k) accumulate_dot(sums + k * width, detail::convert<C>(v[k]), w);
  }
  double total;
  if (!Sum::run(sums, total, workspace.partials, workspace.tickets, scratch)) return;
  // why: thread k has total k; of a complex product both parts are wanted in one.
  double parts[width] = {total};
  if constexpr (width == 2) {
    parts[0] = __shfl_sync(~0u, total, 2 * own);
    parts[1] = __shfl_sync(~0u, total, 2 * own + 1);
  }
  if (own >= a.columns) return;
  const C product = detail::narrow<C>(to_accumulator<C>(parts));
  a.h[own] = product;
  if (a.sum != nullptr) a.sum[own] += product;
}

/// The products alone, for bases of any number of columns: over the columns first .. columns - 1 of the basis, a group
/// of them for each blockIdx.y: h[k] = v_k^H w. The second pass writes its correction and adds it to the first.
template <class C, class B>
struct Projection {
  index_t n;
  const B* basis;
  const C* w;
  int first;
  int columns;
  C* h;    ///< receives the products
  C* sum;  ///< h is added to it; null in the first pass
};

template <class C, class B>
__global__ void __launch_bounds__(vector_policy.threads)
    gmres_project_kernel(const Projection<C, B> a, const detail::GmresState* state,
                         const ReductionWorkspace workspace) {
  constexpr int group = basis_policy.columns;
  constexpr int width = sum_width<C>;
  using Sum = GridSum<group * width>;
  __shared__ typename Sum::Scratch scratch;
  if (detail::gmres_is_idle(*state)) return;

  const int column0 = a.first + static_cast<int>(blockIdx.y) * group;
  const int count = min(group, a.columns - column0);
  const B* v = a.basis + static_cast<offset_t>(column0) * a.n;
  double sums[group * width] = {};
  for (offset_t i = own_element(); i < a.n; i += static_cast<offset_t>(gridDim.x) * vector_policy.threads) {
    const C w = a.w[i];
#pragma unroll
    for (int k = 0; k < group; ++k)
      if (k < count) accumulate_dot(sums + k * width, detail::convert<C>(v[i + static_cast<offset_t>(k) * a.n]), w);
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
template <class C, class B>
__device__ C orthogonal_part(index_t n, const B* basis, int columns, const C* h, offset_t i, C w) {
  constexpr int K = 8;  // on the way at once
  const B* v = basis + i;
  for (int first = 0; first < columns; first += K) {
    B own[K];
#pragma unroll
    for (int k = 0; k < K; ++k)
      own[k] = first + k < columns ? load_once(v + static_cast<offset_t>(first + k) * n) : B{};
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (first + k < columns) w -= h[first + k] * detail::convert<C>(own[k]);
  }
  return w;
}

/// First pass: w -= V h.
template <class C, class B>
__global__ void __launch_bounds__(vector_policy.threads)
    gmres_subtract_kernel(index_t n, const B* basis, int columns, const C* h, C* w, const detail::GmresState* state) {
  const offset_t i = own_element();
  if (i >= n || detail::gmres_is_idle(*state)) return;
  w[i] = orthogonal_part(n, basis, columns, h, i, w[i]);
}

/// Second pass: w -= V h2, the subdiagonal ||w||, and the rotation of column j.
template <class C, class B>
__global__ void __launch_bounds__(vector_policy.threads)
    gmres_finish_kernel(index_t n, const B* basis, const detail::GmresSmall<C> small, int j, C* w,
                        detail::GmresState* state, const ReductionWorkspace workspace) {
  __shared__ GridSum<1>::Scratch scratch;
  await_previous();
  if (detail::gmres_is_idle(*state)) return;
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
  __shared__ StagedState<detail::GmresState> staged;
  detail::GmresState& own = staged.load(state);
  if (threadIdx.x == 0) {
    own.norm = sqrt(sum[0]);
    h[j + 1] = detail::from_real<C>(static_cast<detail::arithmetic_real_t<C>>(own.norm));
    detail::gmres_rotate(own, small, j);
  }
  staged.store(state);
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
template <class C, class B>
__global__ void __launch_bounds__(vector_policy.threads)
    gmres_combine_kernel(index_t n, const B* basis, const C* y, const detail::GmresState* state, C* u) {
  const offset_t i = own_element();
  if (i >= n) return;
  const int columns = state->columns;
  C sum{};
#pragma unroll 4
  for (int k = 0; k < columns; ++k) sum += y[k] * detail::convert<C>(basis[i + static_cast<offset_t>(k) * n]);
  u[i] = sum;
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    gmres_check_kernel(index_t n, const C* u, detail::GmresState* state, const ReductionWorkspace workspace) {
  __shared__ GridSum<1>::Scratch scratch;
  double sum[1] = {0.0};
  for_each_element(n, [&](offset_t i) { accumulate_square(sum[0], u[i]); });
  if (!GridSum<1>::run(sum, workspace.partials, workspace.tickets, scratch)) return;
  if (threadIdx.x == 0) detail::gmres_check_correction(*state, sum[0]);
}

/// h[k] = v_k^H w, k < columns, in launches of at most basis_policy.groups groups of columns.
template <class C, class B>
void project(Projection<C, B> a, const detail::GmresState* state, const ReductionWorkspace& workspace,
             CUstream_st* stream) {
  constexpr int group = basis_policy.columns;
  for (; a.first < a.columns; a.first += group * basis_policy.groups) {
    const int groups = std::min((a.columns - a.first + group - 1) / group, basis_policy.groups);
    const unsigned most = static_cast<unsigned>(vector_policy.ctas(current_device()) / groups);
    const dim3 grid(std::min(reduction_ctas(a.n), most), static_cast<unsigned>(groups));
    gmres_project_kernel<<<grid, vector_policy.threads, 0, stream>>>(a, state, workspace);
    check_launch("gmres_project_kernel");
  }
}

template <int K, class C, class B>
void launch_tall(const TallPass<C, B>& a, const detail::GmresState* state, const ReductionWorkspace& workspace,
                 CUstream_st* stream) {
  constexpr PersistentPolicy policy = policy_of_tall<K, C, B>;
  static_assert(std::size_t{sums_of_tall<K, C>} * policy.most_ctas() <= reduction_partials);
  const unsigned ctas = persistent_ctas(policy, (static_cast<offset_t>(a.n) + policy.threads - 1) / policy.threads);
  launch_dependent(gmres_tall_kernel<K, C, B>, "gmres_tall_kernel", {ctas, policy.threads}, stream, a, state,
                   workspace);
}

/// By the kernel for so many columns.
template <int K = tall_step, class C, class B>
void tall_pass(int columns, const TallPass<C, B>& a, const detail::GmresState* state,
               const ReductionWorkspace& workspace, CUstream_st* stream) {
  if constexpr (K < most_tall_columns(scalar_of<C>))
    if (columns > K) return tall_pass<K + tall_step>(columns, a, state, workspace, stream);
  launch_tall<K>(a, state, workspace, stream);
}

/// f.operator()<B>() for the scalar B of the basis.
template <class C, class S, class F>
void with_precision(const GmresArrays<C, S>& v, F f) {
  if constexpr (!std::is_same_v<C, S>) {
    if (v.low_basis != nullptr) return f.template operator()<S>();
  }
  f.template operator()<C>();
}

template <class B, class C, class S>
B* columns_of(const GmresArrays<C, S>& v) {
  if constexpr (std::is_same_v<B, C>)
    return v.basis;
  else
    return v.low_basis;
}

/// The vector that becomes column j.
template <class B, class C, class S>
C* vector_of(const GmresArrays<C, S>& v, int j) {
  if constexpr (std::is_same_v<B, C>)
    return v.basis + static_cast<offset_t>(j) * v.n;
  else
    return v.w;
}

template <class B, class C, class S>
void normalize(const GmresArrays<C, S>& v, int j, const detail::GmresState* state, CUstream_st* stream) {
  if (v.n == 0) return;
  B* column = columns_of<B>(v) + static_cast<offset_t>(j) * v.n;
  C* copy = std::is_same_v<B, C> ? nullptr : v.v;
  launch_dependent(gmres_normalize_kernel<C, B>, "gmres_normalize_kernel", {reduction_ctas(v.n), vector_policy.threads},
                   stream, v.n, vector_of<B>(v, j), column, copy, state);
}

template <class B, class C, class S>
void orthogonalize(const GmresArrays<C, S>& v, const detail::GmresSmall<C>& small, int j, detail::GmresState* state,
                   const ReductionWorkspace& workspace, CUstream_st* stream) {
  const index_t n = v.n;
  const B* columns = columns_of<B>(v);
  C* w = vector_of<B>(v, j + 1);
  C* h = small.h + static_cast<offset_t>(j) * (small.restart + 1);

  const OrthogonalizationPolicy policy = orthogonalization_policy(current_device(), scalar_of<C>, j + 1);
  if (policy.design == OrthogonalizationDesign::tall) {
    const TallPass<C, B> first{n, columns, j + 1, w, nullptr, h, nullptr}, second{n, columns, j + 1, w, h, small.h2, h};
    tall_pass(policy.columns, first, state, workspace, stream);
    tall_pass(policy.columns, second, state, workspace, stream);
  } else {
    project<C, B>({n, columns, w, 0, j + 1, h, nullptr}, state, workspace, stream);
    gmres_subtract_kernel<C, B>
        <<<elementwise_ctas(n), vector_policy.threads, 0, stream>>>(n, columns, j + 1, h, w, state);
    check_launch("gmres_subtract_kernel");
    project<C, B>({n, columns, w, 0, j + 1, small.h2, h}, state, workspace, stream);
  }
  launch_dependent(gmres_finish_kernel<C, B>, "gmres_finish_kernel", {reduction_ctas(n), vector_policy.threads}, stream,
                   n, columns, small, j, w, state, workspace);
  normalize<B>(v, j + 1, state, stream);
}

}  // namespace

template <class C, class S>
void gmres_begin(const GmresArrays<C, S>& v, const detail::GmresSmall<C>& small, detail::GmresState* state,
                 const ReductionWorkspace& workspace, CUstream_st* stream) {
  with_precision(v, [&]<class B>() {
    gmres_begin_kernel<C>
        <<<reduction_ctas(v.n), vector_policy.threads, 0, stream>>>(v.n, vector_of<B>(v, 0), small, state, workspace);
    check_launch("gmres_begin_kernel");
    normalize<B>(v, 0, state, stream);
  });
}

template <class C, class S>
void gmres_orthogonalize(const GmresArrays<C, S>& v, const detail::GmresSmall<C>& small, int j,
                         detail::GmresState* state, const ReductionWorkspace& workspace, CUstream_st* stream) {
  with_precision(v, [&]<class B>() { orthogonalize<B>(v, small, j, state, workspace, stream); });
}

template <class C, class S>
void gmres_combine(const GmresArrays<C, S>& v, const detail::GmresSmall<C>& small, const detail::GmresState* state,
                   CUstream_st* stream) {
  gmres_triangular_kernel<<<1, vector_policy.threads, 0, stream>>>(small, state);
  check_launch("gmres_triangular_kernel");
  if (v.n == 0) return;
  with_precision(v, [&]<class B>() {
    gmres_combine_kernel<C, B>
        <<<elementwise_ctas(v.n), vector_policy.threads, 0, stream>>>(v.n, columns_of<B>(v), small.y, state, v.u);
    check_launch("gmres_combine_kernel");
  });
}

template <class C>
void gmres_check(index_t n, const C* u, detail::GmresState* state, const ReductionWorkspace& workspace,
                 CUstream_st* stream) {
  gmres_check_kernel<<<reduction_ctas(n), vector_policy.threads, 0, stream>>>(n, u, state, workspace);
  check_launch("gmres_check_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C, S)                                                                                 \
  template void gmres_begin(const GmresArrays<C, S>&, const detail::GmresSmall<C>&, detail::GmresState*,              \
                            const ReductionWorkspace&, CUstream_st*);                                                 \
  template void gmres_orthogonalize(const GmresArrays<C, S>&, const detail::GmresSmall<C>&, int, detail::GmresState*, \
                                    const ReductionWorkspace&, CUstream_st*);                                         \
  template void gmres_combine(const GmresArrays<C, S>&, const detail::GmresSmall<C>&, const detail::GmresState*,      \
                              CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float, float);
BLOCKJACOBI_INSTANTIATE(double, float);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>, detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>, detail::Complex<float>);
#undef BLOCKJACOBI_INSTANTIATE

template void gmres_check(index_t, const float*, detail::GmresState*, const ReductionWorkspace&, CUstream_st*);
template void gmres_check(index_t, const double*, detail::GmresState*, const ReductionWorkspace&, CUstream_st*);
template void gmres_check(index_t, const detail::Complex<float>*, detail::GmresState*, const ReductionWorkspace&,
                          CUstream_st*);
template void gmres_check(index_t, const detail::Complex<double>*, detail::GmresState*, const ReductionWorkspace&,
                          CUstream_st*);

}  // namespace blockjacobi::kernels
