#pragma once

#include "kernels/block/block_pseudo_inverse.cuh"
#include "kernels/global/setup_large.cuh"
#include "kernels/launch.hpp"
#include "kernels/launch_storage.hpp"
#include "kernels/tuning/storage.hpp"

namespace blockjacobi::kernels {

/// Elements that a thread block of storage work has for itself, for orders up to `largest`.
__host__ __device__ constexpr offset_t scratch_of_block(index_t largest) { return offset_t{largest} * largest; }

/// Calls repair(s) for the slots of the range whose block is singular, by whole thread blocks. Nothing but one load
/// where there is none.
template <class C, class Repair>
__device__ void for_each_singular(const SetupArguments<C>& arguments, const SlotRange& range, Repair repair) {
  if (*arguments.defects == 0) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  // All warps look at the same 32 slots and come to the same list.
  for (offset_t first = offset_t{blockIdx.x} * 32; first < range.count; first += offset_t{gridDim.x} * 32) {
    const offset_t own = first + lane;
    const bool singular = own < range.count && arguments.info[arguments.slots[range.first + own].block] > 0;
    for (unsigned left = __ballot_sync(~0u, singular); left != 0; left &= left - 1) {
      repair(range.first + first + __ffs(static_cast<int>(left)) - 1);
      __syncthreads();
    }
  }
}

/// What a repair leaves where it cannot help: the diagonal of scalar Jacobi.
template <class C>
__device__ void store_scalar_jacobi(const LargeBlock<C>& block, const SetupArguments<C>& arguments, offset_t s) {
  __syncthreads();
  block.extract(arguments.values, arguments.map, s);
  block.set_diagonal(detail::Fallback::scalar_jacobi);
}

/// The inverse of the shifted block, in its place; false if there is none without overflow.
template <class C>
__device__ bool invert_shifted(const LargeBlock<C>& block, const SetupArguments<C>& arguments, offset_t s) {
  using R = detail::arithmetic_real_t<C>;
  const R threshold = detail::singular_threshold<R>(block.n());
  for (R shift = detail::first_shift<R>(); shift <= detail::last_shift<R>; shift *= detail::shift_growth<R>) {
    __syncthreads();
    block.extract(arguments.values, arguments.map, s);
    block.equilibrate();
    block.for_each_row([&](int i) {
      bool row_is_zero = true;
      for (int j = 0; j < block.n(); ++j) row_is_zero = row_is_zero && detail::is_zero(block.at(i, j));
      block.at(i, i) = detail::shifted_diagonal(block.at(i, i), shift, row_is_zero);
    });
    __syncthreads();
    const R norm = block.infinity_norm();
    if (block.elimination.invert() != 0) continue;
    if (reciprocal_condition(norm, block.infinity_norm()) >= threshold) return block.undo_scaling();
  }
  return false;
}

template <class C>
__global__ void __launch_bounds__(repair_threads, 1)
    repair_shift_kernel(const SetupArguments<C> arguments, const SlotRange range, const int panel_width) {
  using R = detail::arithmetic_real_t<C>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ LargeScratch<C> scratch;
  for_each_singular(arguments, range, [&](offset_t s) {
    const BlockSlot slot = arguments.slots[s];
    const LargeBlock<C> block(arguments.inverse + slot.start, slot.size, panel_width, shared_bytes, scratch);
    // A block whose rcond suffices is one whose inverse overflows.
    const bool ill = arguments.rcond[slot.block] < detail::singular_threshold<R>(slot.size);
    if (!ill || !invert_shifted(block, arguments, s)) store_scalar_jacobi(block, arguments, s);
  });
}

/// The same powers for rows and columns of a Hermitian block, whose pseudo-inverse make_hermitian() completes then.
template <class C>
__device__ void take_hermitian_scales(const LargeBlock<C>& block) {
  block.for_each_element([&](int i, int j) {
    const auto correction = [&](int k) {
      return detail::mean_exponent(block.row_exponent[k], block.column_exponent[k]);
    };
    const int change = correction(i) - block.row_exponent[i] + correction(j) - block.column_exponent[j];
    block.at(i, j) = detail::scale_by_power(block.at(i, j), change);
  });
  __syncthreads();
  block.for_each_row([&](int i) {
    block.row_exponent[i] = block.column_exponent[i] =
        detail::mean_exponent(block.row_exponent[i], block.column_exponent[i]);
  });
  __syncthreads();
}

/// x = (x + x^H) / 2, by the whole thread block: the pseudo-inverse of a Hermitian block with the same scales for rows
/// and columns, but for rounding and for the small r_jj left out, whose rows and columns need not correspond.
template <class C>
__device__ void make_hermitian(C* x, int n) {
  for (int e = static_cast<int>(threadIdx.x); e < n * n; e += static_cast<int>(blockDim.x)) {
    const int i = e % n, j = e / n;
    if (i < j) continue;
    const C mean = detail::hermitian_mean(x[e], x[j + i * n]);
    x[e] = mean;
    x[j + i * n] = detail::conj(mean);
  }
}

template <class C>
__global__ void __launch_bounds__(repair_threads, 1)
    repair_pseudo_inverse_kernel(const SetupArguments<C> arguments, const SlotRange range, C* const work) {
  using R = detail::arithmetic_real_t<C>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ LargeScratch<C> scratch;
  __shared__ PseudoInverseScratch<C> pseudo_scratch;
  C* const vectors = reinterpret_cast<C*>(shared_bytes);
  unsigned char* const rest = shared_bytes + sizeof(C) * static_cast<std::size_t>(repair_threads / 32 * range.largest);
  C* const own = work + offset_t{blockIdx.x} * scratch_of_block(range.largest);
  for_each_singular(arguments, range, [&](offset_t s) {
    const BlockSlot slot = arguments.slots[s];
    const int n = slot.size;
    C* const stored = arguments.inverse + slot.start;
    bool finite = arguments.rcond[slot.block] < detail::singular_threshold<R>(n);
    if (finite) {
      const LargeBlock<C> block(own, n, 1, rest, scratch);
      block.extract(arguments.values, arguments.map, s);
      bool hermitian = true;
      block.for_each_element([&](int i, int j) {
        hermitian = hermitian && detail::is_zero(block.at(i, j) - detail::conj(block.at(j, i)));
      });
      hermitian = __syncthreads_and(hermitian) != 0;
      block.equilibrate();
      if (hermitian) take_hermitian_scales(block);
      BlockPseudoInverse<C> pseudo_inverse(own, n, vectors, pseudo_scratch);
      bool all_finite = true;
      static_cast<void>(pseudo_inverse.run(detail::singular_threshold<R>(n), n - 1, [&](int i, int j, C x) {
        x = detail::scale_by_power(x, block.column_exponent[i] + block.row_exponent[j]);
        all_finite = all_finite && detail::finite(x);
        stored[i + static_cast<offset_t>(j) * n] = x;
      }));
      finite = __syncthreads_and(all_finite) != 0;
      if (hermitian) make_hermitian(stored, n);
    }
    if (!finite) store_scalar_jacobi(LargeBlock<C>(stored, n, 1, rest, scratch), arguments, s);
  });
}

/// Dynamic shared memory that a thread block of the kernel may use beside the static one; allowed by this call.
template <class Kernel>
std::size_t allow_all_shared(Kernel* kernel) {
  int device = 0, bytes = 0;
  cudaFuncAttributes attributes;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
  check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes(repair)");
  const std::size_t limit = (static_cast<std::size_t>(bytes) - attributes.sharedSizeBytes) / 128 * 128;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(limit)),
        "cudaFuncSetAttribute(repair)");
  return limit;
}

/// All slots of the groups.
inline SlotRange all_slots(std::span<const BlockGroup> groups) { return slots_of_orders(groups, 0, max_block_size); }

/// Thread blocks that have scratch for orders up to `largest`.
template <class C>
unsigned blocks_with_scratch(const ScratchView<C>& scratch, index_t largest, offset_t work) {
  const offset_t most = std::min<offset_t>(scratch.size / scratch_of_block(largest), storage_blocks);
  return static_cast<unsigned>(std::clamp<offset_t>(work, 1, most));
}

template <class C>
void repair_blocks(const SetupArguments<C>& arguments, detail::Repair repair, std::span<const BlockGroup> groups,
                   const ScratchView<C>& scratch, CUstream_st* stream) {
  const SlotRange range = all_slots(groups);
  if (range.count == 0) return;
  const offset_t work = (static_cast<offset_t>(range.count) + 31) / 32;
  if (repair == detail::Repair::shift) {
    const auto kernel = repair_shift_kernel<C>;
    const std::size_t limit = allow_all_shared(kernel);
    int panel = repair_panel;
    while (panel > 1 && large_shared_bytes<C>(range.largest, panel) > limit) panel /= 2;
    const auto blocks = static_cast<unsigned>(std::min<offset_t>(work, storage_blocks));
    kernel<<<blocks, repair_threads, large_shared_bytes<C>(range.largest, panel), stream>>>(arguments, range, panel);
  } else {
    const auto kernel = repair_pseudo_inverse_kernel<C>;
    static_cast<void>(allow_all_shared(kernel));
    const std::size_t bytes = sizeof(C) * static_cast<std::size_t>(repair_threads / 32 * range.largest) +
                              large_shared_bytes<C>(range.largest, 1);
    kernel<<<blocks_with_scratch(scratch, range.largest, work), repair_threads, bytes, stream>>>(arguments, range,
                                                                                                 scratch.data);
  }
  check_launch("repair");
}

}  // namespace blockjacobi::kernels
