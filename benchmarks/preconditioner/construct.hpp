#pragma once

#include "backend/backend_impl.hpp"
#include "batched/accuracy.hpp"
#include "batched/device.hpp"
#include "batched/measurement.hpp"
#include "core/csr_pattern.hpp"

#include <matrices/generators.hpp>

#include <chrono>
#include <iomanip>
#include <iostream>

namespace bench {

/// Blocks of order n, given or found by BlockPartition::detect.
struct ConstructCase {
  int n;
  bool is_detected = false;
};

/// Milliseconds by the clock of the host, all that is enqueued included; what `make` makes goes outside of them. None
/// begins after `seconds`, but for the first three.
template <class Make>
Time time_on_host(const blockjacobi::Backend& backend, int repetitions, Make make, double seconds = INFINITY) {
  std::vector<double> times;
  const auto start = std::chrono::steady_clock::now();
  const auto is_late = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds;
  };
  for (int i = -2; i < repetitions && (i < 3 || !is_late()); ++i) {
    backend.synchronize();
    const auto begin = std::chrono::steady_clock::now();
    [[maybe_unused]] const auto made = make();
    backend.synchronize();
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - begin;
    if (i >= 0) times.push_back(passed.count());
  }
  return quartiles(std::move(times));
}

/// The set-up of BlockJacobi from nothing: partition, analysis, memory and inverses of the 7-point Laplacian on
/// points^3, whose arrays lie on the device with 32-bit offsets.
class Construction {
  using T = double;
  using Matrix = blockjacobi::CsrView<T, std::int32_t>;
  using offset_t = blockjacobi::offset_t;

 public:
  Construction(Device& device, blockjacobi::index_t points)
      : backend_(device.backend),
        name_("7-point " + std::to_string(points) + "^3"),
        host_(blockjacobi::matrices::stencil<T>({.grid = {points, points, points}})),
        offsets_(host_.row_offsets().size()),
        columns_(host_.columns().size()),
        values_(host_.values().size()) {
    offsets_.fill({host_.row_offsets().begin(), host_.row_offsets().end()});
    columns_.fill({host_.columns().begin(), host_.columns().end()});
    values_.fill({host_.values().begin(), host_.values().end()});
  }

  Measurement measure(const ConstructCase& c) const {
    const Time time = time_on_host(backend_, 20, [&] { return construct(c); });
    const blockjacobi::BlockJacobi<T> made = construct(c);
    const auto blocks = static_cast<std::size_t>(made.partition().blocks());
    const double entries = static_cast<double>(c.n) * c.n, count = static_cast<double>(blocks);
    // The matrix once, and the inverses.
    const auto bytes = static_cast<double>(offsets_.bytes() + columns_.bytes() + values_.bytes());
    Measurement m{"construct",
                  "blockjacobi",
                  'd',
                  c.n,
                  blocks,
                  time,
                  bytes + entries * sizeof(T) * count,
                  2.0 * entries * c.n * count,
                  error_of(made)};
    m.partition = c.is_detected ? "detected" : "uniform";
    m.matrix = name_;
    m.rows = host_.rows();
    return m;
  }

  /// What the parts take one by one, in ms; they wait in between, which the whole does not.
  void print_parts(const ConstructCase& c, std::ostream& out) const {
    using blockjacobi::BlockJacobi;
    const blockjacobi::BlockPartition partition = partition_of(c);
    BlockJacobi<T> made(backend_, matrix(), partition);
    const auto print = [&](const char* part, const auto& work) {
      out << "  " << part << ' ' << time_on_host(backend_, 20, work).median;
    };
    out << name_ << ", blocks of " << c.n << (c.is_detected ? ", detected" : "") << std::fixed << std::setprecision(3);
    print("partition", [&] { return partition_of(c); });
    print("layout", [&] { return blockjacobi::BlockLayout(partition, sizeof(T)); });
    print("inspection",
          [&] { return backend_.impl().partition_ops().inspect(blockjacobi::detail::pattern_of(matrix())); });
    print("memory of blocks", [&] { return blockjacobi::BlockBatch<T>(backend_, partition); });
    print("analysis", [&] { return BlockJacobi<T>::analyze(backend_, matrix(), partition); });
    print("inversion", [&] {
      made.refresh(values_.data(), host_.nnz(), blockjacobi::MemorySpace::device);
      return 0;
    });
    print("construction", [&] { return BlockJacobi<T>(backend_, matrix(), partition); });
    out << '\n';
  }

 private:
  Matrix matrix() const {
    return {host_.rows(),
            host_.cols(),
            host_.nnz(),
            offsets_.data(),
            columns_.data(),
            values_.data(),
            blockjacobi::IndexBase::zero,
            blockjacobi::MemorySpace::device};
  }

  blockjacobi::BlockPartition partition_of(const ConstructCase& c) const {
    return c.is_detected ? blockjacobi::BlockPartition::detect(backend_, matrix(), c.n)
                         : blockjacobi::BlockPartition::uniform(host_.rows(), c.n);
  }

  blockjacobi::BlockJacobi<T> construct(const ConstructCase& c) const { return {backend_, matrix(), partition_of(c)}; }

  /// Of a few inverses.
  double error_of(const blockjacobi::BlockJacobi<T>& made) const {
    double error = 0;
    const auto blocks = static_cast<offset_t>(made.partition().blocks());
    for (offset_t s = 0; s < 16; ++s) {
      const auto block = static_cast<blockjacobi::index_t>(s * (blocks - 1) / 15);
      const int n = made.partition().block_size(block);
      error =
          worse_error(error, inverse_error(WideMatrix<T>(dense_block(made.partition().first_row(block), n).data(), n),
                                           WideMatrix<T>(made.inverse_block(block).data(), n)));
    }
    return error;
  }

  /// Column by column.
  std::vector<T> dense_block(blockjacobi::index_t first, int n) const {
    std::vector<T> block(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
    const auto view = host_.view();
    for (int i = 0; i < n; ++i)
      for (offset_t k = view.row_offsets[first + i]; k < view.row_offsets[first + i + 1]; ++k) {
        const int j = view.columns[k] - first;
        if (j >= 0 && j < n) block[static_cast<std::size_t>(j * n + i)] = view.values[k];
      }
    return block;
  }

  const blockjacobi::Backend& backend_;
  std::string name_;
  blockjacobi::CsrMatrix<T> host_;
  Buffer<std::int32_t> offsets_;
  Buffer<blockjacobi::index_t> columns_;
  Buffer<T> values_;
};

}  // namespace bench
