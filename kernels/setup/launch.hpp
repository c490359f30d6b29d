#pragma once

#include "core/shared/macros.hpp"
#include "core/shared/position_map.hpp"
#include "core/shared/singular_rule.hpp"
#include "kernels/scratch.hpp"

#include <blockjacobi/views.hpp>

#include <climits>
#include <span>

struct CUstream_st;

// Conventions of launchers: kernels/launch.hpp.
namespace blockjacobi::kernels {

/// info of a block about which setup_careful_tiny_kernel() decides: its inverse is there, and the condition tells that
/// it may be singular; or of one that a later kernel of the set-up inverts.
inline constexpr int info_suspect = INT_MAX - 1;
inline constexpr int info_undecided = INT_MAX;

/// What the set-up of a batch reads and writes. The outcome goes by block number.
template <class C>
struct SetupArguments {
  const C* values;
  detail::PositionMapView map;
  C* inverse;
  const BlockSlot* slots;  ///< sorted by order
  detail::Fallback fallback;
  bool hermitian;  ///< the matrix is
  int* info;
  detail::arithmetic_real_t<C>* rcond;
  int* defects;  ///< defect_words of them: a counter and the following
  int defect_words;
  bool undecided_alone = false;  ///< of the large blocks those whose info is info_undecided

  /// How many blocks the fast kernels left undecided, and the slots of the first of them.
  BLOCKJACOBI_HD int* undecided() const { return defects + 1; }
  BLOCKJACOBI_HD int most_noted() const { return defect_words - 2; }
  BLOCKJACOBI_HD bool is_decided(offset_t slot) const {
    return undecided_alone && info[slots[slot].block] != info_undecided;
  }
};

/// Extracts, equilibrates, inverts and stores every block. `groups` lies on the host.
template <class C>
void setup_blocks(const SetupArguments<C>& arguments, std::span<const BlockGroup> groups, CUstream_st* stream);

/// What pivot growth is found from; the outcome goes by block number.
template <class C>
struct GrowthArguments {
  const C* values;
  detail::PositionMapView map;
  C* work;                 ///< place of the blocks
  const BlockSlot* slots;  ///< sorted by order
  detail::arithmetic_real_t<C>* growth;
};

/// Extracts and equilibrates every block; growth = its largest element, NaN for a block with NaN or Inf.
template <class C>
void extract_equilibrated(const GrowthArguments<C>& arguments, std::span<const BlockGroup> groups, CUstream_st* stream);

/// Once LU factors have taken the place of the blocks: growth = growth_between(growth, largest element of U).
template <class C>
void growth_of_factors(const GrowthArguments<C>& arguments, std::span<const BlockGroup> groups, CUstream_st* stream);

/// See BlockOps::repair(); `arguments` are those of setup_blocks().
template <class C>
void repair_blocks(const SetupArguments<C>& arguments, detail::Repair repair,
                   const detail::arithmetic_real_t<C>* rounding_scales, std::span<const BlockGroup> groups,
                   const ScratchView<C>& scratch, CUstream_st* stream);

/// *defects = the blocks whose info is not 0.
void count_defects(const int* info, index_t blocks, int* defects, CUstream_st* stream);

}  // namespace blockjacobi::kernels
