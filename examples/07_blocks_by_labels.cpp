// Example 7: blocks of rows that are not neighbours.
//
// Two unknowns live on every node of a chain, u and v; all u are numbered first, then all v, as many finite element
// codes do it. The strong coupling is that of u and v on the same node: blocks of neighbours in the numbering miss it,
// blocks by label hold it.
//
// sample run: 07_blocks_by_labels
// sample run: 07_blocks_by_labels 5000

#include <blockjacobi/blockjacobi.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace blockjacobi;

namespace {

/// -u'' + 30 (u - 0.99 v) and -v'' + 30 (v - 0.99 u) on `nodes` points.
CsrMatrix<double> two_fields(index_t nodes) {
  std::vector<Triplet<double>> entries;
  for (index_t i = 0; i < 2 * nodes; ++i) {
    const index_t node = i % nodes, other = (i + nodes) % (2 * nodes);
    entries.push_back({i, i, 32.0});
    entries.push_back({i, other, -29.7});
    if (node > 0) entries.push_back({i, i - 1, -1.0});
    if (node + 1 < nodes) entries.push_back({i, i + 1, -1.0});
  }
  return CsrMatrix<double>::from_triplets(2 * nodes, 2 * nodes, entries);
}

}  // namespace

int main(int argc, char** argv) {
  const index_t nodes = argc > 1 ? std::atoi(argv[1]) : 1000;
  if (nodes < 2) {
    std::fprintf(stderr, "usage: 07_blocks_by_labels [NODES], at least 2\n");
    return 2;
  }
  const CsrMatrix<double> matrix = two_fields(nodes);
  const std::vector<double> b(static_cast<std::size_t>(matrix.rows()), 1.0);
  const Backend backend = Backend::host();

  // Blocks of two neighbours.
  const LinearOperator<double> A(backend, matrix);
  const BlockJacobi<double> M(backend, matrix, BlockPartition::uniform(matrix.rows(), 2));
  std::vector<double> x(b.size());
  const SolveReport neighbours = cg(A, M, b, x);
  std::printf("neighbours: %s\n", to_text(neighbours).c_str());

  // Blocks by node. Everything between the two lines with `permutation` happens in the new numbering.
  std::vector<index_t> node_of_row;
  for (index_t i = 0; i < matrix.rows(); ++i) node_of_row.push_back(i % nodes);
  const auto [permutation, blocks] = BlockPartition::from_labels(node_of_row);
  const PermutedMatrix<double> permuted(matrix, permutation);
  const LinearOperator<double> B(backend, permuted.view());
  const BlockJacobi<double> N(backend, permuted.view(), blocks);
  std::vector<double> y(b.size());
  const SolveReport nodes_together = cg(B, N, permutation.to_permuted(b), y);
  const std::vector<double> z = permutation.to_original(y);
  std::printf("nodes:      %s\n", to_text(nodes_together).c_str());

  // The same solution, in the same order.
  double difference = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) difference = std::max(difference, std::abs(x[i] - z[i]));
  std::printf("largest difference of the solutions: %.1e\n", difference);
  const bool good = neighbours.converged() && nodes_together.converged() && difference < 1e-5 &&
                    nodes_together.iterations < neighbours.iterations;
  return good ? 0 : 1;
}
