#pragma once

#include "core/shared/rounding_scales.hpp"
#include "core/shared/storage_format.hpp"
#include "kernels/inverse/cta_pseudo.cuh"
#include "kernels/scratch.hpp"
#include "kernels/setup/careful_kernels.cuh"
#include "kernels/setup/launch.hpp"
#include "kernels/setup/policy.hpp"
#include "kernels/slots.hpp"
#include "kernels/storage/policy.hpp"

namespace blockjacobi::kernels {

/// What a repair leaves where it cannot help: the diagonal of scalar Jacobi.
template <class C>
__device__ void store_scalar_jacobi(const CtaBlock<C>& block, const SetupArguments<C>& arguments, offset_t s) {
  __syncthreads();
  block.extract(arguments.values, arguments.map, s);
  block.set_diagonal(detail::Fallback::scalar_jacobi);
}

/// The inverse of the shifted block, in its place; false if there is none without overflow.
template <class C>
__device__ bool invert_shifted(const CtaBlock<C>& block, const SetupArguments<C>& arguments, offset_t s) {
  using R = detail::arithmetic_real_t<C>;
  const R threshold = detail::singular_threshold<R>(block.n());
  for (R shift = detail::first_shift<R>(); shift <= detail::last_shift<R>; shift *= detail::shift_growth<R>) {
    __syncthreads();
    block.extract(arguments.values, arguments.map, s);
    block.equilibrate_thoroughly(block.elimination.panel);
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
  __shared__ CtaBlockScratch<C> scratch;
  for_each_singular(arguments, range, [&](offset_t s) {
    const BlockSlot slot = arguments.slots[s];
    const CtaBlock<C> block(arguments.inverse + slot.start, slot.size, panel_width, shared_bytes, scratch);
    // A block whose rcond suffices is one whose inverse overflows.
    const bool ill = arguments.rcond[slot.block] < detail::singular_threshold<R>(slot.size);
    if (!ill || !invert_shifted(block, arguments, s)) store_scalar_jacobi(block, arguments, s);
  });
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

/// Scales a block by powers of two, see core/shared/rounding_scales.hpp.
template <class C, class R>
__device__ void scale_by_rounding(const CtaBlock<C>& block, const R* rounding_scales) {
  block.for_each_row(
      [&](int i) { block.row_exponent[i] = block.column_exponent[i] = detail::rounding_exponent(rounding_scales[i]); });
  __syncthreads();
  block.for_each_element([&](int i, int j) {
    block.at(i, j) = detail::scale_by_power(block.at(i, j), block.row_exponent[i] + block.column_exponent[j]);
  });
  __syncthreads();
}

/// Tells of a block whose inverse is large beside the rounding scales that it is singular; a thread block for each.
template <class C>
__global__ void __launch_bounds__(storage_threads(max_block_size))
    reject_rounding_kernel(const SetupArguments<C> arguments, const SlotRange range,
                           const detail::arithmetic_real_t<C>* const rounding_scales) {
  using R = detail::arithmetic_real_t<C>;
  __shared__ ReduceScratch<1, double> scratch;
  const auto lanes = Lanes<32>::current();
  const BlockSlot slot = arguments.slots[range.first + blockIdx.x];
  if (arguments.info[slot.block] != 0) return;
  const C* const inverse = arguments.inverse + slot.start;
  const R* const of_block = rounding_scales + slot.first_row;
  double norm = 0;
  for (int j = static_cast<int>(threadIdx.x) / 32; j < slot.size; j += static_cast<int>(blockDim.x) / 32) {
    const int of_column = detail::rounding_exponent(of_block[j]);
    double sum = 0;
    for (int i = lanes.rank; i < slot.size; i += 32)
      sum += detail::modulus(detail::scale_by_power(inverse[i + static_cast<offset_t>(j) * slot.size],
                                                    -detail::rounding_exponent(of_block[i]) - of_column));
    norm = LargerOrNan<double>{}(norm, lanes.reduce(sum, [](double a, double b) { return a + b; }));
  }
  norm = cta_reduce(norm, scratch, LargerOrNan<double>{});
  if (threadIdx.x == 0 && !(1.0 / norm >= static_cast<double>(detail::rounding_threshold<R>())))
    store_outcome(arguments, slot,
                  {detail::info_ill_conditioned(slot.size), norm == norm ? static_cast<R>(1.0 / norm) : R(0)});
}

template <class C>
__global__ void __launch_bounds__(repair_threads, 1)
    repair_pseudo_inverse_kernel(const SetupArguments<C> arguments, const SlotRange range,
                                 const detail::arithmetic_real_t<C>* const rounding_scales, C* const work) {
  using R = detail::arithmetic_real_t<C>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ CtaBlockScratch<C> scratch;
  __shared__ PseudoInverseScratch<C> pseudo_scratch;
  C* const vectors = reinterpret_cast<C*>(shared_bytes);
  unsigned char* const rest = shared_bytes + sizeof(C) * static_cast<std::size_t>(repair_threads / 32 * range.largest);
  C* const own = work + offset_t{blockIdx.x} * block_scratch(range.largest);
  for_each_singular(arguments, range, [&](offset_t s) {
    const BlockSlot slot = arguments.slots[s];
    const int n = slot.size;
    C* const stored = arguments.inverse + slot.start;
    bool finite = arguments.rcond[slot.block] < detail::singular_threshold<R>(n);
    if (finite) {
      const CtaBlock<C> block(own, n, 1, rest, scratch);
      block.extract(arguments.values, arguments.map, s);
      bool hermitian = true;
      block.for_each_element([&](int i, int j) {
        hermitian = hermitian && detail::is_zero(block.at(i, j) - detail::conj(block.at(j, i)));
      });
      hermitian = __syncthreads_and(hermitian) != 0;
      R least = 0;
      if (rounding_scales == nullptr) {
        block.equilibrate_thoroughly(block.elimination.panel);
      } else {
        scale_by_rounding(block, rounding_scales + slot.first_row);
        // Where an eigenvalue is rounding, sqrt(n) times as much may be left of a pivot of QR.
        least = sqrt(static_cast<R>(n)) * detail::rounding_threshold<R>();
      }
      CtaPseudoInverse<C> pseudo_inverse(own, n, vectors, pseudo_scratch);
      bool all_finite = true;
      static_cast<void>(pseudo_inverse.run(detail::singular_threshold<R>(n), least, n - 1, [&](int i, int j, C x) {
        x = detail::scale_by_power(x, block.column_exponent[i] + block.row_exponent[j]);
        all_finite = all_finite && detail::finite(x);
        stored[i + static_cast<offset_t>(j) * n] = x;
      }));
      finite = __syncthreads_and(all_finite) != 0;
      if (hermitian) make_hermitian(stored, n);
    }
    if (!finite) store_scalar_jacobi(CtaBlock<C>(stored, n, 1, rest, scratch), arguments, s);
  });
}

}  // namespace blockjacobi::kernels
