#pragma once

#include "kernels/apply/cta_staged_kernels.cuh"
#include "kernels/apply/cta_wide_kernels.cuh"
#include "kernels/apply/cta_wide_packed_kernels.cuh"
#include "kernels/apply/cta_wide_pieces_kernels.cuh"
#include "kernels/apply/lanes_kernels.cuh"
#include "kernels/launch/check.hpp"
#include "kernels/launch/grid.hpp"

#include <algorithm>
#include <numeric>

namespace blockjacobi::kernels {

/// Calls launch(plan) with the groups of which share(group), that of ApplyGroup, is not 0; ctas(count, share) are the
/// thread blocks of a group.
template <class Group, class Share, class Ctas, class Launch>
void for_each_plan(std::span<const Group> groups, Share share, Ctas ctas, Launch launch) {
  ApplyPlan plan;
  for (const Group& group : groups) {
    const int own = share(group);
    if (own == 0 || group.count == 0) continue;
    const ApplyGroup work{group.start, group.first_slot, group.first_row, group.count, 0, group.size, own};
    plan.add(work, ctas(group.count, own));
    if (!plan.is_full()) continue;
    launch(plan);
    plan = {};
  }
  if (plan.size > 0) launch(plan);
}

/// One format; the starts of the groups count bytes.
template <class C, detail::Format format, int K, class Blocks>
class Apply {
  using R = detail::arithmetic_real_t<C>;
  using Groups = std::span<const detail::StoredGroup>;

 public:
  Apply(const Blocks& blocks, const ApplyColumns<C>& arguments, CUstream_st* stream)
      : blocks_(blocks), arguments_(arguments), stream_(stream) {}

  void operator()(Groups groups) const {
    if (groups.size() == 1 && design_of(groups.front(), true) == ApplyDesign::lanes) return by_lanes(groups.front());
    offset_t lower = 0;
    for (const int upper : staged_apply_bounds) {
      staged(groups, lower, upper);
      lower = upper;
    }
    wide(groups);
  }

 private:
  ApplyPolicy policy_of(const detail::StoredGroup& group, bool one_order = false) const {
    const ApplyCase given{format, K, arguments_.op != Op::none, one_order};
    return apply_policy(current_device(), scalar_of<C>, group.size, given);
  }
  ApplyDesign design_of(const detail::StoredGroup& group, bool one_order = false) const {
    return policy_of(group, one_order).design;
  }

  static offset_t block_bytes(int n) { return detail::format_block_bytes(format, n, sizeof(R), sizeof(C) / sizeof(R)); }

  static offset_t vector_bytes(int n) { return static_cast<offset_t>(sizeof(C)) * n * K; }

  /// Shared memory of a thread block with so many blocks.
  static unsigned staged_bytes(int n, int blocks) {
    return staging_bytes(static_cast<unsigned>(blocks * block_bytes(n))) +
           K * staging_bytes(static_cast<unsigned>(blocks * vector_bytes(n) / K)) +
           static_cast<unsigned>(blocks * sizeof(index_t));
  }

  /// Blocks that are all of one order.
  void by_lanes([[maybe_unused]] const detail::StoredGroup& group) const {
    if constexpr (K == 1 && std::is_same_v<C, double> && detail::is_narrow(format)) {
      static_assert(
          [] {
            for (int n = 1; n <= largest_order; ++n)
              if (n != 8 && !(n == 12 && in_16_bits) &&
                  apply_policy(compiled_device, scalar_of<C>, n, {format, 1, false, true}).design == ApplyDesign::lanes)
                return false;
            return true;
          }(),
          "an order that the policy gives to lanes has no kernel here");
      constexpr const char* name = "apply_narrow_columns_kernel";
      constexpr int lanes = direct_apply_narrow_lanes;
      if (group.size == 8) return launch_direct<lanes>(apply_narrow_columns_kernel<format, 8, Blocks>, name, group);
      if constexpr (in_16_bits) launch_direct<lanes>(apply_narrow_columns_kernel<format, 12, Blocks>, name, group);
    }
  }

  template <int lanes, class Kernel>
  void launch_direct(Kernel* kernel, const char* name, const detail::StoredGroup& group) const {
    constexpr int blocks = direct_apply_threads / lanes;
    if (group.count == 0) return;
    const ApplyGroup work{group.start, group.first_slot, group.first_row, group.count, 0, group.size, blocks};
    kernel<<<(group.count - 1) / blocks + 1, direct_apply_threads, 0, stream_>>>(work, blocks_, arguments_);
    check_launch(name);
  }

  void staged(Groups groups, offset_t lower, offset_t upper) const {
    const auto is_mine = [&](const detail::StoredGroup& group) {
      const offset_t bytes = block_bytes(group.size);
      return design_of(group) == ApplyDesign::cta_staged && bytes > lower && bytes <= upper;
    };
    // All orders of a launch get the shared memory of the one that takes most: small ones must not take more than
    // others.
    const bool mixed = std::ranges::count_if(groups, is_mine) > 1;
    constexpr int part_bytes = detail::format_part_bytes(format, sizeof(R));
    const int most_rows = mixed ? staged_apply_mixed_rows : staged_apply_rows;
    // Blocks that a thread block has room for; 0 outside of the bounds.
    const auto room = [&](const detail::StoredGroup& group) -> offset_t {
      if (!is_mine(group)) return 0;
      const offset_t each = block_bytes(group.size) + vector_bytes(group.size);
      const bool medium = format == detail::Format::full && is_medium_order(group.size);
      const offset_t fit = std::min<offset_t>(staged_apply_bytes(K, part_bytes, sizeof(C), mixed, medium) / each,
                                              std::max(1, most_rows / group.size));
      // What a thread block writes had better be whole sectors of 32 bytes.
      const offset_t even = 32 / std::gcd(group.size * static_cast<int>(sizeof(C)), 32);
      if (fit >= even) return fit / even * even;
      return K == 1 && !mixed && even * each <= staged_apply_whole_sector_bytes ? even : std::max<offset_t>(1, fit);
    };
    offset_t full_ctas = 0;
    for (const detail::StoredGroup& group : groups)
      if (const offset_t blocks = room(group); blocks > 0) full_ctas += (group.count + blocks - 1) / blocks;
    unsigned shared = 0;
    const auto share = [&](const detail::StoredGroup& group) {
      const offset_t most = room(group), spread = std::max<offset_t>(1, most * full_ctas / staged_apply_least_ctas);
      const auto blocks = static_cast<int>(std::min(most, spread));
      if (blocks > 0) shared = std::max(shared, staged_bytes(group.size, blocks));
      return blocks;
    };
    const auto ctas = [](index_t count, int blocks) { return static_cast<unsigned>((count - 1) / blocks + 1); };
    for_each_plan(groups, share, ctas, [&](const ApplyPlan& plan) {
      const auto kernel = apply_staged_kernel<C, format, K, Blocks>;
      // why not `shared`: a launch recorded in a graph must not lose its right to a later, smaller one. What every
      // kernel may take beside its static shared memory is not asked for, which would be a tenth of a launch.
      if (shared > 40 << 10) allow_shared_memory(kernel, staged_apply_most_shared);
      kernel<<<plan.ctas, staged_apply_threads, shared, stream_>>>(plan, blocks_, arguments_);
      check_launch("apply_staged_kernel");
    });
  }

  static constexpr bool real = std::is_same_v<C, R>;
  static constexpr bool is_packed = format == detail::Format::packed;
  static constexpr bool in_16_bits = detail::format_part_bytes(format, sizeof(R)) == 2;

  void wide(Groups groups) const {
    if constexpr (K == 1 && is_packed) {
      wide_packed<packed_apply_rows>(groups);
      wide_packed<largest_order>(groups);
    } else {
      const bool by_columns = !is_packed && arguments_.op != Op::none;
      if constexpr (K == 1 && real && in_16_bits) wide_pieces(groups);
      const auto share = [this](const detail::StoredGroup& group) {
        return design_of(group) == ApplyDesign::cta_wide ? (group.size - 1) / wide_apply_rows + 1 : 0;
      };
      launch(
          by_columns ? apply_wide_kernel<C, format, K, true, Blocks> : apply_wide_kernel<C, format, K, false, Blocks>,
          "apply_wide_kernel", wide_apply_shared(K, by_columns) * sizeof(C), groups, share);
    }
  }

  /// Blocks for which the policy wants thread blocks of so many rows.
  template <int rows>
  void wide_packed(Groups groups) const {
    constexpr int M = rows / 32;
    const auto share = [this](const detail::StoredGroup& group) {
      const ApplyPolicy policy = policy_of(group);
      return policy.design == ApplyDesign::cta_wide_packed && policy.rows == rows ? 1 : 0;
    };
    launch(apply_wide_packed_kernel<C, M, Blocks>, "apply_wide_packed_kernel", wide_packed_shared<C, M>(), groups,
           share);
  }

  void wide_pieces(Groups groups) const {
    const auto share = [this](const detail::StoredGroup& group) {
      return design_of(group) == ApplyDesign::cta_wide_pieces ? (group.size - 1) / narrow_apply_rows + 1 : 0;
    };
    launch(apply_wide_pieces_kernel<C, format, Blocks>, "apply_wide_pieces_kernel", 0, groups, share);
  }

  /// share(group) thread blocks a block.
  template <class Kernel, class Share>
  void launch(Kernel* kernel, const char* name, unsigned shared, Groups groups, Share share) const {
    const auto ctas = [](index_t count, int own) { return static_cast<unsigned>(offset_t{count} * own); };
    for_each_plan(groups, share, ctas, [&](const ApplyPlan& plan) {
      allow_shared_memory(kernel, shared);
      kernel<<<plan.ctas, wide_apply_threads, shared, stream_>>>(plan, blocks_, arguments_);
      check_launch(name);
    });
  }

  Blocks blocks_;
  ApplyColumns<C> arguments_;
  CUstream_st* stream_;
};

template <class C, detail::Format format, class Blocks>
void apply_format(const Blocks& blocks, std::span<const detail::StoredGroup> groups, const ApplyColumns<C>& arguments,
                  CUstream_st* stream) {
  if (arguments.r.count == 1)
    Apply<C, format, 1, Blocks>(blocks, arguments, stream)(groups);
  else
    Apply<C, format, apply_columns_at_once, Blocks>(blocks, arguments, stream)(groups);
}

}  // namespace blockjacobi::kernels
