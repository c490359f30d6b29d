#include "matrices/generators/saddle_point.hpp"

#include "matrices/generators/csr_rows.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace blockjacobi::matrices {

namespace {

using detail::Grid;
using detail::GridPoint;

constexpr const char* generator = "saddle_point";

/// u and v stand on the left and lower face of their cell.
enum class Field : std::size_t { u, v, p };

struct Unknown {
  Field field;
  GridPoint cell;
};

class SaddlePoint {
 public:
  SaddlePoint(const Grid& cells, const SaddlePointOptions& options) : cells_(cells), viscosity_(options.viscosity) {
    numbers_.fill(std::vector<index_t>(static_cast<std::size_t>(cells.points()), -1));
    if (options.order == SaddlePointOrder::cells) {
      for (index_t cell = 0; cell < cells.points(); ++cell)
        for (const Field field : {Field::u, Field::v, Field::p}) number_if_free(field, cell);
    } else {
      for (const Field field : {Field::u, Field::v, Field::p})
        for (index_t cell = 0; cell < cells.points(); ++cell) number_if_free(field, cell);
    }
  }

  index_t rows() const { return static_cast<index_t>(unknowns_.size()); }

  index_t count(index_t row) const {
    index_t entries = 0;
    for_each_entry(row, [&](index_t, double) { ++entries; });
    return entries;
  }

  template <Scalar T>
  void fill(index_t row, detail::RowWriter<T>& writer) const {
    for_each_entry(row, [&](index_t column, double value) { writer.push(column, static_cast<T>(value)); });
  }

 private:
  /// Faces in the walls carry no unknown, nor does the last pressure.
  void number_if_free(Field field, index_t cell) {
    const GridPoint at = cells_.point(cell);
    if ((field == Field::u && at.x == 0) || (field == Field::v && at.y == 0)) return;
    if (field == Field::p && cell == cells_.points() - 1) return;
    numbers_[static_cast<std::size_t>(field)][static_cast<std::size_t>(cell)] = rows();
    unknowns_.push_back({field, at});
  }

  /// -1 if there is no such unknown.
  index_t number(Field field, const GridPoint& cell) const {
    if (!cells_.contains(cell)) return -1;
    return numbers_[static_cast<std::size_t>(field)][static_cast<std::size_t>(cells_.number(cell))];
  }

  template <class F>
  void emit(Field field, const GridPoint& cell, double value, F&& f) const {
    const index_t column = number(field, cell);
    if (column >= 0) f(column, value);
  }

  /// f(column, value), in no particular order.
  template <class F>
  void for_each_entry(index_t row, F&& f) const {
    const Unknown& unknown = unknowns_[static_cast<std::size_t>(row)];
    if (unknown.field == Field::p) {
      divergence(unknown.cell, f);
    } else {
      momentum(row, unknown, f);
    }
  }

  template <class F>
  void divergence(const GridPoint& cell, F&& f) const {
    emit(Field::u, cell, 1.0, f);
    emit(Field::u, cell + GridPoint{1, 0, 0}, -1.0, f);
    emit(Field::v, cell, 1.0, f);
    emit(Field::v, cell + GridPoint{0, 1, 0}, -1.0, f);
  }

  template <class F>
  void momentum(index_t row, const Unknown& unknown, F&& f) const {
    const bool is_u = unknown.field == Field::u;
    const GridPoint along = is_u ? GridPoint{1, 0, 0} : GridPoint{0, 1, 0};
    const GridPoint back = {-along.x, -along.y, 0};
    const GridPoint across = is_u ? GridPoint{0, 1, 0} : GridPoint{1, 0, 0};
    double diagonal = 2.0 * viscosity_;
    for (const index_t side : {-1, 1}) {
      const GridPoint beside = unknown.cell + GridPoint{side * across.x, side * across.y, 0};
      // why: the wall is half a cell away, the mirrored velocity beyond it is the negative of this one.
      diagonal += cells_.contains(beside) ? viscosity_ : 2.0 * viscosity_;
      emit(unknown.field, beside, -viscosity_, f);
    }
    emit(unknown.field, unknown.cell + back, -viscosity_, f);
    emit(unknown.field, unknown.cell + along, -viscosity_, f);
    f(row, diagonal);
    emit(Field::p, unknown.cell, 1.0, f);
    emit(Field::p, unknown.cell + back, -1.0, f);
  }

  Grid cells_;
  double viscosity_;
  std::array<std::vector<index_t>, 3> numbers_;
  std::vector<Unknown> unknowns_;
};

}  // namespace

template <Scalar T>
CsrMatrix<T> saddle_point(const SaddlePointOptions& options) {
  detail::require_at_least(generator, "nx", options.nx, 2);
  detail::require_at_least(generator, "ny", options.ny, 2);
  detail::require_positive(generator, "viscosity", options.viscosity);
  const Grid cells(generator, {options.nx, options.ny, 1}, 3);
  const SaddlePoint rows(cells, options);
  return detail::build_rows<T>(
      rows.rows(), [&](index_t row) { return rows.count(row); },
      [&](index_t row, detail::RowWriter<T>& writer) { rows.fill(row, writer); });
}

template CsrMatrix<float> saddle_point(const SaddlePointOptions&);
template CsrMatrix<double> saddle_point(const SaddlePointOptions&);

}  // namespace blockjacobi::matrices
