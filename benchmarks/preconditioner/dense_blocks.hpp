#pragma once

#include "batched/accuracy.hpp"
#include "batched/measurement.hpp"
#include "batched/peers.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <optional>

namespace bench {

/// Bytes that the cache holds none of when they come again.
inline std::size_t more_than_cache() {
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0));
  return 4 * static_cast<std::size_t>(bytes);
}

/// So many copies in turn do not come out of the cache.
inline int copies_beside_cache(std::size_t bytes_of_one) {
  return static_cast<int>(
      std::clamp<std::size_t>(more_than_cache() / std::max<std::size_t>(bytes_of_one, 1) + 1, 1, 64));
}

/// Block by block, dense and column-major, what BlockJacobi inverts: all blocks, or of blocks of one order the first
/// whole ones up to so many bytes. In several copies where one would be found in the cache.
template <class T>
class DenseBlocks {
 public:
  DenseBlocks(Device& device, const blockjacobi::CsrMatrix<double>& matrix,
              const blockjacobi::BlockPartition& partition, std::size_t most_bytes)
      : device_(device), order_(partition.largest_block()) {
    const auto offsets = partition.offsets();
    const auto size_of = [&](std::size_t b) { return offsets[b + 1] - offsets[b]; };
    const auto all = static_cast<std::size_t>(partition.blocks());
    // Of blocks of one order the last may be shorter.
    is_uniform_ = all == 1 || size_of(0) == order_;
    for (std::size_t b = 0; b + 1 < all; ++b) is_uniform_ = is_uniform_ && size_of(b) == order_;
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < all; ++b) {
      const std::size_t next = elements(size_of(b)) * sizeof(T);
      if (is_uniform_ && (size_of(b) != order_ || (b > 0 && bytes + next > most_bytes))) break;
      orders_.push_back(size_of(b));
      bytes += next;
    }
    const std::vector<T> blocks = extract(matrix, offsets);
    size_ = blocks.size();
    copies_ = copies_beside_cache(2 * blocks.size() * sizeof(T));
    a_.emplace(size_ * copies());
    x_.emplace(size_ * copies());
    a_->fill(blocks);
    info_.emplace(count() * copies());
    if (!is_uniform_) make_pointers();
  }

  std::size_t count() const { return orders_.size(); }
  bool is_uniform() const { return is_uniform_; }

  /// batched::inverse of all of them, the time of one call.
  Measurement measure() {
    const Time time = device_.time(
        20, [] {},
        [&] {
          for (std::size_t c = 0; c < copies(); ++c)
            blockjacobi::batched::inverse<T>(device_.backend, view(*a_, 0, c), view(*x_, 1, c),
                                             info_->data() + c * count());
        });
    Measurement m = record("blockjacobi", time);
    m.error = error();
    return m;
  }

  /// Of blocks of one order: the inversions of cuBLAS, of all copies at once.
  std::vector<Measurement> measure_peers() {
    std::vector<Measurement> results;
    const std::size_t all = count() * copies();
    Buffer<T> work(size_ * copies()), unused(all * static_cast<std::size_t>(order_));
    Buffer<int> pivots(all * static_cast<std::size_t>(order_));
    PeerBatch<T> batch(device_, order_, all, work.data(), x_->data(), unused.data(), pivots.data(), info_->data());
    for (const Peer<T>& peer : peers_of<T>("inverse", order_, all))
      results.push_back(record(peer.name, device_.time(
                                              5, [&] { work.restore(*a_); }, [&] { peer.run(batch); })));
    return results;
  }

 private:
  static std::size_t elements(blockjacobi::index_t n) {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  }
  std::size_t copies() const { return static_cast<std::size_t>(copies_); }

  std::vector<T> extract(const blockjacobi::CsrMatrix<double>& matrix,
                         std::span<const blockjacobi::index_t> offsets) const {
    std::size_t size = 0;
    for (const auto n : orders_) size += elements(n);
    std::vector<T> blocks(size);
    const auto view = matrix.view();
    T* block = blocks.data();
    for (std::size_t b = 0; b < count(); block += elements(orders_[b]), ++b) {
      const blockjacobi::index_t first = offsets[b], n = orders_[b];
      for (blockjacobi::index_t i = 0; i < n; ++i)
        for (auto k = view.row_offsets[first + i]; k < view.row_offsets[first + i + 1]; ++k) {
          const blockjacobi::index_t j = view.columns[k] - first;
          if (j >= 0 && j < n) block[i + std::ptrdiff_t{j} * n] = static_cast<T>(view.values[k]);
        }
    }
    return blocks;
  }

  void make_pointers() {
    std::vector<T*> pointers;
    for (T* const data : {a_->data(), x_->data()})
      for (std::size_t c = 0; c < copies(); ++c) {
        T* block = data + c * size_;
        for (const auto n : orders_) {
          pointers.push_back(block);
          block += elements(n);
        }
      }
    pointers_.emplace(pointers.size());
    pointers_->upload(pointers);
    device_orders_.emplace(count());
    device_orders_->upload(orders_);
  }

  /// Copy c of the blocks (0) or of their inverses (1).
  blockjacobi::MatrixBatchView<T> view(const Buffer<T>& buffer, std::size_t which, std::size_t c) const {
    using View = blockjacobi::MatrixBatchView<T>;
    const auto blocks = static_cast<blockjacobi::offset_t>(count());
    const auto space = device_.backend.memory_space();
    if (is_uniform_)
      return View::strided(buffer.data() + c * size_, order_, order_, order_,
                           static_cast<blockjacobi::offset_t>(elements(order_)), blocks, space);
    return View::pointer_array(pointers_->data() + (which * copies() + c) * count(), order_, order_, 0, blocks, space,
                               device_orders_->data());
  }

  /// Of a few inverses of the last copy.
  double error() const {
    double worst = 0;
    std::size_t start = (copies() - 1) * size_, next = 0;
    constexpr std::size_t samples = 4;
    for (std::size_t b = 0; b < count(); start += elements(orders_[b]), ++b) {
      if (b != next * (count() - 1) / (samples - 1)) continue;
      while (next < samples && b == next * (count() - 1) / (samples - 1)) ++next;
      const std::size_t size = elements(orders_[b]);
      worst = worse_error(worst, inverse_error(WideMatrix<T>(a_->sample(start, size).data(), orders_[b]),
                                               WideMatrix<T>(x_->sample(start, size).data(), orders_[b])));
    }
    return worst;
  }

  /// Of one copy.
  Measurement record(const std::string& implementation, Time time) const {
    const double share = 1.0 / copies_;
    Measurement m{"inverse",
                  implementation,
                  blockjacobi::to_char(blockjacobi::scalar_type<T>),
                  order_,
                  count(),
                  {time.median * share, time.p25 * share, time.p75 * share},
                  2.0 * static_cast<double>(size_) * sizeof(T),
                  0,
                  std::nan("")};
    for (const auto n : orders_) m.flops += 2.0 * static_cast<double>(elements(n)) * n;
    m.batch_bytes = static_cast<double>(size_) * sizeof(T);
    m.copies = copies_;
    return m;
  }

  Device& device_;
  blockjacobi::index_t order_;
  bool is_uniform_ = true;
  std::vector<blockjacobi::index_t> orders_;
  std::size_t size_ = 0;  // elements of a copy
  int copies_ = 1;
  std::optional<Buffer<T>> a_, x_;
  std::optional<Buffer<int>> info_;
  std::optional<Buffer<T*>> pointers_;
  std::optional<Buffer<blockjacobi::index_t>> device_orders_;
};

}  // namespace bench
