#include "kernels/check.hpp"
#include "kernels/global/setup.cuh"
#include "kernels/launch.hpp"
#include "kernels/tuning/setup.hpp"

namespace blockjacobi::kernels {

namespace {

/// Lane groups of the tiny set-up; each serves the orders up to its width.
constexpr int tiny_widths[] = {4, 8, 16, 32};

}  // namespace

template <Scalar T>
void setup_blocks(const T* values, const detail::PositionMapView& map, const BlockBatchView<T>& inverse,
                  detail::Fallback fallback, const detail::BlockStatusView<T>& status, CUstream_st* stream) {
  const SetupArguments<detail::compute_t<T>> arguments{
      detail::compute_cast(values), map,         detail::compute_cast(inverse.data), inverse.slots, fallback,
      status.info,                  status.rcond, status.defects};
  check(cudaMemsetAsync(status.defects, 0, sizeof(int), stream), "cudaMemsetAsync(defects)");
  for_each_class(inverse.groups, 0, tiny_widths, [&](const SlotRange& range) {
    int width = tiny_widths[0];
    while (width < range.largest) width *= 2;
    setup_tiny(arguments, range, width, stream);
  });
  for_each_class(inverse.groups, largest_tiny_order, block_setup_bounds,
                 [&](const SlotRange& range) { setup_large(arguments, range, stream); });
}

template void setup_blocks(const float*, const detail::PositionMapView&, const BlockBatchView<float>&,
                           detail::Fallback, const detail::BlockStatusView<float>&, CUstream_st*);
template void setup_blocks(const double*, const detail::PositionMapView&, const BlockBatchView<double>&,
                           detail::Fallback, const detail::BlockStatusView<double>&, CUstream_st*);
template void setup_blocks(const std::complex<float>*, const detail::PositionMapView&,
                           const BlockBatchView<std::complex<float>>&, detail::Fallback,
                           const detail::BlockStatusView<std::complex<float>>&, CUstream_st*);
template void setup_blocks(const std::complex<double>*, const detail::PositionMapView&,
                           const BlockBatchView<std::complex<double>>&, detail::Fallback,
                           const detail::BlockStatusView<std::complex<double>>&, CUstream_st*);

}  // namespace blockjacobi::kernels
