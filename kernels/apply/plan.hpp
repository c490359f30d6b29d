#pragma once

#include <blockjacobi/views.hpp>

namespace blockjacobi::kernels {

/// Consecutive blocks of one order and format as a thread block of an apply finds them.
struct ApplyGroup {
  offset_t start;  ///< first byte
  index_t first_slot;
  index_t first_row;  ///< as in BlockGroup
  index_t count;
  unsigned first_cta;  ///< thread block
  int order;
  int share;  ///< blocks a thread block, or thread blocks a block
};

/// The work of one launch, a kernel parameter: groups of all orders together, so that small groups do not leave the
/// device idle one after the other. (Groups that advance side by side instead of one after the other were slower for
/// orders in random sequence: 61 against 77 % of the copy bandwidth for 1 to 32 in d.)
struct ApplyPlan {
  static constexpr int most = 90;  // 4 KB of parameters

  ApplyGroup groups[most];
  int size = 0;
  unsigned ctas = 0;

  bool is_full() const { return size == most; }
  void add(ApplyGroup group, unsigned group_ctas) {
    group.first_cta = ctas;
    groups[size++] = group;
    ctas += group_ctas;
  }

#ifdef __CUDACC__
  __device__ const ApplyGroup& group_of(unsigned cta) const {
    int low = 0;
    for (int high = size; high - low > 1;) {
      const int middle = (low + high) / 2;
      (groups[middle].first_cta <= cta ? low : high) = middle;
    }
    return groups[low];
  }
#endif
};

}  // namespace blockjacobi::kernels
