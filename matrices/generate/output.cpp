#include "matrices/generate/output.hpp"

#include "matrices/generate/symmetry_of.hpp"
#include "matrices/generators/random.hpp"

#include <fmt/format.h>

#include <complex>
#include <cstddef>
#include <fstream>

namespace generate {

using blockjacobi::CsrMatrix;
using blockjacobi::DenseMatrix;
using blockjacobi::Error;
using blockjacobi::index_t;
using blockjacobi::InvalidArgument;
using blockjacobi::MatrixMarketSymmetry;
using blockjacobi::Scalar;

namespace {

const char* name_of(MatrixMarketSymmetry symmetry) {
  switch (symmetry) {
    case MatrixMarketSymmetry::symmetric: return "symmetric";
    case MatrixMarketSymmetry::skew_symmetric: return "skew-symmetric";
    case MatrixMarketSymmetry::hermitian: return "hermitian";
    case MatrixMarketSymmetry::general: break;
  }
  return "general";
}

/// 1-based "row col" lines, of the lower triangle only if the pattern is symmetric.
template <Scalar T>
std::string pattern_lines(const CsrMatrix<T>& matrix, bool symmetric, std::size_t& count) {
  std::string lines;
  for (index_t row = 0; row < matrix.rows(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    const auto end = static_cast<std::size_t>(matrix.row_offsets()[r + 1]);
    for (auto k = static_cast<std::size_t>(matrix.row_offsets()[r]); k < end; ++k) {
      if (symmetric && matrix.columns()[k] > row) continue;
      lines += fmt::format("{} {}\n", row + 1, matrix.columns()[k] + 1);
      ++count;
    }
  }
  return lines;
}

/// The library writes values always, so the pattern field is written here.
template <Scalar T>
void write_pattern(const Output& output, const CsrMatrix<T>& matrix, const std::string& block_size) {
  if (output.path.extension() == ".gz")
    throw InvalidArgument(fmt::format("{}: a pattern file is written as plain .mtx only", output.path.string()));
  const bool symmetric = has_symmetric_pattern(matrix);
  std::size_t count = 0;
  const std::string lines = pattern_lines(matrix, symmetric, count);
  std::ofstream file(output.path, std::ios::binary);
  file << fmt::format("%%MatrixMarket matrix coordinate pattern {}\n% {}\n{}{} {} {}\n",
                      symmetric ? "symmetric" : "general", output.comment,
                      block_size.empty() ? "" : "% " + block_size + "\n", matrix.rows(), matrix.cols(), count)
       << lines;
  file.close();
  if (!file) throw Error(fmt::format("{}: cannot be written", output.path.string()));
  fmt::print("{}: {} rows, {} entries, pattern {}\n", output.path.string(), matrix.rows(), matrix.nnz(),
             symmetric ? "symmetric" : "general");
}

}  // namespace

template <Scalar T>
void write(const Output& output, const CsrMatrix<T>& matrix, index_t unknowns) {
  const bool whole_nodes = unknowns > 1 && unknowns <= blockjacobi::max_block_size && matrix.rows() % unknowns == 0;
  const std::string block_size = whole_nodes ? fmt::format("ISTL_STRUCT blocked {0} {0}", unknowns) : std::string();
  if (output.pattern) return write_pattern(output, matrix, block_size);
  const MatrixMarketSymmetry symmetry = symmetry_of(matrix);
  blockjacobi::write_matrix_market(output.path, matrix, symmetry,
                                   output.comment + (whole_nodes ? "\n" + block_size : ""));
  fmt::print("{}: {} rows, {} entries, {} {}\n", output.path.string(), matrix.rows(), matrix.nnz(),
             blockjacobi::is_complex<T> ? "complex" : "real", name_of(symmetry));
}

template <Scalar T>
void write_array(const Output& output, index_t rows, index_t columns, bool ones, unsigned long long seed) {
  if (rows < 1 || columns < 1)
    throw InvalidArgument(fmt::format("array: {} x {}, must be at least 1 x 1", rows, columns));
  DenseMatrix<T> matrix{rows, columns, {}};
  matrix.values.assign(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns), T(1));
  blockjacobi::matrices::detail::Random random(seed);
  if (!ones)
    for (T& value : matrix.values) value = random.symmetric<T>();
  blockjacobi::write_matrix_market(output.path, matrix, output.comment);
  fmt::print("{}: {} x {} array, {}\n", output.path.string(), rows, columns,
             blockjacobi::is_complex<T> ? "complex" : "real");
}

template void write(const Output&, const CsrMatrix<float>&, index_t);
template void write(const Output&, const CsrMatrix<double>&, index_t);
template void write(const Output&, const CsrMatrix<std::complex<float>>&, index_t);
template void write(const Output&, const CsrMatrix<std::complex<double>>&, index_t);
template void write_array<float>(const Output&, index_t, index_t, bool, unsigned long long);
template void write_array<double>(const Output&, index_t, index_t, bool, unsigned long long);
template void write_array<std::complex<float>>(const Output&, index_t, index_t, bool, unsigned long long);
template void write_array<std::complex<double>>(const Output&, index_t, index_t, bool, unsigned long long);

}  // namespace generate
