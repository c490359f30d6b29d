#pragma once

#include <blockjacobi/matrix_market.hpp>

#include <filesystem>
#include <string>

namespace generate {

/// Where and how a matrix is written.
struct Output {
  std::filesystem::path path;
  blockjacobi::ScalarType scalar = blockjacobi::ScalarType::d;
  bool pattern = false;  ///< positions only
  std::string comment;   ///< the command line
};

/// Writes the matrix with the symmetry that it has and says on stdout what was written. Of a matrix of whole nodes with
/// several unknowns the file states their number, as Dune does.
template <blockjacobi::Scalar T>
void write(const Output& output, const blockjacobi::CsrMatrix<T>& matrix, blockjacobi::index_t unknowns = 1);

/// Writes `rows` x `columns` numbers in array format, all 1 or random in [-1, 1).
template <blockjacobi::Scalar T>
void write_array(const Output& output, blockjacobi::index_t rows, blockjacobi::index_t columns, bool ones,
                 unsigned long long seed);

}  // namespace generate
