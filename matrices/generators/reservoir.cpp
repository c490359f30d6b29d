#include "matrices/generators/reservoir.hpp"

#include "matrices/generators/black_oil.hpp"
#include "matrices/generators/csr_rows.hpp"
#include "matrices/generators/random.hpp"

#include <blockjacobi/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace blockjacobi::matrices {

namespace {

using detail::CellState;
using detail::Grid;
using detail::GridPoint;

constexpr const char* generator = "reservoir";
constexpr double millidarcy = 9.869233e-16;  // m^2
constexpr double cell_length = 20.0, cell_height = 4.0, porosity = 0.2;
constexpr double seconds_per_day = 86400.0;
constexpr double drawdown = 30e5;  // Pa

using Row3 = std::array<double, 3>;
using Steps = std::array<GridPoint, 7>;

/// In ascending order of the cell they lead to.
constexpr Steps steps = {{{0, 0, -1}, {0, -1, 0}, {-1, 0, 0}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

bool stays(const GridPoint& step) { return step.x == 0 && step.y == 0 && step.z == 0; }

void require_options(const ReservoirOptions& options) {
  detail::require_at_least(generator, "contrast", options.contrast, 1.0);
  detail::require_positive(generator, "vertical_ratio", options.vertical_ratio);
  detail::require_positive(generator, "time_step_days", options.time_step_days);
  detail::require_at_least(generator, "wells", options.wells, 0);
  for (const double scale : options.equation_scale) detail::require_positive(generator, "equation_scale", scale);
}

/// `count` different columns of cells, ascending.
std::vector<index_t> choose_columns(const GridSize& size, index_t count, detail::Random& random) {
  std::vector<index_t> columns(static_cast<std::size_t>(size.nx * size.ny));
  std::iota(columns.begin(), columns.end(), 0);
  const auto chosen = static_cast<std::size_t>(count);
  for (std::size_t k = 0; k < chosen; ++k) {
    const auto rest = static_cast<index_t>(columns.size() - k);
    std::swap(columns[k], columns[k + static_cast<std::size_t>(random.below(rest))]);
  }
  columns.resize(chosen);
  std::sort(columns.begin(), columns.end());
  return columns;
}

class Reservoir {
 public:
  Reservoir(const Grid& cells, const ReservoirOptions& options)
      : cells_(cells),
        vertical_ratio_(options.vertical_ratio),
        pore_rate_(cell_length * cell_length * cell_height * porosity / (options.time_step_days * seconds_per_day)),
        equation_scale_(options.equation_scale) {
    detail::Random random(options.seed);
    permeability_ = detail::random_coefficients(cells.points(), options.contrast, random);
    const double lowest = 100.0 * millidarcy / std::sqrt(options.contrast);
    for (double& k : permeability_) k *= lowest;
    choose_states(random);
    well_columns_ = choose_columns(cells.size(), options.wells, random);
  }

  index_t rows() const { return 3 * cells_.points() + static_cast<index_t>(well_columns_.size()); }

  index_t count(index_t row) const {
    if (is_well_row(row)) return 3 * cells_.size().nz + 1;
    const index_t cell = row / 3;
    index_t neighbours = 0;
    for (const GridPoint& step : steps) neighbours += cells_.contains(cells_.point(cell) + step);
    return 3 * neighbours + (well_of(cell) >= 0 ? 1 : 0);
  }

  template <Scalar T>
  void fill(index_t row, detail::RowWriter<T>& writer) const {
    if (is_well_row(row)) {
      fill_well(row, writer);
    } else {
      fill_cell(row / 3, static_cast<std::size_t>(row % 3), writer);
    }
  }

 private:
  void choose_states(detail::Random& random) {
    states_.resize(permeability_.size());
    for (CellState& state : states_) {
      state.pressure = random.between(195e5, 205e5);
      state.water = random.between(0.2, 0.4);
      state.gas = random.between(0.05, 0.25);
    }
  }

  bool is_well_row(index_t row) const { return row >= 3 * cells_.points(); }

  const CellState& state(index_t cell) const { return states_[static_cast<std::size_t>(cell)]; }

  /// Number of the well through a cell, -1 if there is none.
  index_t well_of(index_t cell) const {
    const index_t column = cell % (cells_.size().nx * cells_.size().ny);
    const auto found = std::lower_bound(well_columns_.begin(), well_columns_.end(), column);
    if (found == well_columns_.end() || *found != column) return -1;
    return static_cast<index_t>(found - well_columns_.begin());
  }

  double transmissibility(index_t a, index_t b, const GridPoint& step) const {
    const double ka = permeability_[static_cast<std::size_t>(a)], kb = permeability_[static_cast<std::size_t>(b)];
    const double mean = 2.0 * ka * kb / (ka + kb);
    if (step.z != 0) return vertical_ratio_ * mean * cell_length * cell_length / cell_height;
    return mean * cell_height;
  }

  double well_index(index_t cell) const { return permeability_[static_cast<std::size_t>(cell)] * cell_height; }

  /// Derivatives of the flux of one component from `cell` to `other` by the unknowns of both.
  void flux_derivatives(index_t cell, index_t other, const GridPoint& step, std::size_t component, Row3& by_cell,
                        Row3& by_other) const {
    const double t = transmissibility(cell, other, step);
    const double drop = state(cell).pressure - state(other).pressure;
    const bool outflow = drop >= 0.0;
    const auto upstream = detail::mobility(state(outflow ? cell : other));
    by_cell = {t * upstream.value[component], 0.0, 0.0};
    by_other = {-t * upstream.value[component], 0.0, 0.0};
    Row3& by_upstream = outflow ? by_cell : by_other;
    for (std::size_t u = 0; u < 3; ++u) by_upstream[u] += t * drop * upstream.derivative[component][u];
  }

  template <Scalar T>
  void fill_cell(index_t cell, std::size_t component, detail::RowWriter<T>& writer) const {
    const GridPoint here = cells_.point(cell);
    const auto mobility = detail::mobility(state(cell));
    std::array<Row3, steps.size()> blocks{};
    Row3 own = detail::stored_volume(state(cell)).derivative[component];
    for (double& derivative : own) derivative *= pore_rate_;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      if (stays(steps[s]) || !cells_.contains(here + steps[s])) continue;
      Row3 by_cell;
      flux_derivatives(cell, cells_.number(here + steps[s]), steps[s], component, by_cell, blocks[s]);
      for (std::size_t u = 0; u < 3; ++u) own[u] += by_cell[u];
    }
    const index_t well = well_of(cell);
    if (well >= 0) {
      own[0] += well_index(cell) * mobility.value[component];
      for (std::size_t u = 0; u < 3; ++u) own[u] += well_index(cell) * drawdown * mobility.derivative[component][u];
    }

    const double scale = equation_scale_[component];
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const GridPoint there = here + steps[s];
      if (!cells_.contains(there)) continue;
      const Row3& block = stays(steps[s]) ? own : blocks[s];
      for (std::size_t u = 0; u < 3; ++u)
        writer.push(3 * cells_.number(there) + static_cast<index_t>(u), static_cast<T>(scale * block[u]));
    }
    if (well >= 0)
      writer.push(3 * cells_.points() + well, static_cast<T>(-scale * well_index(cell) * mobility.value[component]));
  }

  /// Oil and water that the well takes in, by the unknowns of its cells and by its own pressure.
  template <Scalar T>
  void fill_well(index_t row, detail::RowWriter<T>& writer) const {
    const index_t column = well_columns_[static_cast<std::size_t>(row - 3 * cells_.points())];
    const index_t layer = cells_.size().nx * cells_.size().ny;
    double by_well = 0.0;
    for (index_t z = 0; z < cells_.size().nz; ++z) {
      const index_t cell = column + z * layer;
      const auto m = detail::mobility(state(cell));
      const double liquid = m.value[detail::oil] + m.value[detail::water];
      by_well -= well_index(cell) * liquid;
      for (std::size_t u = 0; u < 3; ++u) {
        double derivative = drawdown * (m.derivative[detail::oil][u] + m.derivative[detail::water][u]);
        if (u == 0) derivative += liquid;
        writer.push(3 * cell + static_cast<index_t>(u), static_cast<T>(well_index(cell) * derivative));
      }
    }
    writer.push(row, static_cast<T>(by_well));
  }

  Grid cells_;
  double vertical_ratio_;
  double pore_rate_;
  Row3 equation_scale_;
  std::vector<double> permeability_;
  std::vector<CellState> states_;
  std::vector<index_t> well_columns_;
};

}  // namespace

template <Scalar T>
CsrMatrix<T> reservoir(const ReservoirOptions& options) {
  require_options(options);
  const Grid cells(generator, options.cells, 3);
  const offset_t columns = offset_t{options.cells.nx} * options.cells.ny;
  if (options.wells > columns)
    throw InvalidArgument(
        fmt::format("{}: wells is {}, must be <= {}, the columns of cells", generator, options.wells, columns));
  detail::require_rows(generator, offset_t{3} * cells.points() + options.wells);
  const Reservoir rows(cells, options);
  return detail::build_rows<T>(
      rows.rows(), [&](index_t row) { return rows.count(row); },
      [&](index_t row, detail::RowWriter<T>& writer) { rows.fill(row, writer); });
}

template CsrMatrix<float> reservoir(const ReservoirOptions&);
template CsrMatrix<double> reservoir(const ReservoirOptions&);

}  // namespace blockjacobi::matrices
