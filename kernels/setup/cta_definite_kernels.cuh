#pragma once

#include "kernels/inverse/cta_definite.cuh"
#include "kernels/setup/mapped_block.cuh"
#include "kernels/setup/policy.hpp"
#include "kernels/setup/scale.cuh"
#include "kernels/setup/store_outcome.cuh"

namespace blockjacobi::kernels {

/// What the set-up of a definite block has beside CtaDefinite: the powers of two that bring its diagonal to [1, 4),
/// which leaves its condition within a factor N of the best (van der Sluis 1969), and room for a reduction.
template <class C>
struct DefiniteScales {
  using Real = detail::arithmetic_real_t<C>;
  using Field = ExponentField<Real>;

  int n;
  Real* of_warps;
  short* exponents;

  __host__ __device__ static constexpr std::size_t bytes(int n) {
    return definite_scales_bytes - static_cast<std::size_t>(largest_order - (n + 7) / 8 * 8) * sizeof(short);
  }
  __device__ DefiniteScales(unsigned char* shared, int order)
      : n(order),
        of_warps(reinterpret_cast<Real*>(shared)),
        exponents(reinterpret_cast<short*>(of_warps + most_definite_warps)) {
    static_assert(most_definite_warps * sizeof(double) + largest_order * sizeof(short) == definite_scales_bytes);
  }

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }

  /// Whether the diagonal is positive and its powers are far from the ends of the range. With a barrier.
  __device__ bool find(const CtaDefinite<C>& block) const {
    bool serve = true;
    for (int i = thread(); i < n; i += static_cast<int>(blockDim.x)) {
      const Real diagonal = detail::real_part(block.at(i, i));
      const int field = static_cast<int>(magnitude_word(diagonal) >> Field::shift);
      const int exponent = -((field - Field::bias) >> 1);
      exponents[i] = static_cast<short>(exponent);
      serve = serve && diagonal > Real(0) && field > 0 && field < Field::top &&
              detail::are_ordinary_scales<Real>(abs(exponent), abs(exponent));
    }
    return __syncthreads_and(serve) != 0;
  }
  /// By which element (i, j) is multiplied, in the block and in the inverse.
  __device__ Real power(int i, int j) const {
    return power_from_field(Real(), Field::bias + exponents[i] + exponents[j]);
  }

  /// The infinity norm of what is there; NaN if an element of it times power(i, j)^(units / 2) may leave the range.
  /// With barriers. A function of its own for two calls.
  __device__ __noinline__ Real norm(const CtaDefinite<C> block, int units) const {
    Real largest = 0;
    block.for_each_row_sum([&](int i, Real sum) {
      if (i >= n) return;
      // why the diagonal is enough: of a definite matrix it has the largest elements in any units
      const int exponent = static_cast<int>(magnitude_word(sum) >> Field::shift) - Field::bias + units * exponents[i];
      largest = LargerOrNan<Real>{}(exponent < Field::bias - 2 ? sum : Real(0) / Real(0), largest);
    });
    largest = Team<32>::reduce(largest, LargerOrNan<Real>{});
    if (thread() % 32 == 0) of_warps[thread() / 32] = largest;
    __syncthreads();
    for (int w = 0; w < static_cast<int>(blockDim.x) / 32; ++w) largest = LargerOrNan<Real>{}(of_warps[w], largest);
    __syncthreads();
    return largest;
  }
};

/// A block a thread block, of a Hermitian matrix. A block that is not definite, that this does not serve, or of an
/// order above `largest` gets no inverse and the info info_undecided.
template <class C>
__global__ void __launch_bounds__(32 * most_definite_warps)
    setup_definite_kernel(const SetupArguments<C> arguments, const index_t first_slot, const int largest) {
  using Real = detail::arithmetic_real_t<C>;
  using Scales = DefiniteScales<C>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t s = first_slot + static_cast<offset_t>(blockIdx.x);
  const BlockSlot slot = arguments.slots[s];
  const int n = slot.size;
  if (n > largest) {
    if (threadIdx.x == 0) arguments.info[slot.block] = info_undecided;
    return;
  }
  const CtaDefinite<C> definite(shared + Scales::bytes(n), n);
  const Scales scales(shared, n);

  const MappedBlock<C> block(arguments.values, arguments.map, s);
  if (block.is_stepped()) {
    const SteppedRef<const C> elements = block.stepped();
    definite.load([&](int i, int j) { return &elements(i, j); });
  } else {
    definite.for_each([n](int i, int j, C& x) { x = detail::from_real<C>(Real(i == j && i >= n ? 1 : 0)); });
    __syncthreads();
    block.copy_lower_entries([&](int i, int j) { return &definite.at(i, j); });
  }
  wait_for_copies();
  __syncthreads();

  bool inverted = false;
  Real rcond = 0;
  if (scales.find(definite)) {
    definite.for_each([&](int i, int j, C& x) {
      if (i < n && j <= i) x = scaled(x, scales.power(i, j));
    });
    __syncthreads();
    const Real norm = scales.norm(definite, 0);
    if (definite.run() == 0) {
      const Real inverse_norm = scales.norm(definite, 2);
      rcond = reciprocal_condition(norm, inverse_norm);
      inverted = rcond >= detail::singular_threshold<Real>(n);
    }
  }
  if (inverted) {
    C* const inverse = arguments.inverse + slot.start;
    definite.for_each([&](int i, int j, const C& element) {
      if (i >= n || j > i) return;
      const C x = scaled(i == j ? detail::from_real<C>(-detail::real_part(element)) : -element, scales.power(i, j));
      inverse[i + j * n] = x;
      if (i != j) inverse[j + i * n] = detail::conj(x);
    });
  }
  if (threadIdx.x != 0) return;
  if (inverted)
    store_outcome(arguments, slot, {0, rcond});
  else
    arguments.info[slot.block] = info_undecided;  // what decides it writes rcond and counts it
}

}  // namespace blockjacobi::kernels
