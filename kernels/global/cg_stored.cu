#include "kernels/global/cg_update.cuh"
#include "kernels/global/stored_elements.cuh"
#include "kernels/launch_storage.hpp"

namespace blockjacobi::kernels {

namespace {

using detail::Format;
using StoredTasks = BlockTasks<std::byte, detail::StoredSlot>;

template <class C>
inline constexpr int pieces_at_once = cg_update_pieces(sizeof(C));
template <class C>
inline constexpr int columns_at_once = cg_update_columns(sizeof(C), detail::Arithmetic<C>::is_complex);

/// Adds up s over the V lanes of a warp that are `distance` apart; lane v of them gets element v of the sum.
template <int V, class C>
__device__ C deal_out_sum(C (&s)[V], int v, int distance) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int half = V / 2; half > 0; half /= 2) {
    const bool upper = (v & half) != 0;
#pragma unroll
    for (int i = 0; i < V / 2; ++i) {
      if (i >= half) break;
      const C kept = upper ? s[i + half] : s[i], given = upper ? s[i] : s[i + half];
      s[i] = kept + broadcast_within(given, lane ^ (half * distance), 32);
    }
  }
  return s[0];
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
    const int across = own.width / V, rank = V * (own.rank & (across - 1)) + own.rank / across;
    own.row += rank - own.rank;
    own.rank = rank;
    own.exists = rank < own.order;
    return own;
  }

  __device__ C product(const OwnRow& own, C r) const {
    constexpr int K = pieces_at_once<C>;
    using Elements = StoredElements<C, format>;
    const Elements x(tasks.inverse + own.start, own.exists ? exponents[own.slot] : 0);
    const int steps = tasks.order / V, across = own.width / V, g = own.rank % V;
    C sum[V] = {};
    for (int first = 0; first < steps; first += K) {
      typename Elements::template Piece<V> pieces[K] = {};
#pragma unroll
      for (int k = 0; k < K; ++k)
        if (own.exists && first + k < steps)
          pieces[k] = x.template load_piece<V>(own.rank - g + (V * (first + k) + g) * tasks.order);
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const C factor = broadcast_within(r, first + k + g * across, own.width);
        if (first + k >= steps) continue;
#pragma unroll
        for (int v = 0; v < V; ++v) sum[v] += x.widened(pieces[k], v) * factor;
      }
    }
    return x.scaled(deal_out_sum(sum, g, across));
  }
};

/// Blocks of any orders, an element a lane.
template <class C, Format format>
struct PieceRows<C, format, 1> {
  const StoredTasks& tasks;
  const std::int16_t* exponents;

  __device__ OwnRow row(offset_t task) const { return own_row(tasks, task); }
  __device__ C product(const OwnRow& own, C r) const {
    const StoredElements<C, format> x(tasks.inverse + own.start, own.exists ? exponents[own.slot] : 0);
    return own.product<columns_at_once<C>>(x, r);
  }
};

/// cg_update_kernel for blocks that are all in one narrow format.
template <class C, Format format, int V>
__global__ void __launch_bounds__(cg_update_policy.threads, cg_update_policy.resident)
    cg_update_stored_kernel(const StoredTasks tasks, const std::int16_t* exponents, const CgVectors<C> v,
                            detail::CgState<C>* state, const ReductionWorkspace workspace) {
  update_by_blocks(PieceRows<C, format, V>{tasks, exponents}, tasks.warps, v, state, workspace);
}

/// Elements of a piece: up to 16 bytes that the order is a multiple of; 1 if there are none.
template <class C, Format format, class Use>
void with_piece(int order, Use use) {
  constexpr int most = 16 / static_cast<int>(sizeof(typename StoredElements<C, format>::Stored));
  if (order > 0 && order % most == 0) return use(std::integral_constant<int, most>{});
  if constexpr (most > 4)
    if (order > 0 && order % 4 == 0) return use(std::integral_constant<int, 4>{});
  use(std::integral_constant<int, 1>{});
}

template <class C, Format format>
void launch_update(const std::byte* data, const detail::StoredSlot* slots, const std::int16_t* exponents,
                   std::span<const detail::StoredGroup> groups, const CgVectors<C>& v, detail::CgState<C>* state,
                   const ReductionWorkspace& workspace, CUstream_st* stream) {
  using R = detail::arithmetic_real_t<C>;
  const auto tasks = make_tasks(data, slots, groups, [](int n) {
    return detail::format_block_bytes(format, n, sizeof(R), sizeof(C) / sizeof(R));
  });
  with_piece<C, format>(tasks.order, [&]<int V>(std::integral_constant<int, V>) {
    cg_update_stored_kernel<C, format, V>
        <<<update_blocks(tasks.warps), cg_update_policy.threads, 0, stream>>>(tasks, exponents, v, state, workspace);
  });
  check_launch("cg_update_stored_kernel");
}

}  // namespace

bool are_tiny_of_one_narrow_format(std::span<const detail::StoredGroup> groups) {
  return std::ranges::all_of(groups, [&](const detail::StoredGroup& group) {
    return detail::is_narrow(group.format) && group.format == groups.front().format && group.size <= largest_tiny_order;
  });
}

template <class C>
void cg_update(const std::byte* data, const detail::StoredSlot* slots, const std::int16_t* exponents,
               std::span<const detail::StoredGroup> groups, const CgVectors<C>& v, detail::CgState<C>* state,
               const ReductionWorkspace& workspace, CUstream_st* stream) {
  const Format format = groups.empty() ? Format::bf16 : groups.front().format;
  if (format == Format::bf16)
    return launch_update<C, Format::bf16>(data, slots, exponents, groups, v, state, workspace, stream);
  if (format == Format::fp16)
    return launch_update<C, Format::fp16>(data, slots, exponents, groups, v, state, workspace, stream);
  // fp32 is the full format of single precision.
  if constexpr (sizeof(detail::arithmetic_real_t<C>) > sizeof(float))
    launch_update<C, Format::fp32>(data, slots, exponents, groups, v, state, workspace, stream);
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                        \
  template void cg_update(const std::byte*, const detail::StoredSlot*, const std::int16_t*,               \
                          std::span<const detail::StoredGroup>, const CgVectors<C>&, detail::CgState<C>*, \
                          const ReductionWorkspace&, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
