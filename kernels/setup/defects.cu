#include "kernels/launch/check.hpp"
#include "kernels/setup/launch.hpp"

#include <algorithm>

namespace blockjacobi::kernels {

namespace {

constexpr int defects_threads = 256;
constexpr int most_defects_ctas = 1024;

__device__ offset_t first_index() { return offset_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ offset_t index_step() { return offset_t{gridDim.x} * blockDim.x; }

__global__ void __launch_bounds__(defects_threads)
    count_defects_kernel(const int* const info, const index_t blocks, int* const defects) {
  int count = 0;
  for (offset_t b = first_index(); b < blocks; b += index_step()) count += info[b] != 0;
  count = __reduce_add_sync(~0u, count);
  if (threadIdx.x % 32 == 0 && count > 0) atomicAdd(defects, count);
}

}  // namespace

void count_defects(const int* info, index_t blocks, int* defects, CUstream_st* stream) {
  check(cudaMemsetAsync(defects, 0, sizeof(int), stream), "cudaMemsetAsync(defects)");
  const auto ctas = static_cast<unsigned>(std::clamp((blocks - 1) / defects_threads + 1, 1, most_defects_ctas));
  count_defects_kernel<<<ctas, defects_threads, 0, stream>>>(info, blocks, defects);
  check_launch("count_defects_kernel");
}

}  // namespace blockjacobi::kernels
