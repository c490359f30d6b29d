#pragma once

#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/two_level.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace blockjacobi {

enum class Method { cg, gmres };

struct SuggestOptions {
  Method method = Method::cg;
  double rtol = 1e-8;
  index_t restart = 30;  ///< of gmres
  SingularPolicy singular = SingularPolicy::scalar_jacobi;
  /// Part of the predicted time to solution that probes may cost, their set-ups included; 0 for no probe.
  double probe_share = 0.1;
  /// Bytes per second and seconds per iteration of the cost model; 0 takes the constants of the backend: 20 GB/s a
  /// thread, 60 at most, and 5 us on the host, 3.2 TB/s (75 % of a device copy of an H200) and 9.5 us (gmres: 25 us) on
  /// CUDA.
  double bandwidth = 0.0;
  double latency = 0.0;
  bool renumber = true;  ///< also candidates whose rows do not stay where they are: clusters
  bool coarse = true;    ///< also candidates with a coarse level
};

/// One way to choose the blocks, and what it is predicted to cost.
struct BlockCandidate {
  /// "scalar", "node", "detect 8", "detect 16", "detect 32", on the host also "coupled 32"; where they are predicted to
  /// pay "clusters 8", "clusters 32", "clusters 128", "clusters 512"; one of these with " + ones" or " + relaxed 4".
  std::string name;
  /// Of the rows in the numbering of `permutation`, which is the identity where rows stay. A SuggestedSystem takes care
  /// of it.
  BlockPartition blocks;
  Permutation permutation;
  std::optional<TwoLevelOptions> coarse{};  ///< of a coarse level on these blocks
  /// Sum of min(1, |a_ij| / sqrt(s_i s_j)) over the entries inside the blocks / over all, without the diagonal, s_i as
  /// in BlockPartition::metis; 1 if there are none.
  double captured = 0.0;
  std::size_t bytes = 0;           ///< of the inverses
  double setup_seconds = 0.0;      ///< predicted: partition, extraction, inversion, start of the solver
  double iteration_seconds = 0.0;  ///< predicted: bytes of an iteration / bandwidth + latency
  bool probed = false;
  /// A probe of these blocks, under this name or another, broke down or had a singular block: recommended only if all
  /// have failed. False if they were not probed.
  bool failed = false;
  index_t probe_iterations = 0;  ///< iterations of the probe
  double probe_reduction = 1.0;  ///< smallest ||r|| / ||b|| of the probe
  double iterations = 0.0;       ///< predicted; infinity if failed
  double seconds = 0.0;          ///< setup_seconds + iterations * iteration_seconds
};

struct Suggestion {
  std::vector<BlockCandidate> candidates;  ///< "scalar" is the first
  std::size_t recommended = 0;
  double probe_seconds = 0.0;  ///< wall time of the probes, their set-up included
  double probe_cost = 0.0;     ///< the same by the cost model; at most probe_budget
  double probe_budget = 0.0;   ///< probe_share of the time to solution that was predicted when the last probe began

  /// Throws InvalidArgument where there is none, in an object that was moved from.
  const BlockCandidate& best() const {
    if (recommended >= candidates.size()) throw InvalidArgument("Suggestion::best: there are no candidates");
    return candidates[recommended];
  }
  /// False: scalar Jacobi is predicted to be the fastest.
  bool blocks_pay() const noexcept { return recommended != 0; }
};

/// Which blocks to take for A, on its backend, and whether with a coarse level; one on a device is copied to the host
/// for what the host does. SuggestedSystem makes the preconditioner of a candidate.
///
/// Cost of an iteration, in words of the scalar (s bytes): the product nnz (1 + 4/s) + 8 (n + 1) / s + 2 n, the
/// application sum N^2 + 2 n, the vectors 8 n (cg) or (1.5 (restart + 1) + 6) n (gmres); a coarse level of m vectors
/// adds another product, Z and Z^H, and m^2. Cost of the set-up: the matrix and the inverses once, 2 N^3 operations a
/// block, the partition and the coarse level. On CUDA small systems take their time whatever is computed: an iteration
/// more for each row of the largest block (51 ns, gmres 23) and for blocks above 32, besides the start of set-up and
/// solver. The numbers are those of src/suggest/cost_model.cpp.
///
/// Candidates: scalar Jacobi; nodes, of the block size that is stated with the matrix or the unmerged supervariables;
/// detected blocks, on the host also coupled ones. Clusters renumber the system and take several passes over the
/// matrix, so they are found only where they are predicted to be the fastest with their partition, as if they captured
/// 0.45 (8 rows), 0.65 (32), 0.8 (128), 0.9 (512) of the weight, or by what those found before capture.
///
/// Iterations: scalar Jacobi is presumed to take 170 with cg, and 500 with gmres, which on many systems does not
/// converge with it at all; another candidate takes f = (1 - captured)^0.6 (cg) or (1 - captured)^0.85 (gmres) times
/// those of scalar Jacobi, as on 61 systems in the median. Then candidates are probed by the solver itself with b = A
/// x, x random: scalar Jacobi, on the host whatever the backend is, where its diagonal needs no set-up and nothing is
/// transferred; the blocks that are then predicted to be the fastest; and on these, if there is room for the set-up, a
/// coarse level of ones and one of four relaxed vectors an aggregate. Each runs for a hundredth of the iterations that
/// it predicts, for one at least. A probe of k iterations that reached rtol^t predicts p = k / t * S^(1 - t) of them, S
/// being how much faster a solve starts than it goes on: 18 with blocks of rows that stay, 14 with clusters, 10 with a
/// coarse level of ones, 5 of relaxed vectors (benchmarks/results/experience-host.md, which also says how far off that
/// is). The blocks are predicted to take sqrt(p f q), q being the p of scalar Jacobi; with a coarse level as many times
/// fewer as its probe predicts fewer than theirs. The fastest of those that were probed is recommended if it takes at
/// most 0.9 of the time of scalar Jacobi, else that; a coarse level that was not probed never is. Where there were not
/// two, or all broke down, it is of those that are at most 5 % slower than the fastest of all the one that captures
/// most.
///
/// What the probes cost: before each the cost model says what checks, transfer, set-up, and products outside of the
/// iterations will take, and the probe gets as many iterations as then fit into probe_share (without a coarse level 0.3
/// of it) of the shortest time to solution that is predicted at that moment, less what those before cost. If not even
/// one fits, that probe is left out (where it is the first, all are), and what is known so far decides. Hence
/// probe_cost <= probe_budget, and the probes never take more than probe_share of what the longer of two solves is
/// predicted to take: one with the presumed iterations and one with those that the first probe predicts. What it cannot
/// promise is that a system which converges in far fewer pays no more than its share: the first probe has to find that
/// out, by at least one iteration. probe_seconds is the time it took. What comes beside the probes (the partitions, and
/// captured in a pass over the matrix) is not in it.
///
/// METIS is no candidate: on most systems the partition alone takes longer than a whole solve; it pays where many
/// solves with one pattern follow. Coupled blocks, whose partition is made by the host, are none on CUDA for the same
/// reason.
///
/// The same matrix on the same backend with the same number of host threads gives the same recommendation. Waits; not
/// capturable. Throws InvalidArgument for a matrix that is not square, for rtol outside (0, 1), probe_share outside
/// [0, 1], restart < 1, a negative or infinite bandwidth or latency, or a method or policy that is none, and CudaError
/// where the device has no room for a candidate, BlockPartition::clusters() among them.
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT Suggestion suggest(const SparseMatrix<T>& matrix, const SuggestOptions& options = {});
/// The same for a matrix on the host, which a device gets a copy of.
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT Suggestion suggest(const Backend& backend, const CsrMatrix<T>& matrix,
                                                    const SuggestOptions& options = {});

/// A table, one line a candidate, and a sentence.
[[nodiscard]] BLOCKJACOBI_EXPORT std::string to_text(const Suggestion& suggestion);
/// One JSON object with the fields of Suggestion; infinity is null.
[[nodiscard]] BLOCKJACOBI_EXPORT std::string to_json(const Suggestion& suggestion);

}  // namespace blockjacobi
