#pragma once

#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/block_partition.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace blockjacobi {

enum class Method { cg, gmres };

struct SuggestOptions {
  Method method = Method::cg;
  double rtol = 1e-8;
  index_t restart = 30;  ///< of gmres
  SingularPolicy singular = SingularPolicy::scalar_jacobi;
  /// Part of a solve that the probe takes, in iterations of all probed candidates together; 0 for no probe.
  double probe_share = 0.1;
  /// Bytes per second and seconds per iteration of the cost model; 0 takes the constants of the backend: 20 GB/s and
  /// 5 us on the host, 3.2 TB/s (75 % of a device copy of an H200) and 10 us (gmres: 28 us) on CUDA.
  double bandwidth = 0.0;
  double latency = 0.0;
};

/// One way to choose the blocks, and what it is predicted to cost.
struct BlockCandidate {
  std::string
      name;  ///< "scalar", "detect 8", "detect 16", "detect 32", "uniform 8", "uniform 32", "uniform 64", "coupled 32"
  BlockPartition blocks;
  /// Sum of min(1, |a_ij| / sqrt(s_i s_j)) over the entries inside the blocks / over all, without the diagonal, s_i as
  /// in BlockPartition::metis; 1 if there are none.
  double captured = 0.0;
  std::size_t bytes = 0;           ///< of the inverses
  double setup_seconds = 0.0;      ///< predicted: partition, extraction, inversion
  double iteration_seconds = 0.0;  ///< predicted: bytes of an iteration / bandwidth + latency
  bool probed = false;
  bool failed = false;           ///< the probe broke down: this candidate is never recommended
  index_t probe_iterations = 0;  ///< iterations of the probe
  double probe_reduction = 1.0;  ///< smallest ||r|| / ||b|| of the probe
  double iterations = 0.0;       ///< predicted; infinity if failed
  double seconds = 0.0;          ///< setup_seconds + iterations * iteration_seconds
};

struct Suggestion {
  std::vector<BlockCandidate> candidates;  ///< "scalar" is the first
  std::size_t recommended = 0;
  double probe_seconds = 0.0;  ///< wall time of the probes, their set-up included

  const BlockCandidate& best() const { return candidates[recommended]; }
  /// False: scalar Jacobi is predicted to be the fastest.
  bool blocks_pay() const noexcept { return recommended != 0; }
};

/// Which blocks to take for A, a matrix on the host.
///
/// Cost of an iteration, in words of the scalar (s bytes): the product nnz (1 + 4/s) + 8 (n + 1) / s + 2 n, the
/// application sum N^2 + 2 n, the vectors 8 n (cg) or (1.5 (restart + 1) + 6) n (gmres). Cost of the set-up: the matrix
/// and the inverses once, 2 N^3 operations a block at 3 Gflop/s and thread of the host or 1 Tflop/s, and the partition
/// (detect one pass over the matrix, coupled four; on CUDA 4 ns an entry and pass and 0.2 ms). On CUDA blocks of more
/// than 32 rows cost 5 us an iteration more.
///
/// Iterations: two candidates are probed by the solver itself with b = A x, x random: scalar Jacobi and, on the host,
/// coupled blocks, on CUDA the choice that is predicted to be the fastest without a probe of its own. Each runs until
/// ||r|| / ||b|| is below rtol^(probe_share / 2), which is that share of a solve that goes on at the same rate, and for
/// one iteration at least. A probe of k iterations that reached rtol^t predicts p = k / t * 16^(1 - t) of them: 16 is
/// how much faster a solve starts than it goes on, from the systems of benchmarks/results/suggest-host.md. With q the p
/// of scalar Jacobi, a candidate that was not probed is predicted to take q sqrt(1 - captured) iterations, the other
/// one that was sqrt(p q (1 - captured)): a short probe alone says too little. The faster of the two that were probed
/// is recommended; without a probe the fastest of all.
///
/// METIS is no candidate: on most systems the partition alone takes longer than a whole solve; it pays where many
/// solves with one pattern follow.
///
/// The same matrix on the same backend gives the same recommendation. Waits; not capturable. Throws InvalidArgument for
/// a matrix that is not square, for rtol outside (0, 1), probe_share outside [0, 1], restart < 1, or a negative
/// bandwidth or latency.
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT Suggestion suggest(const Backend& backend, const CsrMatrix<T>& matrix,
                                                    const SuggestOptions& options = {});

/// A table, one line a candidate, and a sentence.
[[nodiscard]] BLOCKJACOBI_EXPORT std::string to_text(const Suggestion& suggestion);
/// One JSON object with the fields of Suggestion; infinity is null.
[[nodiscard]] BLOCKJACOBI_EXPORT std::string to_json(const Suggestion& suggestion);

}  // namespace blockjacobi
