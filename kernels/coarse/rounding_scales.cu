#include "core/shared/rounding_scales.hpp"
#include "kernels/coarse/launch_grid.cuh"
#include "kernels/coarse/launch_products.hpp"
#include "kernels/coarse/row_lanes.cuh"
#include "kernels/collectives/lanes.cuh"
#include "kernels/launch/check.hpp"

namespace blockjacobi::kernels {

namespace {

template <class C, class O>
__global__ void __launch_bounds__(coarse_threads)
    rounding_scales_kernel(const CsrView<C, O> a, detail::arithmetic_real_t<C>* const rounding_scales) {
  const offset_t i = thread_index();
  if (i < a.rows)
    rounding_scales[i] =
        detail::modulus(detail::diagonal_element(detail::SparseRows<C, O>{a}, static_cast<index_t>(i)));
}

/// A warp for each coarse row.
template <class C>
__global__ void __launch_bounds__(coarse_threads)
    restrict_rounding_scales_kernel(const CsrView<C, std::int32_t> adjoint,
                                    const detail::arithmetic_real_t<C>* const fine,
                                    detail::arithmetic_real_t<C>* const coarse) {
  using R = detail::arithmetic_real_t<C>;
  const auto lanes = Lanes<32>::current();
  const offset_t k = thread_index() / 32;
  if (k >= adjoint.rows) return;
  R sum = 0;
  for (std::int32_t e = adjoint.row_offsets[k] + lanes.rank; e < adjoint.row_offsets[k + 1]; e += 32)
    sum += detail::rounding_scale_term(adjoint, e, fine);
  sum = lanes.reduce(sum, [](R a, R b) { return a + b; });
  if (lanes.rank == 0) coarse[k] = sum;
}

}  // namespace

template <class C, Offset O>
void rounding_scales(const CsrView<C, O>& a, detail::arithmetic_real_t<C>* rounding_scales, CUstream_st* stream) {
  rounding_scales_kernel<<<ctas_of(a.rows, "rounding_scales_kernel"), coarse_threads, 0, stream>>>(a, rounding_scales);
  check_launch("rounding_scales_kernel");
}

template <class C>
void restrict_rounding_scales(const CsrView<C, std::int32_t>& adjoint, const detail::arithmetic_real_t<C>* fine,
                              detail::arithmetic_real_t<C>* coarse, CUstream_st* stream) {
  restrict_rounding_scales_kernel<<<ctas_of(offset_t{adjoint.rows} * 32, "restrict_rounding_scales_kernel"),
                                    coarse_threads, 0, stream>>>(adjoint, fine, coarse);
  check_launch("restrict_rounding_scales_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                             \
  template void rounding_scales(const CsrView<C, std::int32_t>&, detail::arithmetic_real_t<C>*, CUstream_st*); \
  template void rounding_scales(const CsrView<C, std::int64_t>&, detail::arithmetic_real_t<C>*, CUstream_st*); \
  template void restrict_rounding_scales(const CsrView<C, std::int32_t>&, const detail::arithmetic_real_t<C>*, \
                                         detail::arithmetic_real_t<C>*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
