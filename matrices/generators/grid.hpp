#pragma once

#include <blockjacobi/types.hpp>

#include "matrices/generators/require.hpp"

#include <array>

namespace blockjacobi::matrices {

/// Points along each axis; x runs fastest in the numbering. An axis with one point is no axis: nz = 1 is a plane,
/// ny = nz = 1 a line.
struct GridSize {
  index_t nx = 1;
  index_t ny = 1;
  index_t nz = 1;
};

namespace detail {

/// Place of a point, or a step to another one.
struct GridPoint {
  index_t x = 0;
  index_t y = 0;
  index_t z = 0;
};

/// A numbered grid. Points in lexicographic order of (z, y, x) have ascending numbers.
class Grid {
 public:
  /// Throws InvalidArgument unless every axis has a point and `rows_per_point` rows a point fit in index_t.
  Grid(const char* generator, const GridSize& size, index_t rows_per_point) : size_(size) {
    require_at_least(generator, "nx", size.nx, 1);
    require_at_least(generator, "ny", size.ny, 1);
    require_at_least(generator, "nz", size.nz, 1);
    const offset_t plane = offset_t{size.nx} * size.ny;
    require_rows(generator, plane);
    require_rows(generator, plane * size.nz);
    require_rows(generator, plane * size.nz * rows_per_point);
  }

  index_t points() const { return size_.nx * size_.ny * size_.nz; }
  const GridSize& size() const { return size_; }

  index_t number(const GridPoint& p) const { return p.x + size_.nx * (p.y + size_.ny * p.z); }

  GridPoint point(index_t number) const {
    const index_t line = number / size_.nx;
    return {number % size_.nx, line % size_.ny, line / size_.ny};
  }

  bool contains(const GridPoint& p) const {
    return p.x >= 0 && p.x < size_.nx && p.y >= 0 && p.y < size_.ny && p.z >= 0 && p.z < size_.nz;
  }

  /// Axes with more than one point.
  std::array<bool, 3> axes() const { return {size_.nx > 1, size_.ny > 1, size_.nz > 1}; }

 private:
  GridSize size_;
};

inline GridPoint operator+(const GridPoint& a, const GridPoint& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }

}  // namespace detail
}  // namespace blockjacobi::matrices
