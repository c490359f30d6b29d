#include "core/shared/scalar_steps.hpp"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/krylov/scalar_step.cuh"
#include "kernels/launch/check.hpp"

namespace blockjacobi::kernels {

namespace {

using detail::VectorPass;

/// Element i of every sum.
template <class C>
__device__ void assign_sums(const VectorPass<C>& pass, offset_t i) {
  C values[VectorPass<C>::max_sums];
#pragma unroll
  for (int s = 0; s < VectorPass<C>::max_sums; ++s) {
    values[s] = C{};
#pragma unroll
    for (int t = 0; t < VectorPass<C>::max_terms; ++t) {
      const detail::VectorTerm<C> term = pass.sums[s].terms[t];
      if (term.x == nullptr) continue;
      values[s] += term.coefficient != nullptr ? *term.coefficient * term.x[i] : term.x[i];
    }
  }
#pragma unroll
  for (int s = 0; s < VectorPass<C>::max_sums; ++s)
    if (pass.sums[s].y != nullptr) pass.sums[s].y[i] = values[s];
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    pass_kernel(const VectorPass<C> pass, const detail::SolveControl* state) {
  const offset_t i = own_element();
  if (i >= pass.n || state->stop != 0) return;
  assign_sums(pass, i);
}

template <class Step, class C>
__global__ void __launch_bounds__(vector_policy.threads)
    pass_and_step_kernel(const VectorPass<C> pass, typename Step::State* state, const ReductionWorkspace workspace) {
  constexpr int width = sum_width<C>, count = VectorPass<C>::max_dots;
  if (state->stop != 0) return;
  sum_and_step<count * width>(
      pass.n, state, workspace,
      [&](offset_t i, double* sums) {
        assign_sums(pass, i);
#pragma unroll
        for (int d = 0; d < count; ++d)
          if (pass.dots[d].x != nullptr) accumulate_dot(sums + d * width, pass.dots[d].x[i], pass.dots[d].y[i]);
      },
      [](typename Step::State& own, const double* sums) {
        detail::accumulator_t<C> dots[count];
#pragma unroll
        for (int d = 0; d < count; ++d) dots[d] = to_accumulator<C>(sums + d * width);
        Step::run(own, dots);
      });
}

}  // namespace

template <class C>
void pass(const detail::VectorPass<C>& pass, detail::ScalarStep step, detail::SolveControl* state,
          const ReductionWorkspace& workspace, CUstream_st* stream) {
  if (step == detail::ScalarStep::none) {
    if (pass.n == 0) return;
    pass_kernel<<<elementwise_ctas(pass.n), vector_policy.threads, 0, stream>>>(pass, state);
    return check_launch("pass_kernel");
  }
  detail::with_step<C>(step, [&](auto as_struct) {
    using Step = decltype(as_struct);
    pass_and_step_kernel<Step><<<reduction_ctas(pass.n), vector_policy.threads, 0, stream>>>(
        pass, static_cast<typename Step::State*>(state), workspace);
    check_launch("pass_and_step_kernel");
  });
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                            \
  template void pass(const detail::VectorPass<C>&, detail::ScalarStep, detail::SolveControl*, \
                     const ReductionWorkspace&, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
