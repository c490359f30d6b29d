#pragma once

#include "batched/device.hpp"
#include "batched/measurement.hpp"
#include "preconditioner/construct.hpp"

#include <matrices/generators.hpp>

namespace bench {

/// BlockPartition::clusters of the 7-point Laplacian on points^3, whose matrix lies on the device, to a permutation on
/// the host. The error is 0 if the host finds the same.
inline Measurement measure_clusters(Device& device, blockjacobi::index_t points) {
  namespace bj = blockjacobi;
  constexpr bj::index_t max_size = 32;
  const bj::CsrMatrix<double> host = bj::matrices::stencil<double>({.grid = {points, points, points}});
  const bj::SparseMatrix<double> matrix(device.backend, host.view());
  bj::PermutedPartition found = bj::BlockPartition::clusters(matrix, max_size);
  const Time time = time_on_host(device.backend, 10, [&] { return bj::BlockPartition::clusters(matrix, max_size); });
  Measurement m{"clusters", "blockjacobi", 'd', max_size, static_cast<std::size_t>(found.blocks.blocks()), time, 0, 0,
                0};
  // The matrix once.
  m.bytes = static_cast<double>(host.nnz()) * (sizeof(double) + sizeof(bj::index_t));
  const bj::PermutedPartition expected = bj::BlockPartition::clusters(host, max_size);
  m.error = found.permutation == expected.permutation && found.blocks == expected.blocks ? 0 : INFINITY;
  m.partition = "clusters";
  m.matrix = "7-point " + std::to_string(points) + "^3";
  m.rows = host.rows();
  return m;
}

}  // namespace bench
