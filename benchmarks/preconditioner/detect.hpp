#pragma once

#include "batched/device.hpp"
#include "batched/measurement.hpp"

namespace bench {

/// BlockPartition::detect of dense diagonal blocks of order n, from a pattern on the device to block pointers on the
/// host.
inline Measurement measure_detect(Device& device, int n, int max_size, blockjacobi::index_t rows) {
  namespace bj = blockjacobi;
  std::vector<std::int32_t> offsets{0};
  std::vector<bj::index_t> columns;
  columns.reserve(static_cast<std::size_t>(rows) * static_cast<std::size_t>(n));
  for (bj::index_t i = 0; i < rows; ++i) {
    for (int j = 0; j < n; ++j) columns.push_back(i / n * n + j);
    offsets.push_back(static_cast<std::int32_t>(columns.size()));
  }
  Buffer<std::int32_t> device_offsets(offsets.size());
  Buffer<bj::index_t> device_columns(columns.size());
  device_offsets.fill(offsets);
  device_columns.fill(columns);
  const bj::CsrView<double, std::int32_t> matrix{rows,
                                                 rows,
                                                 static_cast<bj::offset_t>(columns.size()),
                                                 device_offsets.data(),
                                                 device_columns.data(),
                                                 nullptr,
                                                 bj::IndexBase::zero,
                                                 bj::MemorySpace::device};
  bj::BlockPartition found;
  const Time time = device.time(
      20, [] {}, [&] { found = bj::BlockPartition::detect(device.backend, matrix, max_size); });
  Measurement m{"detect", "blockjacobi", 'd', n, static_cast<std::size_t>(rows / n), time, 0, 0, 0};
  // Two passes over the pattern.
  m.bytes = 2.0 * static_cast<double>(device_offsets.bytes() + device_columns.bytes());
  const bj::BlockPartition expected = bj::BlockPartition::uniform(rows, max_size / n * n);
  m.error = found == expected ? 0 : INFINITY;
  m.partition = "max " + std::to_string(max_size);
  return m;
}

}  // namespace bench
