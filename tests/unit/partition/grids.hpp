#pragma once

#include <blockjacobi/blockjacobi.hpp>

#include <cmath>
#include <vector>

namespace blockjacobi::test {

/// Five-point differences on a grid, with weights of their own in the two directions.
inline CsrMatrix<double> grid(index_t nx, index_t ny, double wx, double wy) {
  std::vector<Triplet<double>> entries;
  for (index_t y = 0; y < ny; ++y)
    for (index_t x = 0; x < nx; ++x) {
      const index_t i = y * nx + x;
      entries.push_back({i, i, 2 * wx + 2 * wy});
      if (x > 0) entries.push_back({i, i - 1, -wx});
      if (x + 1 < nx) entries.push_back({i, i + 1, -wx});
      if (y > 0) entries.push_back({i, i - nx, -wy});
      if (y + 1 < ny) entries.push_back({i, i + nx, -wy});
    }
  return CsrMatrix<double>::from_triplets(nx * ny, nx * ny, entries);
}

/// The stencil of `nodes`, each entry a dense 3 x 3 block.
inline CsrMatrix<double> three_unknowns_a_node(const CsrMatrix<double>& nodes) {
  std::vector<Triplet<double>> entries;
  const auto m = nodes.view();
  for (index_t i = 0; i < m.rows; ++i)
    for (offset_t k = m.row_offsets[i]; k < m.row_offsets[i + 1]; ++k)
      for (index_t r = 0; r < 3; ++r)
        for (index_t c = 0; c < 3; ++c)
          entries.push_back({3 * i + r, 3 * m.columns[k] + c, m.values[k] * (r == c ? 1 : 0.2)});
  return CsrMatrix<double>::from_triplets(3 * m.rows, 3 * m.rows, entries);
}

/// Off-diagonal weight inside the blocks / all of it.
inline double captured(const CsrMatrix<double>& a, const PermutedPartition& p) {
  std::vector<index_t> block(static_cast<std::size_t>(a.rows()));
  for (index_t b = 0; b < p.blocks.blocks(); ++b)
    for (index_t k = p.blocks.first_row(b); k < p.blocks.first_row(b + 1); ++k)
      block[static_cast<std::size_t>(p.permutation.order()[static_cast<std::size_t>(k)])] = b;
  double inside = 0.0, all = 0.0;
  for (index_t i = 0; i < a.rows(); ++i)
    for (offset_t k = a.view().row_offsets[i]; k < a.view().row_offsets[i + 1]; ++k) {
      const index_t j = a.view().columns[k];
      if (i == j) continue;
      all += std::abs(a.view().values[k]);
      if (block[static_cast<std::size_t>(i)] == block[static_cast<std::size_t>(j)])
        inside += std::abs(a.view().values[k]);
    }
  return inside / all;
}

}  // namespace blockjacobi::test
