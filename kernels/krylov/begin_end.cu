#include "kernels/collectives/grid_sum.cuh"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/krylov/vector.cuh"
#include "kernels/launch/check.hpp"

// The beginning and the end of every solve. A state is only written by the thread block that
// arrives last in a reduction, after every other has read it.

namespace blockjacobi::kernels {

namespace {

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    begin_solve_kernel(index_t n, const C* b, const C* r, const detail::StoppingRule rule, const int* failure,
                       detail::SolveControl* control, const ReductionWorkspace workspace) {
  __shared__ GridSum<3>::Scratch scratch;
  double sums[3] = {};  // ||b||^2, ||r||^2, nonzeros of b
  for_each_element(n, [&](offset_t i) {
    const C element = b[i];
    accumulate_square(sums[0], element);
    accumulate_square(sums[1], r[i]);
    if (!detail::is_zero(element)) sums[2] += 1.0;
  });
  if (!GridSum<3>::run(sums, workspace.partials, workspace.tickets, scratch)) return;
  if (threadIdx.x != 0) return;
  detail::begin_solve(*control, rule, {sums[0], sums[1], sums[2]}, failure != nullptr && *failure != 0);
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    clear_solution_kernel(index_t n, C* x, const detail::SolveControl* control) {
  const offset_t i = own_element();
  if (i < n && control->zero_rhs != 0) x[i] = C{};
}

template <class C>
__global__ void __launch_bounds__(vector_policy.threads)
    end_solve_kernel(index_t n, const C* r, const detail::SolveControl* control, SolveStatus* status,
                     const ReductionWorkspace workspace) {
  __shared__ GridSum<1>::Scratch scratch;
  double sum[1] = {0.0};
  for_each_element(n, [&](offset_t i) { accumulate_square(sum[0], r[i]); });
  if (!GridSum<1>::run(sum, workspace.partials, workspace.tickets, scratch)) return;
  if (threadIdx.x == 0) *status = detail::end_solve(*control, sqrt(sum[0]));
}

}  // namespace

template <class C>
void begin_solve(index_t n, const C* b, const C* r, C* x, const detail::StoppingRule& rule, const int* failure,
                 detail::SolveControl* control, const ReductionWorkspace& workspace, CUstream_st* stream) {
  begin_solve_kernel<<<reduction_ctas(n), vector_policy.threads, 0, stream>>>(n, b, r, rule, failure, control,
                                                                              workspace);
  check_launch("begin_solve_kernel");
  if (n == 0) return;
  clear_solution_kernel<<<elementwise_ctas(n), vector_policy.threads, 0, stream>>>(n, x, control);
  check_launch("clear_solution_kernel");
}

template <class C>
void end_solve(index_t n, const C* r, const detail::SolveControl* control, SolveStatus* status,
               const ReductionWorkspace& workspace, CUstream_st* stream) {
  end_solve_kernel<<<reduction_ctas(n), vector_policy.threads, 0, stream>>>(n, r, control, status, workspace);
  check_launch("end_solve_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                 \
  template void begin_solve(index_t, const C*, const C*, C*, const detail::StoppingRule&, const int*,              \
                            detail::SolveControl*, const ReductionWorkspace&, CUstream_st*);                       \
  template void end_solve(index_t, const C*, const detail::SolveControl*, SolveStatus*, const ReductionWorkspace&, \
                          CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
