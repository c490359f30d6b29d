#include "matrices/generators/stencil.hpp"

#include "matrices/generators/csr_rows.hpp"
#include "matrices/generators/random.hpp"
#include "matrices/generators/scalar_cast.hpp"

#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

namespace blockjacobi::matrices {

namespace {

using detail::Grid;
using detail::GridPoint;
using detail::Wide;

constexpr const char* generator = "stencil";

void require_options(const StencilOptions& options, bool complex_scalar) {
  for (const double a : options.anisotropy) detail::require_positive(generator, "anisotropy", a);
  detail::require_at_least(generator, "contrast", options.contrast, 1.0);
  detail::require_at_least(generator, "unknowns", options.unknowns, 1);
  detail::require_at_most(generator, "unknowns", options.unknowns, 6);
  detail::require_half_open(generator, "coupling", options.coupling, 0.0, 1.0);
  detail::require_finite(generator, "phase", options.phase);
  detail::require_finite(generator, "shift", options.shift);
  detail::require_zero_for_real(generator, "shift_imaginary", options.shift_imaginary, complex_scalar);
}

struct Step {
  GridPoint by;
  double weight;  ///< 0 for the step that stays
};

double mean_anisotropy(const GridPoint& step, const std::array<double, 3>& anisotropy) {
  const std::array<bool, 3> moves = {step.x != 0, step.y != 0, step.z != 0};
  double sum = 0.0;
  int count = 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (moves[axis]) {
      sum += anisotropy[axis];
      ++count;
    }
  return count > 0 ? sum / count : 0.0;
}

/// In ascending order of the node they lead to.
std::vector<Step> steps_of(const Grid& grid, const StencilOptions& options) {
  const auto axes = grid.axes();
  const index_t rx = axes[0], ry = axes[1], rz = axes[2];
  std::vector<Step> steps;
  for (index_t z = -rz; z <= rz; ++z)
    for (index_t y = -ry; y <= ry; ++y)
      for (index_t x = -rx; x <= rx; ++x) {
        const bool diagonal = std::abs(x) + std::abs(y) + std::abs(z) > 1;
        if (diagonal && options.shape == StencilShape::star) continue;
        const GridPoint by = {x, y, z};
        steps.push_back({by, mean_anisotropy(by, options.anisotropy)});
      }
  return steps;
}

/// q^0, ..., q^(count - 1) for |q| = 1; all 1 for a real scalar.
template <Scalar T>
std::vector<Wide<T>> unit_powers(double phase, std::size_t count) {
  std::vector<Wide<T>> powers(count, Wide<T>(1.0));
  if constexpr (is_complex<T>) {
    const std::complex<double> q = detail::unit_circle(phase);
    for (std::size_t k = 1; k < count; ++k) {
      const std::complex<double> next = powers[k - 1] * q;
      powers[k] = next / std::sqrt(std::norm(next));
    }
  }
  return powers;
}

/// C, row by row.
template <Scalar T>
std::vector<Wide<T>> unknown_coupling(const StencilOptions& options) {
  const auto n = static_cast<std::size_t>(options.unknowns);
  const double share = options.coupling / static_cast<double>(n);
  const auto v = unit_powers<T>(options.phase, n);
  std::vector<Wide<T>> coupling;
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t q = 0; q < n; ++q)
      coupling.push_back(p == q ? Wide<T>(1.0 - options.coupling + share) : share * (v[p] * detail::conjugate(v[q])));
  return coupling;
}

/// The steps that a row takes, and the weight that all of them, those that leave the grid too, sum up to.
struct NodeEdges {
  struct Edge {
    index_t node;
    double weight;
    const Step* step;
  };
  std::array<Edge, 27> edges;
  std::size_t count = 0;
  double total = 0.0;
};

template <Scalar T>
class Stencil {
 public:
  Stencil(const Grid& grid, const StencilOptions& options)
      : grid_(grid),
        unknowns_(options.unknowns),
        shift_(detail::wide<T>(options.shift, options.shift_imaginary)),
        steps_(steps_of(grid, options)),
        coupling_(unknown_coupling<T>(options)),
        turns_(unit_powers<T>(options.phase, 2 * static_cast<std::size_t>(grid.size().ny))) {
    detail::Random random(options.seed);
    coefficients_ = detail::random_coefficients(grid.points(), options.contrast, random);
  }

  index_t count(index_t row) const {
    const GridPoint here = grid_.point(row / unknowns_);
    index_t nodes = 0;
    for (const Step& step : steps_) nodes += grid_.contains(here + step.by);
    return nodes * unknowns_;
  }

  void fill(index_t row, detail::RowWriter<T>& writer) const {
    const index_t node = row / unknowns_;
    const index_t p = row % unknowns_;
    const GridPoint here = grid_.point(node);
    const NodeEdges around = edges_of(node, here);
    for (std::size_t e = 0; e < around.count; ++e) {
      const NodeEdges::Edge& edge = around.edges[e];
      const bool stays = edge.node == node;
      const Wide<T> weight = stays ? Wide<T>(around.total) : -edge.weight * turn(here, edge.step->by);
      for (index_t q = 0; q < unknowns_; ++q) {
        Wide<T> value = weight * coupling_[static_cast<std::size_t>(p * unknowns_ + q)];
        if (stays && p == q) value += shift_;
        writer.push(edge.node * unknowns_ + q, detail::narrow<T>(value));
      }
    }
  }

 private:
  double coefficient(index_t node) const { return coefficients_[static_cast<std::size_t>(node)]; }

  NodeEdges edges_of(index_t node, const GridPoint& here) const {
    NodeEdges around;
    const double own = coefficient(node);
    for (const Step& step : steps_) {
      const GridPoint there = here + step.by;
      double mean = own;
      if (grid_.contains(there)) {
        const index_t neighbour = grid_.number(there);
        const double other = coefficient(neighbour);
        mean = 2.0 * own * other / (own + other);
        around.edges[around.count++] = {neighbour, step.weight * mean, &step};
      }
      around.total += step.weight * mean;
    }
    return around;
  }

  /// e^(i theta) with theta proportional to x-step times twice the mean height, so that the way back is the conjugate.
  Wide<T> turn(const GridPoint& here, const GridPoint& by) const {
    if (by.x == 0) return Wide<T>(1.0);
    const Wide<T> forward = turns_[static_cast<std::size_t>(2 * here.y + by.y)];
    return by.x > 0 ? forward : detail::conjugate(forward);
  }

  Grid grid_;
  index_t unknowns_;
  Wide<T> shift_;
  std::vector<Step> steps_;
  std::vector<Wide<T>> coupling_;
  std::vector<Wide<T>> turns_;
  std::vector<double> coefficients_;
};

}  // namespace

template <Scalar T>
CsrMatrix<T> stencil(const StencilOptions& options) {
  require_options(options, is_complex<T>);
  const Grid grid(generator, options.grid, options.unknowns);
  const Stencil<T> rows(grid, options);
  return detail::build_rows<T>(
      grid.points() * options.unknowns, [&](index_t row) { return rows.count(row); },
      [&](index_t row, detail::RowWriter<T>& writer) { rows.fill(row, writer); });
}

template CsrMatrix<float> stencil(const StencilOptions&);
template CsrMatrix<double> stencil(const StencilOptions&);
template CsrMatrix<std::complex<float>> stencil(const StencilOptions&);
template CsrMatrix<std::complex<double>> stencil(const StencilOptions&);

}  // namespace blockjacobi::matrices
