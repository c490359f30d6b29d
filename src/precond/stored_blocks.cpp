#include "precond/stored_blocks.hpp"
#include "backend/backend_impl.hpp"
#include "backend/host_convert.hpp"
#include "core/shared/compute_type.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace blockjacobi::detail {

namespace {

constexpr offset_t group_alignment = 128;  // bytes

offset_t round_up(offset_t value, offset_t multiple) { return (value + multiple - 1) / multiple * multiple; }

std::size_t index(offset_t i) { return static_cast<std::size_t>(i); }

}  // namespace

StoredLayout make_stored_layout(const BlockLayout& layout, std::span<const Format> formats, int real_bytes, int parts) {
  const auto slots = layout.slots();
  const auto format_of = [&](index_t s) { return formats.size() == 1 ? formats[0] : formats[index(s)]; };
  std::vector<index_t> order(slots.size());
  std::iota(order.begin(), order.end(), 0);
  // Slots are sorted by order already.
  std::ranges::stable_sort(order, {}, format_of);

  StoredLayout stored;
  stored.slots.resize(slots.size());
  stored.place.resize(slots.size());
  offset_t end = 0;
  for (index_t p = 0; p < layout.blocks(); ++p) {
    const index_t s = order[index(p)];
    const BlockSlot& slot = slots[index(s)];
    if (stored.groups.empty() || stored.groups.back().format != format_of(s) ||
        stored.groups.back().size != slot.size) {
      end = round_up(end, group_alignment);
      stored.groups.push_back({format_of(s), slot.size, 0, p, -1, end});
    }
    ++stored.groups.back().count;
    stored.slots[index(p)] = {end, slot.first_row, slot.size};
    stored.place[index(s)] = p;
    end += format_block_bytes(format_of(s), slot.size, real_bytes, parts);
  }
  for (StoredGroup& group : stored.groups) {
    const index_t first = stored.slots[index(group.first_slot)].first_row;
    const index_t last = stored.slots[index(group.first_slot + group.count - 1)].first_row;
    if (last - first == (group.count - 1) * group.size) group.first_row = first;
  }
  stored.bytes = index(end);
  return stored;
}

SetupChunks make_setup_chunks(const BlockLayout& layout, std::size_t scalar_bytes, std::size_t chunk_bytes) {
  const offset_t capacity = static_cast<offset_t>(chunk_bytes / scalar_bytes);
  const offset_t alignment = group_alignment / static_cast<offset_t>(scalar_bytes);
  SetupChunks chunks;
  chunks.slots.assign(layout.slots().begin(), layout.slots().end());
  offset_t end = 0;
  for (const BlockGroup& group : layout.groups()) {
    const offset_t block = offset_t{group.size} * group.size;
    for (index_t done = 0; done < group.count;) {
      end = round_up(end, alignment);
      if (chunks.groups.empty() || (end > 0 && end + block > capacity)) {
        chunks.groups.emplace_back();
        end = 0;
      }
      const auto fits = static_cast<index_t>(std::clamp<offset_t>((capacity - end) / block, 1, group.count - done));
      const index_t first = group.first_slot + done;
      chunks.groups.back().push_back({group.size, fits, first, -1, end});
      for (index_t s = first; s < first + fits; ++s, end += block) chunks.slots[index(s)].start = end;
      chunks.size = std::max(chunks.size, end);
      done += fits;
    }
  }
  return chunks;
}

template <Scalar T>
bool StoredBlocks<T>::keeps_full(const Backend& backend, const BlockLayout& layout) {
  return krylov_ops<T>(backend).reads_in_full(layout.groups(), layout.rows());
}

template <Scalar T>
SetupChunks StoredBlocks<T>::chunks_of(const Backend& backend, const BlockLayout& layout) {
  const std::size_t all = std::numeric_limits<std::size_t>::max();
  return make_setup_chunks(layout, sizeof(T),
                           keeps_full(backend, layout) ? all : storage_ops<T>(backend).chunk_bytes());
}

template <Scalar T>
StoredBlocks<T>::StoredBlocks(const Backend& backend, const BlockLayout& layout, Format format)
    : StoredBlocks(backend, layout, format, 0.0) {}

template <Scalar T>
StoredBlocks<T>::StoredBlocks(const Backend& backend, const BlockLayout& layout, double accuracy)
    : StoredBlocks(backend, layout, std::nullopt, accuracy) {}

template <Scalar T>
StoredBlocks<T>::StoredBlocks(const Backend& backend, const BlockLayout& layout, std::optional<Format> format,
                              double accuracy)
    : backend_(backend),
      layout_(layout),
      format_(format.value_or(Format::full)),
      accuracy_(accuracy),
      keeps_full_(keeps_full(backend, layout)),
      setup_slots_(backend, layout.slots().size()),
      work_(backend, 0),
      data_(backend, 0),
      slots_(backend, 0),
      exponents_(backend, layout.slots().size()),
      place_(backend, 0),
      formats_(backend, format ? 0 : layout.slots().size()),
      unsuited_(backend, 2) {
  SetupChunks chunks = chunks_of(backend, layout);
  setup_slots_.copy_from_host(chunks.slots.data());
  work_ = Array<T>(backend, index(chunks.size));
  chunks_ = std::move(chunks.groups);
  exponents_.zero();
  unsuited_.zero();
  if (format) allocate(layout, std::span(&*format, 1));
}

template <Scalar T>
void StoredBlocks<T>::allocate(const BlockLayout& layout, std::span<const Format> formats) {
  const StoredLayout stored = make_stored_layout(layout, formats, sizeof(real_t<T>), is_complex<T> ? 2 : 1);
  // The old memory goes before the new comes.
  data_ = Array<std::byte>(backend_, 0);
  data_ = Array<std::byte>(backend_, stored.bytes);
  if (slots_.size() != stored.slots.size()) slots_ = Array<StoredSlot>(backend_, stored.slots.size());
  slots_.copy_from_host(stored.slots.data());
  if (is_adaptive()) {
    if (place_.size() != stored.place.size()) place_ = Array<index_t>(backend_, stored.place.size());
    place_.copy_from_host(stored.place.data());
  }
  groups_ = stored.groups;
}

template <Scalar T>
auto StoredBlocks<T>::chunk(const std::vector<BlockGroup>& groups) const -> BlockBatchView<C> {
  return {compute_cast(work_.data()), setup_slots_.data(), groups,
          layout_.blocks(),           layout_.rows(),      backend_.memory_space()};
}

template <Scalar T>
StoredBlocksView StoredBlocks<T>::view() const {
  return {data_.data(),
          slots_.data(),
          exponents_.data(),
          groups_,
          is_adaptive() ? place_.data() : nullptr,
          format_,
          is_adaptive() ? formats_.data() : nullptr,
          layout_.rows()};
}

template <Scalar T>
auto StoredBlocks<T>::full() const -> std::optional<BlockBatchView<const C>> {
  if (!keeps_full_ || chunks_.empty()) return std::nullopt;
  return chunk(chunks_.front());
}

template <Scalar T>
std::size_t StoredBlocks<T>::bytes() const {
  return setup_slots_.bytes() + work_.bytes() + data_.bytes() + slots_.bytes() + exponents_.bytes() + place_.bytes() +
         formats_.bytes() + unsuited_.bytes();
}

template <Scalar T>
std::size_t inverse_bytes_bound(const BlockLayout& layout, std::optional<Format> format) {
  if (format) {
    // As make_stored_layout() places them, without a look at each block.
    offset_t end = 0;
    for (const BlockGroup& group : layout.groups())
      end = round_up(end, group_alignment) +
            group.count * format_block_bytes(*format, group.size, sizeof(real_t<T>), is_complex<T> ? 2 : 1);
    return index(end);
  }
  // Each order has at most one group of each narrow format and of the full one, the start of which is padded.
  return index(layout.size()) * sizeof(T) +
         narrow_formats * layout.groups().size() * static_cast<std::size_t>(group_alignment);
}

template <Scalar T>
std::size_t StoredBlocks<T>::bytes_bound(const Backend& backend, const BlockLayout& layout,
                                         std::optional<Format> format) {
  const auto blocks = static_cast<std::size_t>(layout.blocks());
  const std::size_t work = index(chunks_of(backend, layout).size) * sizeof(T);
  return inverse_bytes_bound<T>(layout, format) + work +
         blocks * (sizeof(BlockSlot) + sizeof(StoredSlot) + sizeof(std::int16_t)) + 2 * sizeof(int) +
         (format ? 0 : blocks * (sizeof(index_t) + sizeof(Format)));
}

template <Scalar T>
std::vector<T> StoredBlocks<T>::block(offset_t slot) const {
  const index_t p = is_adaptive() ? place_.to_host()[index(slot)] : static_cast<index_t>(slot);
  StoredSlot stored;
  std::int16_t exponent = 0;
  backend_.impl().copy_to_host(&stored, slots_.data() + p, sizeof(stored));
  backend_.impl().copy_to_host(&exponent, exponents_.data() + p, sizeof(exponent));
  const auto group = std::ranges::find_if(groups_, [p](const StoredGroup& g) { return p < g.first_slot + g.count; });
  const int n = stored.size, parts = is_complex<T> ? 2 : 1;
  std::vector<std::byte> bytes(index(format_block_bytes(group->format, n, sizeof(real_t<T>), parts)));
  backend_.impl().copy_to_host(bytes.data(), data_.data() + stored.start, bytes.size());
  std::vector<T> widened(index(n) * index(n));
  auto* const x = compute_cast(widened.data());
  if (group->format != Format::packed) {
    decode_columns(group->format, bytes.data(), n, exponent, 0, n, x);
    return widened;
  }
  const auto* const triangle = reinterpret_cast<const compute_t<T>*>(bytes.data());
  for (int j = 0; j < n; ++j)
    for (int i = j; i < n; ++i) {
      x[i + j * n] = triangle[packed_index(i, j, n)];
      x[j + i * n] = conj(x[i + j * n]);
    }
  return widened;
}

template <Scalar T>
typename StoredBlocks<T>::Unsuited StoredBlocks<T>::unsuited() const {
  const std::vector<int> found = unsuited_.to_host();
  return {found[0], found[1] > 0 ? layout_.blocks() - found[1] : -1};
}

#define BLOCKJACOBI_INSTANTIATE(T) \
  template class StoredBlocks<T>;  \
  template std::size_t inverse_bytes_bound<T>(const BlockLayout&, std::optional<Format>)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
