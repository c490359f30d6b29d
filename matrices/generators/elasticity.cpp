#include "matrices/generators/elasticity.hpp"

#include "matrices/generators/csr_rows.hpp"
#include "matrices/generators/hexahedron_stiffness.hpp"
#include "matrices/generators/random.hpp"
#include "matrices/generators/scalar_cast.hpp"

#include <complex>
#include <cstddef>
#include <vector>

namespace blockjacobi::matrices {

namespace {

using detail::Grid;
using detail::GridPoint;
using detail::Wide;

constexpr const char* generator = "elasticity";

void require_options(const ElasticityOptions& options, bool complex_scalar) {
  for (const double h : options.spacing) detail::require_positive(generator, "spacing", h);
  detail::require_positive(generator, "young", options.young);
  detail::require_half_open(generator, "poisson", options.poisson, 0.0, 0.5);
  detail::require_at_least(generator, "contrast", options.contrast, 1.0);
  detail::require_zero_for_real(generator, "loss_factor", options.loss_factor, complex_scalar);
}

/// Free nodes: without those of the clamped face.
GridSize free_nodes(const GridSize& elements) { return {elements.nx, elements.ny + 1, elements.nz + 1}; }

template <Scalar T>
class Elasticity {
 public:
  Elasticity(const Grid& elements, const Grid& nodes, const ElasticityOptions& options)
      : elements_(elements),
        nodes_(nodes),
        modulus_(detail::wide<T>(options.young, options.young * options.loss_factor)),
        stiffness_(detail::hexahedron_stiffness(options.spacing, options.poisson)) {
    detail::Random random(options.seed);
    coefficients_ = detail::random_coefficients(elements.points(), options.contrast, random);
  }

  index_t count(index_t row) const {
    const GridPoint here = nodes_.point(row / 3);
    index_t nodes = 0;
    for_each_neighbour(here, [&](index_t, std::size_t) { ++nodes; });
    return 3 * nodes;
  }

  void fill(index_t row, detail::RowWriter<T>& writer) const {
    const GridPoint here = nodes_.point(row / 3);
    const auto sums = assemble(here, static_cast<std::size_t>(row % 3));
    for_each_neighbour(here, [&](index_t node, std::size_t slot) {
      for (std::size_t c = 0; c < 3; ++c)
        writer.push(3 * node + static_cast<index_t>(c), detail::narrow<T>(modulus_ * sums[3 * slot + c]));
    });
  }

 private:
  /// Three sums for each of the 27 nodes around, node (x, y, z) in {0, 1, 2}^3 in slot x + 3 y + 9 z.
  using RowSums = std::array<double, 3 * 27>;

  /// f(node, slot), nodes ascending.
  template <class F>
  void for_each_neighbour(const GridPoint& here, F&& f) const {
    std::size_t slot = 0;
    for (index_t z = -1; z <= 1; ++z)
      for (index_t y = -1; y <= 1; ++y)
        for (index_t x = -1; x <= 1; ++x, ++slot) {
          const GridPoint there = here + GridPoint{x, y, z};
          if (nodes_.contains(there)) f(nodes_.number(there), slot);
        }
  }

  /// Row `component` of a node, from the elements around it in ascending order: both (i, j) and (j, i) are then the sum
  /// of the same numbers in the same order, and the matrix is exactly symmetric.
  RowSums assemble(const GridPoint& here, std::size_t component) const {
    RowSums sums{};
    for (index_t z = 0; z <= 1; ++z)
      for (index_t y = 0; y <= 1; ++y)
        for (index_t x = 0; x <= 1; ++x) {
          // Free node x has the elements x and x + 1 beside it, since the clamped nodes are not numbered.
          const GridPoint element = here + GridPoint{x, y - 1, z - 1};
          if (elements_.contains(element)) add_element(sums, element, {1 - x, 1 - y, 1 - z}, component);
        }
    return sums;
  }

  void add_element(RowSums& sums, const GridPoint& element, const GridPoint& corner, std::size_t component) const {
    const double coefficient = coefficients_[static_cast<std::size_t>(elements_.number(element))];
    const auto row = 3 * static_cast<std::size_t>(corner.x + 2 * corner.y + 4 * corner.z) + component;
    for (std::size_t other = 0; other < 8; ++other) {
      const GridPoint there = {static_cast<index_t>(other & 1U), static_cast<index_t>((other >> 1) & 1U),
                               static_cast<index_t>(other >> 2)};
      const auto slot = static_cast<std::size_t>(there.x - corner.x + 1 + 3 * (there.y - corner.y + 1) +
                                                 9 * (there.z - corner.z + 1));
      for (std::size_t c = 0; c < 3; ++c) sums[3 * slot + c] += coefficient * stiffness_[24 * row + 3 * other + c];
    }
  }

  Grid elements_;
  Grid nodes_;
  Wide<T> modulus_;
  detail::HexahedronStiffness stiffness_;
  std::vector<double> coefficients_;
};

}  // namespace

template <Scalar T>
CsrMatrix<T> elasticity(const ElasticityOptions& options) {
  require_options(options, is_complex<T>);
  const Grid elements(generator, options.elements, 1);
  detail::require_rows(generator, offset_t{options.elements.ny} + 1);
  detail::require_rows(generator, offset_t{options.elements.nz} + 1);
  const Grid nodes(generator, free_nodes(options.elements), 3);
  const Elasticity<T> rows(elements, nodes, options);
  return detail::build_rows<T>(
      3 * nodes.points(), [&](index_t row) { return rows.count(row); },
      [&](index_t row, detail::RowWriter<T>& writer) { rows.fill(row, writer); });
}

template CsrMatrix<float> elasticity(const ElasticityOptions&);
template CsrMatrix<double> elasticity(const ElasticityOptions&);
template CsrMatrix<std::complex<float>> elasticity(const ElasticityOptions&);
template CsrMatrix<std::complex<double>> elasticity(const ElasticityOptions&);

}  // namespace blockjacobi::matrices
