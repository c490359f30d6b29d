#pragma once

#include "backend/host_storage_ops.hpp"

#include "backend/host_apply.hpp"
#include "backend/host_extract.hpp"
#include "backend/host_slots.hpp"

namespace blockjacobi::detail {

/// Below this, waking threads costs more than it saves.
inline constexpr index_t smallest_parallel_apply = 4096;  // rows

template <Scalar T>
offset_t HostStorageOps<T>::scratch_size(index_t largest, index_t) const {
  constexpr offset_t most = (offset_t{32} << 20) / static_cast<offset_t>(sizeof(T));
  const offset_t own = std::max<offset_t>(1, scratch_of_thread(largest));
  return own * std::clamp<offset_t>(most / own, 1, threads_);
}

/// ||I - A X|| with X as `format` stores it; scratch for two blocks, of which the first holds A.
template <class C>
double stored_residual(Format format, const C* x, int n, C* scratch) {
  using R = arithmetic_real_t<C>;
  C* const decoded = scratch + n * n;
  const int exponent = block_exponent(format, x, n), count = n * parts_of<C>;
  alignas(C) std::array<std::byte, max_block_size * sizeof(C)> column;
  for (int j = 0; j < n; ++j) {
    encode_parts(format, reinterpret_cast<const R*>(x + j * n), count, exponent, column.data());
    decode_parts(format, column.data(), count, exponent, reinterpret_cast<R*>(decoded + j * n));
  }
  return static_cast<double>(right_residual(scratch, decoded, n));
}

template <Scalar T>
void HostStorageOps<T>::choose_formats(const C* values, const PositionMapView& map, const BlockBatchView<C>& work,
                                       double accuracy, const BlockStatusView<T>& status, const ScratchView<C>& scratch,
                                       Format* formats) {
  for_each_slot(work, scratch, threads_, [&](const BlockSlot& slot, offset_t s, C* a) {
    formats[s] = Format::full;
    if (status.info[slot.block] != 0) return;
    extract_block(values, map, s, slot.size, a);
    for (int k = 0; k < narrow_formats; ++k) {
      const Format format = narrow_format(k);
      if (!is_format_of(format, sizeof(real_t<T>))) continue;
      if (!(stored_residual(format, work.data + slot.start, slot.size, a) < accuracy)) continue;
      formats[s] = format;
      return;
    }
  });
}

template <Scalar T>
void HostStorageOps<T>::store(const C* values, const PositionMapView& map, const BlockBatchView<C>& work,
                              const StoredBlocksView& stored, double accuracy, const BlockStatusView<T>& status,
                              const StorageStatusView& unsuited, const ScratchView<C>& scratch) {
  for_each_slot(work, scratch, threads_, [&](const BlockSlot& slot, offset_t s, C* a) {
    const offset_t place = stored.place != nullptr ? stored.place[s] : s;
    const Format format = stored.formats != nullptr ? stored.formats[s] : stored.format;
    const C* const x = work.data + slot.start;
    bool suits = true;
    if (format == Format::packed) {
      extract_block(values, map, s, slot.size, a);
      suits = status.info[slot.block] < 0 || is_hermitian(a, slot.size);
    } else if (is_narrow(format)) {
      suits = !loses_a_line(format, x, slot.size);
      if (suits && accuracy > 0 && status.info[slot.block] == 0) {
        extract_block(values, map, s, slot.size, a);
        suits = stored_residual(format, x, slot.size, a) < accuracy;
      }
    }
    stored.exponents[place] =
        static_cast<std::int16_t>(encode_block(format, x, slot.size, stored.data + stored.slots[place].start));
    if (suits) return;
#pragma omp critical(blockjacobi_unsuited)
    {
      ++*unsuited.unsuited;
      *unsuited.first_from_end = std::max(*unsuited.first_from_end, unsuited.blocks - slot.block);
    }
  });
}

/// Calls apply<op>() for that op; T^T and T^H are the same for real numbers.
template <class C, class Apply>
void with_op(Op op, Apply&& apply) {
  if (op == Op::none) return apply.template operator()<Op::none>();
  if (op == Op::transpose || parts_of<C> == 1) return apply.template operator()<Op::transpose>();
  if constexpr (parts_of<C> == 2) apply.template operator()<Op::conjugate_transpose>();
}

/// z = alpha op(X) r + beta z for the blocks of one group, dealt out to the threads of the team.
// why: a function of its own, since clang 14 refuses what a lambda within the parallel region captures.
template <class Apply, class Group, class FormatOf, class Source>
void apply_group(Apply& apply, const Group& group, FormatOf& format_of, Source& source) {
  with_fixed_size(group.size, [&](auto fixed) {
#pragma omp for schedule(static) nowait
    for (index_t b = 0; b < group.count; ++b)
      apply.template run<fixed()>(format_of(group), group.size, source(group, b));
  });
}

/// `source(group, b)` is the b-th block of a group.
template <class C, class Groups, class FormatOf, class Source>
void apply_host_blocks(const Groups& groups, index_t rows, [[maybe_unused]] int threads, Op op, C alpha,
                       const ColumnsView<const C>& r, C beta, const ColumnsView<C>& z, FormatOf format_of,
                       Source source) {
  const offset_t work = offset_t{rows} * r.count;
  with_op<C>(op, [&]<Op o>() {
#pragma omp parallel num_threads(threads) if (work > smallest_parallel_apply)
    {
      BlockApply<C, o> apply(alpha, r, beta, z);
      for (const auto& group : groups) apply_group(apply, group, format_of, source);
    }
  });
}

template <Scalar T>
void HostStorageOps<T>::apply(const BlockBatchView<const C>& inverse, Op op, C alpha, const ColumnsView<const C>& r,
                              C beta, const ColumnsView<C>& z) {
  apply_host_blocks(
      inverse.groups, inverse.rows, threads_, op, alpha, r, beta, z, [](const BlockGroup&) { return Format::full; },
      [&](const BlockGroup& group, index_t b) {
        const BlockSlot& slot = inverse.slots[group.first_slot + b];
        return BlockSource{reinterpret_cast<const std::byte*>(inverse.data + slot.start), slot.first_row, 0};
      });
}

template <Scalar T>
void HostStorageOps<T>::apply(const StoredBlocksView& inverse, Op op, C alpha, const ColumnsView<const C>& r, C beta,
                              const ColumnsView<C>& z) {
  apply_host_blocks(
      inverse.groups, inverse.rows, threads_, op, alpha, r, beta, z,
      [](const StoredGroup& group) { return group.format; },
      [&](const StoredGroup& group, index_t b) {
        const index_t s = group.first_slot + b;
        return BlockSource{inverse.data + inverse.slots[s].start, inverse.slots[s].first_row, inverse.exponents[s]};
      });
}

}  // namespace blockjacobi::detail
