#pragma once

#include "suggest/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

// What suggest() presumes before anything was probed.

namespace blockjacobi::detail {

/// What a solver is presumed to need, on the systems of benchmarks/results/suggest-host.md.
struct Presumed {
  double iterations;               ///< of scalar Jacobi
  double with_ones, with_relaxed;  ///< iterations with a coarse level over those of the blocks alone
};
inline constexpr Presumed presumed_of_cg{120.0, 0.7, 0.5}, presumed_of_gmres{300.0, 0.7, 0.7};
/// With more rows iterations grow as the number of points along an edge of a mesh. Those of diffusions are plane as
/// often as not; a row with fewer entries than a point in space and its neighbours is of a plane one, or of a network,
/// and takes so many iterations for each point along an edge.
inline constexpr double rows_of_presumed = 30e3, growth = 1.0 / 3.0, growth_of_diffusion = 1.0 / 2.0;
inline constexpr double entries_in_space = 6.0, of_plane_edge = 2.3;
/// Of the time of scalar Jacobi: what takes more is not worth it.
inline constexpr double worth_it = 0.95;
/// Iterations with a multigrid over the root of those of the blocks alone.
inline constexpr double with_multigrid = 2.0;
/// Where more of the weight is positive, as in an elasticity or a mass matrix, ones are not what a multigrid needs:
/// it saves half of the iterations, each of which takes four times as long.
inline constexpr double most_positive_of_diffusion = 0.25;

/// Of scalar Jacobi; of a diffusion they grow to `most` at most.
inline double presumed_iterations(const Presumed& presumed, double rows, double nnz, bool is_diffusion,
                                  double most = std::numeric_limits<double>::infinity()) {
  const double edge = std::max(1.0, rows / rows_of_presumed);
  if (!is_diffusion) return presumed.iterations * std::pow(edge, growth);
  const double usual = presumed.iterations * std::pow(edge, growth_of_diffusion);
  const double plane = nnz < entries_in_space * rows ? of_plane_edge * std::sqrt(rows) : 0.0;
  return std::max(presumed.iterations, std::min(most, std::max(usual, plane)));
}

/// Of scalar Jacobi, at most: by the condition number of a matrix of so much coupling a row, whose scaled diagonal is
/// one (Saad, Iterative methods for sparse linear systems, 2003, 6.11.3), times what rows that are coupled more may
/// need.
inline double iterations_by_coupling(double coupling, double rtol) {
  constexpr double slack = 4.0;
  const double most = std::min(coupling, 1.0 - 1e-12);
  return slack * 0.5 * std::sqrt((1.0 + most) / (1.0 - most)) * std::log(2.0 / rtol);
}

/// Whether products have fewer elements than TwoLevel and Multigrid refuse: so many times those of A.
inline bool has_room(offset_t nnz, index_t times) { return nnz <= std::numeric_limits<std::int32_t>::max() / times; }
/// The product A P of a Multigrid has up to three times those of A.
inline constexpr index_t times_of_multigrid = 4;

/// What the costs say of blocks of a shape; the blocks themselves are not in it.
inline BlockCandidate costed(std::string name, const BlockShape& shape, std::size_t scalar_bytes,
                             const CostModel& cost) {
  BlockCandidate c;
  c.name = std::move(name);
  c.bytes = static_cast<std::size_t>(shape.squares) * scalar_bytes;
  c.setup_seconds = cost.setup_seconds(shape);
  c.iteration_seconds = cost.iteration_seconds(shape);
  return c;
}

inline void set_iterations(BlockCandidate& c, double iterations) {
  c.iterations = std::max(1.0, iterations);
  c.seconds = c.setup_seconds + c.iterations * c.iteration_seconds;
}

}  // namespace blockjacobi::detail
