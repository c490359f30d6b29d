#pragma once

#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/multigrid.hpp>
#include <blockjacobi/two_level.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace blockjacobi {

enum class Method { cg, gmres };

struct SuggestOptions {
  Method method = Method::cg;
  double rtol = 1e-8;
  index_t restart = 30;  ///< of gmres
  SingularPolicy singular = SingularPolicy::scalar_jacobi;
  /// Part of the predicted time to solution that probes may cost, their set-ups included; 0 for no probe. See below for
  /// the look before that on CUDA.
  double probe_share = 0.1;
  /// Bytes per second and seconds per iteration of the cost model; 0 takes the constants of the backend: 20 GB/s a
  /// thread, 60 at most, and 5 us on the host, 3.2 TB/s (75 % of a device copy of an H200) and 9.5 us (gmres: 25 us) on
  /// CUDA; where a solve takes one launch, 5.5 us (12.5 us).
  double bandwidth = 0.0;
  double latency = 0.0;
  bool renumber = true;  ///< also candidates whose rows do not stay where they are: clusters
  bool coarse = true;    ///< also candidates with a coarse level or a multigrid
};

/// One way to choose the blocks, and what it is predicted to cost.
struct BlockCandidate {
  /// "scalar", "node", "detect 8", "detect 16", "detect 32", on the host perhaps "coupled 32"; where they are predicted
  /// to pay "clusters 8", "clusters 32", "clusters 128", "clusters 512"; one of these with " + ones", " + relaxed 4" or
  /// " + multigrid".
  std::string name;
  /// Of the rows in the numbering of `permutation`, which is the identity where rows stay. A SuggestedSystem takes care
  /// of it.
  BlockPartition blocks;
  Permutation permutation;
  std::optional<TwoLevelOptions> coarse{};      ///< of a coarse level on these blocks
  std::optional<MultigridOptions> multigrid{};  ///< of a multigrid on these blocks, then there is no coarse level
  /// Sum of min(1, |a_ij| / sqrt(s_i s_j)) over the entries inside the blocks / over all, without the diagonal, s_i as
  /// in BlockPartition::metis; 1 if there are none.
  double captured = 0.0;
  std::size_t bytes = 0;  ///< of the inverses
  /// Predicted: extraction, inversion, start of the solver. The blocks are there, however long it took to find them.
  double setup_seconds = 0.0;
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
  /// Row and column of the first entry that is NaN or Inf, where a look at the matrix found one: scalar Jacobi is the
  /// only candidate then, with infinitely many iterations.
  std::optional<std::pair<index_t, index_t>> non_finite{};

  /// Throws InvalidArgument where there is none, in an object that was moved from.
  const BlockCandidate& best() const {
    if (recommended >= candidates.size()) throw InvalidArgument("Suggestion::best: there are no candidates");
    return candidates[recommended];
  }
  /// False: scalar Jacobi is predicted to be the fastest.
  bool blocks_pay() const noexcept { return recommended != 0; }
};

/// Which blocks to take for A, on its backend, and whether with a coarse level or a multigrid; one on a device is
/// copied to the host for what the host does. SuggestedSystem makes the preconditioner of a candidate.
///
/// Cost of an iteration, in words of the scalar (s bytes): the product nnz (1 + 4/s) + 8 (n + 1) / s + 2 n, the
/// application sum N^2 + 2 n, the vectors 8 n (cg) or (1.5 (restart + 1) + 6) n (gmres; on the host 2.5); a coarse
/// level of m vectors adds another product, Z and Z^H, and m^2; a multigrid 4.2 times product and application, 7.5
/// times with scalar Jacobi, on CUDA 2.8 times. On the host the N^2 of inverses count half, and those of blocks above
/// 32 rows that leave the cache of a core twice. Cost of the set-up: the matrix and the inverses once, 2 N^3 operations
/// a block, and the coarse level or the multigrid. On CUDA small systems take their time whatever is computed: an
/// iteration more for each row of the largest block (51 ns, gmres 23; in one launch 21, 45) and for blocks above 32,
/// besides the start of set-up and solver. The numbers are those of src/suggest/cost_model.cpp.
///
/// Candidates: scalar Jacobi; nodes, of the block size that is stated with the matrix or the unmerged supervariables;
/// detected blocks; on the host coupled ones, where finding them takes at most a hundredth of what a solve is predicted
/// to take. What takes more work is made only where it is predicted to be the fastest of all, that work included:
/// clusters, which renumber the system and take several passes over the matrix; coarse levels of ones and of four
/// relaxed vectors an aggregate, on any of these blocks; with cg multigrids on these, of diffusions that a Multigrid
/// takes and coarsens. A matrix passes for a diffusion where positive real parts are at most a quarter of the weight
/// off the diagonal, that of `captured`: elasticity and mass matrices have more, and a multigrid from ones does not pay
/// there. Before they are found, clusters of up to 8 rows are presumed to leave u^2 of the weight outside, u being what
/// the strongest coupling of each row leaves, and with four times as many rows half of that; those that were found
/// scale what others are presumed to leave.
///
/// Iterations: scalar Jacobi is presumed to take 120 with cg and 300 with gmres, above 30 000 rows (n / 30 000)^(1/3)
/// times that, with cg and a diffusion (n / 30 000)^(1/2), or if it has fewer than 6 entries a row 2.3 sqrt(n), as far
/// as its diagonal lets it; another candidate (1 - captured)^0.7 times those of scalar Jacobi; a coarse level 0.7 times
/// those of its blocks, with cg and relaxed vectors half; a multigrid on blocks that take k of them 2 sqrt(k). Then
/// candidates are probed by the solver itself with b = A x, x random: first scalar Jacobi, on the host whatever the
/// backend is, where its diagonal needs no set-up and nothing is transferred; then again and again the one that is
/// predicted to be the fastest, until that is one that was probed; at the end, with what is left of the budget, a
/// coarse level of ones on the fastest blocks. A probe runs for a hundredth of the iterations that it predicts, with
/// gmres for half of the restart at most. One of k iterations that reached rtol^t predicts (k / t)^t p^(1 - t) of them,
/// p being those that were predicted before, but no fewer than k / t, since a solve goes on no faster than it starts.
/// Of a diffusion the exponents are t^2 and 1 - t^2 once a probe has ended, but with a multigrid: what is smooth in the
/// error takes the iterations, and hardly shows at first. Infinitely many if 8 gained nothing. Where a probe of blocks
/// predicts fewer iterations than the weight that they capture did, so it does for the others. The fastest is
/// recommended, probed or not, if it takes at most 0.95 of the time of scalar Jacobi, else that.
///
/// On CUDA a look at the matrix, before any probe, takes 0.25 ms, 61 ns a row and 4.8 ns an entry. If that is more than
/// half of probe_share of what scalar Jacobi is presumed to take, with cg and no block size stated, there is that
/// alone, and "detect 8 + multigrid" of a diffusion on the device if it is to pay; a probe_share of 0 or 1 looks.
///
/// What the probes cost: before each the cost model says what checks, transfer, set-up, and products outside of the
/// iterations will take, and the probe gets as many iterations as then fit into probe_share (for scalar Jacobi half of
/// it) of the shortest time to solution that is predicted at that moment, less what those before cost. If not even one
/// fits, that probe is left out, and what is known so far decides. Hence probe_cost <= probe_budget, and
/// the probes never take more than probe_share of the longest solve that was predicted. What it cannot promise is that
/// a system which converges in far fewer iterations than presumed pays no more than its share: the first probe has to
/// find that out, by at least one iteration. probe_seconds is the time it took. What comes beside the probes (the
/// partitions, and captured in a pass over the matrix) is not in it.
///
/// METIS is no candidate: on most systems the partition alone takes longer than a whole solve; it pays where many
/// solves with one pattern follow. Coupled blocks, whose partition is made by the host, are none on CUDA for the same
/// reason.
///
/// NaN and Inf in the matrix are reported and not thrown, as by BlockJacobi: `non_finite` says where, and no choice is
/// weighed. Without a look nothing is known of them; the report of the BlockJacobi says it there.
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
