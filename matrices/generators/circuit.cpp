#include "matrices/generators/circuit.hpp"

#include "matrices/generators/random.hpp"
#include "matrices/generators/require.hpp"
#include "matrices/generators/scalar_cast.hpp"

#include <complex>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace blockjacobi::matrices {

namespace {

using detail::Wide;

constexpr const char* generator = "circuit";
constexpr index_t ground = -1;
constexpr double grounded_share = 0.05;

void require_options(const CircuitOptions& options, bool complex_scalar) {
  detail::require_at_least(generator, "nodes", options.nodes, 1);
  detail::require_at_least(generator, "resistors_per_node", options.resistors_per_node, 1.0);
  detail::require_at_least(generator, "contrast", options.contrast, 1.0);
  detail::require_at_least(generator, "rails", options.rails, 0);
  detail::require_at_most(generator, "rails", options.rails, options.nodes);
  detail::require_half_open(generator, "rail_share", options.rail_share, 0.0, 1.0);
  detail::require_at_least(generator, "sources", options.sources, 0);
  detail::require_at_most(generator, "sources", options.sources, options.nodes);
  detail::require_at_least(generator, "open_sources", options.open_sources, 0);
  detail::require_at_most(generator, "open_sources", options.open_sources, options.sources);
  detail::require_at_least(generator, "controlled_sources", options.controlled_sources, 0);
  detail::require_at_least(generator, "frequency", options.frequency, 0.0);
  detail::require_zero_for_real(generator, "frequency", options.frequency, complex_scalar);
}

template <Scalar T>
class Circuit {
 public:
  explicit Circuit(const CircuitOptions& options) : options_(options), random_(options.seed) {}

  CsrMatrix<T> assemble() {
    connect_nodes();
    connect_rails();
    add_sources();
    add_controlled_sources();
    const index_t rows = options_.nodes + options_.open_sources + options_.sources;
    return CsrMatrix<T>::from_triplets(rows, rows, entries_);
  }

 private:
  void add(index_t row, index_t col, const Wide<T>& value) {
    if (row != ground && col != ground) entries_.push_back({row, col, detail::narrow<T>(value)});
  }

  void add_resistor(index_t a, index_t b) {
    const double conductance = random_.log_uniform(options_.contrast);
    Wide<T> admittance = conductance;
    if (options_.frequency > 0.0)
      admittance = detail::wide<T>(conductance, conductance * options_.frequency * random_.unit());
    if (a == b) b = ground;
    add(a, a, admittance);
    add(b, b, admittance);
    add(a, b, -admittance);
    add(b, a, -admittance);
  }

  /// A tree rooted in the ground, then resistors between random nodes.
  void connect_nodes() {
    add_resistor(0, ground);
    for (index_t node = 1; node < options_.nodes; ++node)
      add_resistor(node, random_.unit() < grounded_share ? ground : random_.below(node));
    const auto extra = static_cast<offset_t>((options_.resistors_per_node - 1.0) * options_.nodes);
    for (offset_t k = 0; k < extra; ++k) {
      const index_t a = random_.below(options_.nodes);
      add_resistor(a, random_.below(options_.nodes));
    }
  }

  void connect_rails() {
    for (index_t rail = 0; rail < options_.rails; ++rail)
      for (index_t node = options_.rails; node < options_.nodes; ++node)
        if (random_.unit() < options_.rail_share) add_resistor(node, rail);
  }

  /// Sources at different nodes form no loop, so the matrix is regular.
  void add_sources() {
    std::vector<index_t> nodes(static_cast<std::size_t>(options_.nodes));
    std::iota(nodes.begin(), nodes.end(), 0);
    for (index_t source = 0; source < options_.sources; ++source) {
      const auto first = static_cast<std::size_t>(source);
      std::swap(nodes[first], nodes[first + static_cast<std::size_t>(random_.below(options_.nodes - source))]);
      const index_t current = options_.nodes + options_.open_sources + source;
      const index_t other_end = source < options_.open_sources ? options_.nodes + source : ground;
      connect_source(current, nodes[first], 1.0);
      connect_source(current, other_end, -1.0);
    }
  }

  void connect_source(index_t current, index_t node, double sign) {
    add(node, current, sign);
    add(current, node, sign);
  }

  /// A current into `node` in proportion to the voltage at `control`; small enough to leave the matrix regular.
  void add_controlled_sources() {
    for (index_t k = 0; k < options_.controlled_sources; ++k) {
      const index_t node = random_.below(options_.nodes);
      const index_t control = random_.below(options_.nodes);
      add(node, control, 0.1 * random_.unit());
    }
  }

  CircuitOptions options_;
  detail::Random random_;
  std::vector<Triplet<T>> entries_;
};

}  // namespace

template <Scalar T>
CsrMatrix<T> circuit(const CircuitOptions& options) {
  require_options(options, is_complex<T>);
  detail::require_rows(generator, offset_t{options.nodes} + options.open_sources + options.sources);
  return Circuit<T>(options).assemble();
}

template CsrMatrix<float> circuit(const CircuitOptions&);
template CsrMatrix<double> circuit(const CircuitOptions&);
template CsrMatrix<std::complex<float>> circuit(const CircuitOptions&);
template CsrMatrix<std::complex<double>> circuit(const CircuitOptions&);

}  // namespace blockjacobi::matrices
