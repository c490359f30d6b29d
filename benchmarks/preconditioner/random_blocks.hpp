#pragma once

#include "backend/backend_impl.hpp"
#include "backend/host_convert.hpp"
#include "backend/storage_ops.hpp"
#include "batched/accuracy.hpp"
#include "batched/timer.hpp"
#include "core/compute_views.hpp"
#include "precond/stored_blocks.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <memory>
#include <optional>

namespace bench {

using blockjacobi::detail::Format;

/// Random numbers in device memory, as many as any case wants; its blocks and vectors lie here.
template <class T>
class RandomMemory {
 public:
  RandomMemory(double block_bytes, std::size_t elements)
      : blocks_(static_cast<std::size_t>(block_bytes)), r_(elements), z_(elements) {
    r_.fill(random_values<T>(1 << 22));
  }

  /// Makes the blocks numbers of this format.
  void fill(Format format) {
    if (format_ == format) return;
    format_ = format;
    const std::vector<T> values = random_values<T>(1 << 22);
    const auto parts = static_cast<int>(values.size() * (sizeof(T) / sizeof(blockjacobi::real_t<T>)));
    std::vector<std::byte> encoded(values.size() * sizeof(T));
    const Format one_by_one = format == Format::packed ? Format::full : format;
    blockjacobi::detail::encode_parts(one_by_one, reinterpret_cast<const blockjacobi::real_t<T>*>(values.data()), parts,
                                      0, encoded.data());
    encoded.resize(static_cast<std::size_t>(parts) * static_cast<std::size_t>(blockjacobi::detail::format_part_bytes(
                                                         format, sizeof(blockjacobi::real_t<T>))));
    blocks_.fill(encoded);
  }

  std::byte* blocks() { return blocks_.data(); }
  std::size_t bytes() const { return blocks_.bytes(); }
  const Buffer<std::byte>& block_buffer() const { return blocks_; }
  const Buffer<T>& r() const { return r_; }
  const Buffer<T>& z() const { return z_; }
  std::size_t elements() const { return r_.bytes() / sizeof(T); }

 private:
  Buffer<std::byte> blocks_;
  Buffer<T> r_, z_;
  std::optional<Format> format_;
};

/// The random numbers as the inverses of a partition in one format, and products with them.
template <class T>
class RandomBlocks {
  using C = blockjacobi::detail::compute_t<T>;

 public:
  RandomBlocks(const blockjacobi::Backend& backend, const blockjacobi::BlockPartition& partition, Format format,
               RandomMemory<T>& memory)
      : backend_(backend),
        memory_(memory),
        format_(format),
        layout_(partition, sizeof(T)),
        stored_(format == Format::full
                    ? blockjacobi::detail::StoredLayout{}
                    : make_stored_layout(layout_, std::span(&format, 1), sizeof(blockjacobi::real_t<T>), parts)),
        slots_(static_cast<std::size_t>(format == Format::full ? layout_.blocks() : 0)),
        stored_slots_(stored_.slots.size()),
        exponents_(stored_.slots.size()),
        prepared_(format == Format::full ? blockjacobi::detail::storage_ops<T>(backend).prepare_apply(backend, layout_)
                                         : nullptr) {
    memory.fill(format);
    if (format == Format::full)
      slots_.fill({layout_.slots().begin(), layout_.slots().end()});
    else
      stored_slots_.fill(stored_.slots);
    exponents_.fill(std::vector<std::int16_t>(stored_.slots.size()));
  }

  blockjacobi::index_t rows() const { return layout_.rows(); }
  /// Of the blocks, padding included.
  double bytes() const {
    return format_ == Format::full ? static_cast<double>(layout_.size()) * sizeof(T)
                                   : static_cast<double>(stored_.bytes);
  }

  /// z = op(X) r for `columns` vectors, column-major.
  void apply(blockjacobi::Op op, int columns) {
    using blockjacobi::detail::compute_cast;
    const blockjacobi::detail::ColumnsView<const C> r{compute_cast(memory_.r().data()), 1, rows(), columns};
    const blockjacobi::detail::ColumnsView<C> z{compute_cast(memory_.z().data()), 1, rows(), columns};
    if (format_ == Format::full && columns == 1 && !prepared_)
      return blockjacobi::detail::block_ops<T>(backend_).apply(full_view(), op, r.data, z.data);
    auto& ops = blockjacobi::detail::storage_ops<T>(backend_);
    const C one = blockjacobi::detail::compute_value(T(1));
    if (prepared_ && prepared_->apply(full_view(), op, one, r, C{}, z)) return;
    if (format_ == Format::full) return ops.apply(full_view(), op, one, r, C{}, z);
    ops.apply(blockjacobi::detail::StoredBlocksView{memory_.blocks(), stored_slots_.data(), exponents_.data(),
                                                    stored_.groups, nullptr, format_, nullptr, rows()},
              op, one, r, C{}, z);
  }

  /// Of a few blocks after apply(): max |z - op(X) r| / (N eps |op(X)| |r|) by elements.
  double error(blockjacobi::Op op, int columns) const {
    double worst = 0;
    constexpr std::size_t samples = 16;
    const auto count = static_cast<std::size_t>(layout_.blocks());
    for (std::size_t s = 0; s < samples; ++s) {
      const Place place = place_of(s * (count - 1) / (samples - 1));
      const std::vector<T> x = block(place);
      for (const int k : {0, columns - 1}) worst = worse_error(worst, column_error(place, x, op, k));
    }
    return worst;
  }

 private:
  static constexpr int parts = sizeof(T) / sizeof(blockjacobi::real_t<T>);

  struct Place {
    std::size_t start;  // bytes
    std::size_t first_row;
    int n;
  };
  Place place_of(std::size_t slot) const {
    if (format_ != Format::full) {
      const auto& s = stored_.slots[slot];
      return {static_cast<std::size_t>(s.start), static_cast<std::size_t>(s.first_row), s.size};
    }
    const auto& s = layout_.slots()[slot];
    return {static_cast<std::size_t>(s.start) * sizeof(T), static_cast<std::size_t>(s.first_row), s.size};
  }

  blockjacobi::BlockBatchView<const C> full_view() {
    return {reinterpret_cast<const C*>(memory_.blocks()),
            slots_.data(),
            layout_.groups(),
            layout_.blocks(),
            layout_.rows(),
            blockjacobi::MemorySpace::device};
  }

  std::vector<T> block(const Place& place) const {
    const auto n = static_cast<std::size_t>(place.n);
    const auto bytes = blockjacobi::detail::format_block_bytes(format_, place.n, sizeof(blockjacobi::real_t<T>), parts);
    const std::vector<std::byte> stored = memory_.block_buffer().sample(place.start, static_cast<std::size_t>(bytes));
    std::vector<T> x(n * n);
    C* const elements = blockjacobi::detail::compute_cast(x.data());
    if (format_ != Format::packed) {
      blockjacobi::detail::decode_columns(format_, stored.data(), place.n, 0, 0, place.n, elements);
      return x;
    }
    const C* const triangle = reinterpret_cast<const C*>(stored.data());
    for (int j = 0; j < place.n; ++j)
      for (int i = j; i < place.n; ++i) {
        elements[i + j * place.n] = triangle[blockjacobi::detail::packed_index(i, j, place.n)];
        if (i > j) elements[j + i * place.n] = blockjacobi::detail::conj(elements[i + j * place.n]);
      }
    return x;
  }

  double column_error(const Place& place, const std::vector<T>& x, blockjacobi::Op op, int column) const {
    const std::size_t first = place.first_row + static_cast<std::size_t>(column) * static_cast<std::size_t>(rows());
    const auto n = static_cast<std::size_t>(place.n);
    const std::vector<T> r = memory_.r().sample(first, n), z = memory_.z().sample(first, n);
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i) {
      Wide<T> sum = 0;
      long double size = 0;
      for (std::size_t j = 0; j < n; ++j) {
        const Wide<T> product = Wide<T>(op == blockjacobi::Op::none ? x[i + j * n] : x[j + i * n]) * Wide<T>(r[j]);
        sum += product;
        size += std::abs(product);
      }
      const long double unit = static_cast<long double>(n) * std::numeric_limits<blockjacobi::real_t<T>>::epsilon();
      worst = worse_error(worst, static_cast<double>(std::abs(Wide<T>(z[i]) - sum) / (unit * size)));
    }
    return worst;
  }

  blockjacobi::Backend backend_;
  RandomMemory<T>& memory_;
  Format format_;
  blockjacobi::BlockLayout layout_;
  blockjacobi::detail::StoredLayout stored_;
  Buffer<blockjacobi::BlockSlot> slots_;
  Buffer<blockjacobi::detail::StoredSlot> stored_slots_;
  Buffer<std::int16_t> exponents_;
  std::unique_ptr<blockjacobi::detail::PreparedApply<T>> prepared_;
};

}  // namespace bench
