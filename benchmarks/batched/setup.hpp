#pragma once

#include "batched/operations.hpp"

#include <cmath>

namespace bench {

/// Blocks back to back by rows, Hermitian and definite or of any kind, without the last `missing` elements of the first
/// column of each.
template <class T>
std::vector<T> entries_of_blocks(int n, int missing, bool definite) {
  const std::vector<T> full = definite  ? random_positive_definite<T>(n)
                              : n <= 32 ? random_values<T>(1 << 22)
                                        : random_regular<T>(n);
  if (missing == 0) return full;
  std::vector<T> entries;
  const auto size = static_cast<std::size_t>(n);
  for (std::size_t e = 0; e < full.size() / (size * size) * size * size; ++e)
    if (e % size != 0 || e / size % size < size - static_cast<std::size_t>(missing)) entries.push_back(full[e]);
  return entries;
}

/// The numeric set-up of BlockJacobi (refresh: extract, equilibrate, invert, store) of a matrix that is its blocks.
/// With one element missing a block has a word of the position map for every entry. A matrix with definite blocks is
/// stated to be Hermitian.
template <class T>
Measurement measure_setup(Device& device, int n, double gigabytes, int missing = 0, bool definite = false) {
  namespace bj = blockjacobi;
  const double entries = static_cast<double>(n) * n - missing;
  // Least traffic: value and column of every entry, and the inverse.
  const double bytes_of_one = entries * (2 * sizeof(T) + sizeof(bj::index_t));
  const auto blocks = static_cast<bj::index_t>(std::ceil(gigabytes * 1e9 / bytes_of_one));
  const bj::index_t rows = blocks * n;
  std::vector<std::int64_t> offsets{0};
  std::vector<bj::index_t> columns;
  columns.reserve(static_cast<std::size_t>(blocks) * static_cast<std::size_t>(n * n - missing));
  offsets.reserve(static_cast<std::size_t>(rows) + 1);
  for (bj::index_t i = 0; i < rows; ++i) {
    for (int j = i % n < n - missing ? 0 : 1; j < n; ++j) columns.push_back(i / n * n + j);
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  Buffer<T> values(columns.size());
  values.fill(entries_of_blocks<T>(n, missing, definite));
  const bj::CsrView<T, std::int64_t> host{rows,           rows,           static_cast<bj::offset_t>(columns.size()),
                                          offsets.data(), columns.data(), nullptr};
  Buffer<std::int64_t> device_offsets(offsets.size());
  Buffer<bj::index_t> device_columns(columns.size());
  device_offsets.fill(offsets);
  device_columns.fill(columns);
  bj::CsrView<T, std::int64_t> matrix = host;
  matrix.row_offsets = device_offsets.data();
  matrix.columns = device_columns.data();
  matrix.values = values.data();
  matrix.space = bj::MemorySpace::device;
  bj::SparseMatrixOptions known;
  if (definite) known.symmetry = bj::Symmetry::hermitian;
  bj::BlockJacobi<T> preconditioner(bj::SparseMatrix<T>::adopt(device.backend, matrix, known),
                                    bj::BlockPartition::uniform(rows, n), {.singular = bj::SingularPolicy::identity});
  const Time time = device.time(
      20, [] {}, [&] { preconditioner.refresh(values.data(), matrix.nnz, bj::MemorySpace::device); });
  double error = 0;
  const int samples = std::clamp(20 * 64 * 64 / (n * n), 2, 20);  // products in extended precision take their time
  for (int s = 0; s < samples; ++s) {
    const auto k =
        static_cast<std::size_t>(s) * static_cast<std::size_t>(blocks - 1) / static_cast<std::size_t>(samples - 1);
    const auto size = static_cast<std::size_t>(n * n), stored = size - static_cast<std::size_t>(missing);
    const std::vector<T> by_rows = values.sample(k * stored, stored);
    std::vector<T> by_columns(size);
    auto next = by_rows.begin();
    for (int i = 0; i < n; ++i)
      for (int j = i < n - missing ? 0 : 1; j < n; ++j) by_columns[static_cast<std::size_t>(i + j * n)] = *next++;
    const WideMatrix<T> a(by_columns.data(), n);
    const WideMatrix<T> x(preconditioner.inverse_block(static_cast<bj::index_t>(k)).data(), n);
    error = worse_error(error, inverse_error(a, x));
  }
  return {"extract_invert",
          "blockjacobi",
          bj::to_char(bj::scalar_type<T>),
          n,
          static_cast<std::size_t>(blocks),
          time,
          bytes_of_one * blocks,
          (bj::is_complex<T> ? 8.0 : 2.0) * entries * n * blocks,
          error};
}

/// The same, also with an element missing and of definite blocks, and the inversion of such blocks by batched::inverse,
/// which is part of it: "refresh" and "inverse" in one record.
template <class T>
std::vector<Measurement> measure_refresh_and_inverse(Device& device, int n, double gigabytes) {
  namespace bj = blockjacobi;
  Measurement refresh = measure_setup<T>(device, n, gigabytes), with_words = measure_setup<T>(device, n, gigabytes, 1);
  Measurement of_definite = measure_setup<T>(device, n, gigabytes, 0, true);
  refresh.operation = with_words.operation = of_definite.operation = "refresh";
  with_words.partition = "words";
  of_definite.pattern = "definite";
  const std::size_t elements = refresh.batch * static_cast<std::size_t>(n * n);
  Buffer<T> a(elements), x(elements);
  Buffer<int> info(refresh.batch);
  a.fill(n <= 32 ? random_values<T>(1 << 22) : random_regular<T>(n));
  const auto view = [&](const Buffer<T>& buffer) {
    return bj::MatrixBatchView<T>::strided(buffer.data(), n, n, n, bj::offset_t{n} * n,
                                           static_cast<bj::offset_t>(refresh.batch), bj::MemorySpace::device);
  };
  Measurement inverse = refresh;
  inverse.operation = "inverse";
  inverse.time = device.time(
      20, [] {}, [&] { bj::batched::inverse<T>(device.backend, view(a), view(x), info.data()); });
  inverse.bytes = static_cast<double>(a.bytes() + x.bytes());
  inverse.error = std::nan("");
  return {refresh, with_words, of_definite, inverse};
}

}  // namespace bench
