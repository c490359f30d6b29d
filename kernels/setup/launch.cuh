#pragma once

#include "kernels/scratch.hpp"
#include "kernels/setup/careful_kernels.cuh"
#include "kernels/setup/cluster_kernel.cuh"
#include "kernels/setup/cta_definite_kernels.cuh"
#include "kernels/setup/cta_kernels.cuh"
#include "kernels/setup/launch.hpp"
#include "kernels/setup/launch_runs.hpp"
#include "kernels/setup/team_kernels.cuh"
#include "kernels/setup/thread_kernels.cuh"
#include "kernels/slots.hpp"

#include <algorithm>

namespace blockjacobi::kernels {

/// By the kernels of order N: all blocks have it (`exactly`), or none a larger one.
template <int N, bool exactly, class C>
void launch_setup_tiny(const SetupArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  const auto launch = [&](auto* kernel, int threads, int blocks, int bytes) {
    allow_shared_memory(kernel, static_cast<std::size_t>(bytes));
    kernel<<<grid_for(range.count, blocks, "setup"), static_cast<unsigned>(threads), static_cast<std::size_t>(bytes),
             stream>>>(arguments, range);
    check_launch("setup");
  };
  if constexpr (setup_shape<N, C>.design == SetupDesign::thread) {
    using Memory = ThreadSetupScratch<N, C>;
    launch(setup_thread_kernel<N, exactly, C>, Memory::threads, Memory::threads, Memory::shared_bytes);
  } else {
    static_assert(setup_shape<N, C>.design == SetupDesign::team);
    using Setup = TeamSetup<N, C>;
    launch(setup_team_kernel<N, exactly, C>, Setup::threads, Setup::blocks, Setup::shared_bytes);
  }
}

template <class C>
void launch_setup_tiny(const SetupArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  const auto launch = [&]<int N>() {
    if constexpr (setup_shape<N, C>.alone) {
      if (range.smallest == N && range.largest == N) return launch_setup_tiny<N, true>(arguments, range, stream), true;
    }
    if constexpr (N == tiny_class(N)) {
      if (tiny_class(range.largest) == N) return launch_setup_tiny<N, false>(arguments, range, stream), true;
    }
    return false;
  };
  [&]<int... I>(std::integer_sequence<int, I...>) { static_cast<void>((launch.template operator()<I + 1>() || ...)); }
  (std::make_integer_sequence<int, largest_tiny_order>{});
}

/// Dynamic shared memory that a thread block of the kernel may use beside the static one; allowed by this call.
template <class Kernel>
std::size_t allow_all_shared(Kernel* kernel) {
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  const std::size_t limit = (current_device().shared_bytes - attributes.sharedSizeBytes) / 128 * 128;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(limit)),
        "cudaFuncSetAttribute");
  return limit;
}

constexpr GaussJordanPlace place_of(SetupDesign design) {
  return design == SetupDesign::cta_whole      ? GaussJordanPlace::whole
         : design == SetupDesign::cta_resident ? GaussJordanPlace::resident
                                               : GaussJordanPlace::streamed;
}

/// Whether the policy is for clusters, which then set up the blocks.
template <class C>
bool launch_setup_clusters(const SetupArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  constexpr int width = gauss_jordan_width(scalar_of<C>);
  const int n = range.largest;
  const auto clusters = [&](int ctas) {
    return ClusterLaunch(setup_cluster_kernel<C, width>, n, range.count, ctas,
                         CtaScales<C>::bytes(n) + ClusterShape<C, width>::bytes(n, ctas), stream);
  };
  const SetupPolicy policy = few_setup_policy(current_device(), scalar_of<C>, n, range.count,
                                              [&](int ctas) { return clusters(ctas).at_a_time(); });
  if (policy.design != SetupDesign::clusters) return false;
  clusters(policy.ctas).run("setup", arguments, range.first);
  return true;
}

/// Sets up the definite blocks among those of a Hermitian matrix; whether the policy is for that.
template <class C>
bool launch_setup_definite(const SetupArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  const Device& device = current_device();
  if (!arguments.hermitian ||
      definite_setup_policy(device, scalar_of<C>, range.smallest).design != SetupDesign::cta_definite)
    return false;
  const int largest = std::min<int>(range.largest, largest_definite_order(device, scalar_of<C>, definite_scales_bytes));
  launch_ctas(setup_definite_kernel<C>, "setup", 32 * definite_warps(scalar_of<C>, largest), range.count,
              DefiniteScales<C>::bytes(largest) + CtaDefinite<C>::bytes(largest), stream, arguments, range.first,
              largest);
  return true;
}

/// Orders above largest_tiny_order that share a policy.
template <class C>
void launch_setup_large(SetupArguments<C> arguments, const SlotRange& range, CUstream_st* stream) {
  arguments.undecided_alone = launch_setup_definite(arguments, range, stream);
  if constexpr (!detail::Arithmetic<C>::is_complex)
    if (!arguments.undecided_alone && launch_setup_clusters(arguments, range, stream)) return;
  with_large_policy<setup_policy, scalar_of<C>>(range.largest, "setup", [&]<SetupPolicy policy>() {
    const int largest = range.largest;
    if constexpr (policy.design == SetupDesign::cta_plain) {
      setup_cta_plain_kernel<C>
          <<<static_cast<unsigned>(range.count), repair_threads, cta_block_bytes<C>(largest, 1), stream>>>(arguments,
                                                                                                           range.first);
      check_launch("setup");
    } else {
      constexpr int width = gauss_jordan_width(scalar_of<C>), threads = 32 * policy.warps;
      constexpr GaussJordanPlace place = place_of(policy.design);
      using Elimination = CtaGaussJordan<C, width, policy.warps>;
      constexpr auto bytes = [](int n) {
        return scales_bytes<C>(place, n) + Elimination::bytes(n, Elimination::Layout::of(n, {place, policy.stages}));
      };
      constexpr auto wanting = [](int n) {
        const auto staged = static_cast<std::size_t>(Elimination::Layout::of(n, {place, policy.stages}).staged);
        return CtaScales<C>::work_bytes(n) > staged * sizeof(C) ? SIZE_MAX : std::size_t{0};
      };
      static_assert(!lends_memory(place) || has_room<setup_policy, scalar_of<C>, policy>(wanting));
      static_assert(has_room<setup_policy, scalar_of<C>, policy>(bytes));
      launch_ctas(setup_cta_kernel<C, width, place, threads, policy.per_multiprocessor>, "setup", largest, range.count,
                  bytes(largest), stream, arguments, range.first, GaussJordanPolicy{place, policy.stages});
    }
  });
}

/// Columns that a thread block eliminates together with so many bytes of shared memory.
template <class C>
int widest_panel(index_t order, std::size_t limit) {
  int panel = repair_panel;
  while (panel > 1 && cta_block_bytes<C>(order, panel) > limit) panel /= 2;
  return panel;
}

/// For the blocks that launch_setup_large() counted as singular: those that are not, thoroughly equilibrated, get their
/// inverse.
template <class C>
void launch_setup_careful(const SetupArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  const auto kernel = setup_careful_kernel<C>;
  const int panel = widest_panel<C>(range.largest, allow_all_shared(kernel));
  const auto ctas = static_cast<unsigned>(std::min<offset_t>((offset_t{range.count} + 31) / 32, most_scratch_ctas));
  kernel<<<ctas, repair_threads, cta_block_bytes<C>(range.largest, panel), stream>>>(arguments, range, panel);
  check_launch("setup");
}

/// For the blocks that the kernels of launch_setup_tiny() left undecided.
template <class C>
void launch_setup_careful_tiny(const SetupArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  using Memory = CarefulTinyMemory<C>;
  constexpr auto kernel = setup_careful_tiny_kernel<C>;
  constexpr offset_t warps = Memory::threads / 32;
  allow_shared_memory(kernel, Memory::shared_bytes);
  const auto ctas = std::min<offset_t>((offset_t{range.count} + warps - 1) / warps,
                                       careful_tiny_ctas * current_device().multiprocessors);
  kernel<<<static_cast<unsigned>(ctas), Memory::threads, Memory::shared_bytes, stream>>>(arguments, range);
  check_launch("setup");
}

/// Blocks that are left undecided go to a second kernel.
template <class C>
void setup_blocks(const SetupArguments<C>& arguments, std::span<const BlockGroup> groups, CUstream_st* stream) {
  check(cudaMemsetAsync(arguments.defects, 0, 2 * sizeof(int), stream), "cudaMemsetAsync(defects)");
  const SlotRange tiny = slots_of_orders(groups, 0, largest_tiny_order);
  for_each_setup_run(current_device(), scalar_of<C>, groups, 0, largest_tiny_order,
                     [&](const SlotRange& range) { launch_setup_tiny(arguments, range, stream); });
  if (tiny.count > 0) launch_setup_careful_tiny(arguments, tiny, stream);
  const SlotRange large = slots_of_orders(groups, largest_tiny_order, max_block_size);
  for_each_setup_run(current_device(), scalar_of<C>, groups, largest_tiny_order, max_block_size,
                     [&](const SlotRange& range) { launch_setup_large(arguments, range, stream); });
  if (large.count > 0) launch_setup_careful(arguments, large, stream);
}

}  // namespace blockjacobi::kernels
