#pragma once

#include "preconditioner/construct.hpp"
#include "preconditioner/dense_blocks.hpp"
#include "preconditioner/pattern_system.hpp"

#include <list>

namespace bench {

/// Construction and refresh of BlockJacobi on a system that lies on the device with 32-bit offsets, and the inversion
/// of the same blocks alone.
template <class T>
class PatternSetup {
  using Matrix = blockjacobi::CsrView<T, std::int32_t>;
  using BlockPartition = blockjacobi::BlockPartition;
  using BlockJacobi = blockjacobi::BlockJacobi<T>;
  using Symmetry = blockjacobi::Symmetry;

 public:
  PatternSetup(Device& device, const PatternSystem& system)
      : device_(device),
        system_(system),
        host_values_(system.matrix.values().begin(), system.matrix.values().end()),
        offsets_(system.matrix.row_offsets().size()),
        columns_(system.matrix.columns().size()),
        values_(host_values_.size()) {
    const auto offsets = system.matrix.row_offsets();
    offsets_.upload(std::vector<std::int32_t>(offsets.begin(), offsets.end()));
    columns_.upload(system.matrix.columns());
    values_.upload(host_values_);
  }

  /// Construction; refresh; above order 32 refresh of a matrix that is stated to be symmetric, if it is definite; the
  /// inversion of the blocks by this library and, of blocks of one order, by cuBLAS.
  std::vector<Measurement> measure(const PatternBlocks& blocks) {
    const BlockPartition partition = partition_of(blocks);
    std::vector<Measurement> results{measure_construction(blocks), measure_refresh(partition, Symmetry::none)};
    if (is_large(partition) && system_.is_definite) results.push_back(measure_refresh(partition, Symmetry::symmetric));
    if (is_large(partition) || blocks.partition == "uniform") {
      DenseBlocks<T> dense(device_, system_.matrix, partition, is_large(partition) ? 1'000'000'000 : 250'000'000);
      results.push_back(dense.measure());
      if (dense.is_uniform())
        for (const Measurement& peer : dense.measure_peers()) results.push_back(peer);
    }
    for (Measurement& m : results) {
      m.partition = blocks.partition;
      m.matrix = system_.name;
      m.rows = system_.matrix.rows();
      m.nnz = system_.matrix.nnz();
      if (m.pattern == "moving") m.pattern = "system";
    }
    return results;
  }

 private:
  static bool is_large(const BlockPartition& partition) { return partition.largest_block() > 32; }

  Matrix matrix(const Buffer<T>& values) const {
    return {system_.matrix.rows(), system_.matrix.cols(), system_.matrix.nnz(),         offsets_.data(),
            columns_.data(),       values.data(),         blockjacobi::IndexBase::zero, device_.backend.memory_space()};
  }

  BlockPartition partition_of(const PatternBlocks& blocks) const {
    if (blocks.given) return *blocks.given;
    if (blocks.order > 0) return BlockPartition::uniform(system_.matrix.rows(), blocks.order);
    return BlockPartition::detect(device_.backend, matrix(values_));
  }

  /// Without bytes.
  static Measurement measurement(const char* operation, const BlockPartition& partition, Time time) {
    Measurement m{operation,
                  "blockjacobi",
                  blockjacobi::to_char(blockjacobi::scalar_type<T>),
                  partition.largest_block(),
                  static_cast<std::size_t>(partition.blocks()),
                  time,
                  0,
                  0,
                  0};
    const auto offsets = partition.offsets();
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
      const double n = offsets[b + 1] - offsets[b];
      m.batch_bytes += n * n * sizeof(T);
      m.flops += 2.0 * n * n * n;
    }
    return m;
  }

  /// What detection takes is part of it, what METIS takes is not.
  Measurement measure_construction(const PatternBlocks& blocks) const {
    constexpr double seconds = 0.5;
    const auto construct = [&] {
      return BlockJacobi(device_.backend, matrix(values_), partition_of(blocks), options());
    };
    const Time time = time_on_host(device_.backend, 20, construct, seconds);
    const BlockJacobi made = construct();
    Measurement m = measurement("construct", made.partition(), time);
    // The matrix once, and the inverses.
    m.bytes = static_cast<double>(offsets_.bytes() + columns_.bytes() + values_.bytes()) + m.batch_bytes;
    add_outcome(made, m);
    return m;
  }

  /// Of a matrix whose symmetry is stated, in as many copies as it takes.
  Measurement measure_refresh(const BlockPartition& partition, Symmetry symmetry) const {
    using SparseMatrix = blockjacobi::SparseMatrix<T>;
    std::list<Buffer<T>> values;
    std::list<BlockJacobi> made;
    const auto add = [&] {
      values.emplace_back(host_values_.size()).restore(values_);
      const auto adopted = SparseMatrix::adopt(device_.backend, matrix(values.back()), {.symmetry = symmetry});
      made.emplace_back(adopted, partition, options());
    };
    add();
    const int copies = copies_beside_cache(made.front().bytes() + values_.bytes());
    while (static_cast<int>(made.size()) < copies) add();
    Time time = device_.time(
        20, [] {},
        [&] {
          auto own = values.begin();
          for (BlockJacobi& one : made)
            one.refresh((own++)->data(), system_.matrix.nnz(), device_.backend.memory_space());
        });
    for (double* ms : {&time.median, &time.p25, &time.p75}) *ms /= copies;
    Measurement m = measurement("refresh", partition, time);
    m.entries = std::llround(made.front().report().entries_inside * static_cast<double>(system_.matrix.nnz()));
    // Of every entry inside of the blocks the value and four bytes that say where it belongs; the inverses.
    m.bytes = static_cast<double>(m.entries) * (sizeof(T) + sizeof(blockjacobi::index_t)) + m.batch_bytes;
    add_outcome(made.back(), m);
    m.copies = copies;
    if (symmetry != Symmetry::none) m.pattern = "definite";
    return m;
  }

  /// A singular block, which single precision may make of one, does not end the run.
  static blockjacobi::BlockJacobiOptions options() { return {.singular = blockjacobi::SingularPolicy::identity}; }

  /// How many blocks are singular, and the error of a few others.
  void add_outcome(const BlockJacobi& made, Measurement& m) const {
    const std::vector<int> info = made.info();
    m.singular = static_cast<int>(std::count_if(info.begin(), info.end(), [](int i) { return i != 0; }));
    const auto blocks = static_cast<blockjacobi::offset_t>(info.size());
    constexpr blockjacobi::offset_t samples = 4;
    for (blockjacobi::offset_t s = 0; s < samples; ++s) {
      const auto block = static_cast<blockjacobi::index_t>(s * (blocks - 1) / (samples - 1));
      if (info[static_cast<std::size_t>(block)] != 0) continue;
      const int n = made.partition().block_size(block);
      m.error =
          worse_error(m.error, inverse_error(WideMatrix<T>(dense_block(made.partition().first_row(block), n).data(), n),
                                             WideMatrix<T>(made.inverse_block(block).data(), n)));
    }
  }

  /// Column by column.
  std::vector<T> dense_block(blockjacobi::index_t first, int n) const {
    std::vector<T> block(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
    const auto view = system_.matrix.view();
    for (int i = 0; i < n; ++i)
      for (auto k = view.row_offsets[first + i]; k < view.row_offsets[first + i + 1]; ++k) {
        const int j = view.columns[k] - first;
        if (j >= 0 && j < n) block[static_cast<std::size_t>(j * n + i)] = host_values_[static_cast<std::size_t>(k)];
      }
    return block;
  }

  Device& device_;
  const PatternSystem& system_;
  std::vector<T> host_values_;
  Buffer<std::int32_t> offsets_;
  Buffer<blockjacobi::index_t> columns_;
  Buffer<T> values_;
};

}  // namespace bench
