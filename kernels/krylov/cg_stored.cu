#include "kernels/collectives/deal_out.cuh"
#include "kernels/krylov/cg_update.cuh"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/launch/dependent.cuh"
#include "kernels/launch/grid.hpp"
#include "kernels/storage/elements.cuh"

namespace blockjacobi::kernels {

namespace {

using detail::Format;
using StoredTasks = BlockTasks<std::byte, detail::StoredSlot>;

template <class C>
inline constexpr int pieces_at_once = cg_update_pieces(sizeof(C));
template <class C>
inline constexpr int columns_at_once = cg_update_columns(detail::Arithmetic<C>::is_complex);

template <class C, Format format>
__device__ void fetch_stored_block(const OwnRow& own, const StoredTasks& tasks) {
  using R = detail::arithmetic_real_t<C>;
  const auto bytes = detail::format_block_bytes(format, own.order, sizeof(R), sizeof(C) / sizeof(R));
  fetch_block(own, tasks.inverse + own.start, static_cast<int>(bytes));
}

/// Blocks of one order, a multiple of V, in pieces of V elements of a column: fewer loads and shuffles than with an
/// element a lane. Of the `width` lanes that have a block, lane p + g width / V reads the rows V p .. V p + V - 1 of
/// the columns g, g + V, .. and has row V p + g of the vectors.
template <class C, Format format, int V>
struct PieceRows {
  const StoredTasks& tasks;
  const std::int16_t* exponents;

  __device__ OwnRow row(offset_t task) const {
    OwnRow own = own_row(tasks, task);
    const int lanes = own.width / V, rank = V * (own.rank & (lanes - 1)) + own.rank / lanes;
    own.row += rank - own.rank;
    own.rank = rank;
    own.exists = rank < own.order;
    return own;
  }
  __device__ void fetch(const OwnRow& own) const { fetch_stored_block<C, format>(own, tasks); }

  __device__ C product(const OwnRow& own, C r) const {
    constexpr int K = pieces_at_once<C>;
    using Elements = StoredElements<C, format>;
    const Elements x(tasks.inverse + own.start, own.exists ? exponents[own.slot] : 0);
    const int steps = tasks.order / V, lanes = own.width / V, g = own.rank % V;
    C sum[V] = {};
    for (int first = 0; first < steps; first += K) {
      typename Elements::template Piece<V> pieces[K] = {};
#pragma unroll
      for (int k = 0; k < K; ++k)
        if (own.exists && first + k < steps)
          pieces[k] = x.template load_piece<V>(own.rank - g + (V * (first + k) + g) * tasks.order);
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const C factor = broadcast_within(r, first + k + g * lanes, own.width);
        if (first + k >= steps) continue;
#pragma unroll
        for (int v = 0; v < V; ++v) sum[v] += x.widened(pieces[k], v) * factor;
      }
    }
    sum_and_deal_out<V>(sum, g, lanes);
    return x.scaled(sum[0]);
  }
};

/// Blocks of any orders, an element a lane.
template <class C, Format format>
struct ElementRows {
  const StoredTasks& tasks;
  const std::int16_t* exponents;

  __device__ OwnRow row(offset_t task) const { return own_row(tasks, task); }
  __device__ void fetch(const OwnRow& own) const { fetch_stored_block<C, format>(own, tasks); }
  __device__ C product(const OwnRow& own, C r) const {
    const StoredElements<C, format> x(tasks.inverse + own.start, own.exists ? exponents[own.slot] : 0);
    return own.product<columns_at_once<C>>(x, r);
  }
};

template <class C, Format format, int V>
using StoredRows = std::conditional_t<V == 1, ElementRows<C, format>, PieceRows<C, format, V>>;

/// cg_update_kernel for blocks that are all in one narrow format.
template <class C, Format format, int V>
__global__ void __launch_bounds__(over_blocks_policy.threads, over_blocks_policy.per_multiprocessor)
    cg_update_stored_kernel(const StoredTasks tasks, const std::int16_t* exponents, const CgVectors<C> v,
                            detail::CgState<C>* state, const ReductionWorkspace workspace) {
  update_by_blocks(StoredRows<C, format, V>{tasks, exponents}, v, state, workspace);
}

/// With the elements of a piece that cg_update_policy() has for the format.
template <class C, Format format, class Use>
void with_piece(int piece, Use use) {
  constexpr int most = 16 / static_cast<int>(sizeof(typename StoredElements<C, format>::Stored));
  if (piece == most) return use(std::integral_constant<int, most>{});
  if constexpr (format == Format::fp32)
    use(std::integral_constant<int, 1>{});
  else if constexpr (most > cg_update_narrow_piece)
    use(std::integral_constant<int, cg_update_narrow_piece>{});
}

template <class C, Format format>
void launch_update(const detail::StoredBlocksView& inverse, int piece, const CgVectors<C>& v, detail::CgState<C>* state,
                   const ReductionWorkspace& workspace, CUstream_st* stream) {
  using R = detail::arithmetic_real_t<C>;
  const auto tasks = make_tasks(inverse.data, inverse.slots, inverse.groups, [](int n) {
    return detail::format_block_bytes(format, n, sizeof(R), sizeof(C) / sizeof(R));
  });
  with_piece<C, format>(piece, [&]<int V>(std::integral_constant<int, V>) {
    launch_dependent(cg_update_stored_kernel<C, format, V>, "cg_update_stored_kernel",
                     {over_blocks_ctas(tasks.warps), over_blocks_policy.threads}, stream, tasks, inverse.exponents, v,
                     state, workspace);
  });
}

}  // namespace

CgUpdatePolicy cg_update_policy(ScalarType scalar, int n, const CgUpdateCase& given) {
  return cg_update_policy(current_device(), scalar, n, given);
}

CgUpdatePolicy cg_update_policy(ScalarType scalar, std::span<const detail::StoredGroup> groups) {
  CgUpdateCase given{.known = !groups.empty() && detail::is_narrow(groups.front().format),
                     .one_order = groups.size() == 1};
  index_t largest = 0;
  for (const detail::StoredGroup& group : groups) {
    given.format = groups.front().format;
    given.known = given.known && group.format == given.format;
    largest = std::max(largest, group.size);
  }
  return cg_update_policy(scalar, largest, given);
}

template <class C>
void cg_update(const detail::StoredBlocksView& inverse, int piece, const CgVectors<C>& v, detail::CgState<C>* state,
               const ReductionWorkspace& workspace, CUstream_st* stream) {
  detail::with_format(inverse.groups.front().format, [&]<Format format>(detail::FormatTag<format>) {
    if constexpr (detail::is_narrow(format) && detail::is_format_of(format, sizeof(detail::arithmetic_real_t<C>)))
      launch_update<C, format>(inverse, piece, v, state, workspace, stream);
  });
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                        \
  template void cg_update(const detail::StoredBlocksView&, int, const CgVectors<C>&, detail::CgState<C>*, \
                          const ReductionWorkspace&, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
