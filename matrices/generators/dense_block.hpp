#pragma once

#include "matrices/generators/block_family.hpp"
#include "matrices/generators/random.hpp"

#include <complex>
#include <vector>

namespace blockjacobi::matrices::detail {

/// One dense block of a family, row-major. W is double or std::complex<double>.
template <class W>
std::vector<W> dense_block(BlockFamily family, index_t size, double condition, double grading, Random& random);

}  // namespace blockjacobi::matrices::detail
