#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include <cstdint>

namespace blockjacobi::matrices {

struct CircuitOptions {
  index_t nodes = 500;              ///< >= 1
  double resistors_per_node = 2.0;  ///< >= 1; one a node connects everything with the ground
  double contrast = 1e3;            ///< >= 1; conductances are log-uniform in [1, contrast)
  index_t rails = 2;                ///< the first nodes are supply lines: dense rows; at most nodes
  double rail_share = 0.25;         ///< of the other nodes have a resistor to a rail, in [0, 1)
  index_t sources = 20;             ///< voltage sources, each at another node; at most nodes
  /// Of the sources, so many end in a node of their own with nothing else at it: its row has no diagonal entry either.
  index_t open_sources = 5;
  /// Voltage-controlled current sources: entries (i, j) without a partner (j, i).
  index_t controlled_sources = 0;
  /// Complex scalars: every resistor gets a capacitor beside it, admittance g (1 + i frequency u) with u in [0, 1).
  double frequency = 0.0;
  std::uint64_t seed = 1;
};

/// Modified nodal analysis of a random network: [G B; B^T 0] with the conductances G between the nodes and one column
/// of B a voltage source. Rows: nodes, then the open ends of sources, then the currents of the sources; the diagonal
/// entries of the latter two are not stored. Symmetric (complex symmetric) indefinite without controlled sources.
/// Throws InvalidArgument for options out of range or more than 2^31 - 1 rows.
template <Scalar T>
[[nodiscard]] CsrMatrix<T> circuit(const CircuitOptions& options);

}  // namespace blockjacobi::matrices
