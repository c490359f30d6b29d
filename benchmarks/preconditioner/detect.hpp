#pragma once

#include "batched/device.hpp"
#include "batched/measurement.hpp"

namespace bench {

/// BlockPartition::detect of dense diagonal blocks of order n, from a matrix on the device to block pointers on the
/// host. Merge::coupled finds each block on its own.
inline Measurement measure_detect(Device& device, int n, const blockjacobi::DetectOptions& options,
                                  blockjacobi::index_t rows) {
  namespace bj = blockjacobi;
  const bool is_coupled = options.merge == bj::Merge::coupled;
  std::vector<std::int32_t> offsets{0};
  std::vector<bj::index_t> columns;
  columns.reserve(static_cast<std::size_t>(rows) * static_cast<std::size_t>(n));
  for (bj::index_t i = 0; i < rows; ++i) {
    for (int j = 0; j < n; ++j) columns.push_back(i / n * n + j);
    offsets.push_back(static_cast<std::int32_t>(columns.size()));
  }
  Buffer<std::int32_t> device_offsets(offsets.size());
  Buffer<bj::index_t> device_columns(columns.size());
  Buffer<double> device_values(is_coupled ? columns.size() : 0);
  device_offsets.fill(offsets);
  device_columns.fill(columns);
  device_values.fill({1.0});
  const bj::CsrView<double, std::int32_t> matrix{rows,
                                                 rows,
                                                 static_cast<bj::offset_t>(columns.size()),
                                                 device_offsets.data(),
                                                 device_columns.data(),
                                                 device_values.data(),
                                                 bj::IndexBase::zero,
                                                 bj::MemorySpace::device};
  bj::BlockPartition found;
  const Time time = device.time(
      20, [] {}, [&] { found = bj::BlockPartition::detect(device.backend, matrix, options); });
  Measurement m{is_coupled ? "detect_coupled" : "detect",
                "blockjacobi",
                'd',
                n,
                static_cast<std::size_t>(rows / n),
                time,
                0,
                0,
                0};
  // Two passes over the pattern; by values one more that looks whether it is sorted, and two over the matrix.
  m.bytes = (is_coupled ? 5.0 : 2.0) * static_cast<double>(device_offsets.bytes() + device_columns.bytes()) +
            2.0 * static_cast<double>(device_values.bytes());
  const bj::BlockPartition expected = bj::BlockPartition::uniform(rows, is_coupled ? n : options.max_size / n * n);
  m.error = found == expected ? 0 : INFINITY;
  m.partition = "max " + std::to_string(options.max_size);
  return m;
}

}  // namespace bench
