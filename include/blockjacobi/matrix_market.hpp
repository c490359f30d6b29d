#pragma once

#include <blockjacobi/csr_matrix.hpp>
#include <blockjacobi/error.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

namespace blockjacobi {

enum class MatrixMarketFormat { coordinate, array };
enum class MatrixMarketField { real, integer, pattern, complex };
enum class MatrixMarketSymmetry { general, symmetric, skew_symmetric, hermitian };

/// Banner, comments and size line of a Matrix Market file.
struct MatrixMarketHeader {
  MatrixMarketFormat format = MatrixMarketFormat::coordinate;
  MatrixMarketField field = MatrixMarketField::real;
  MatrixMarketSymmetry symmetry = MatrixMarketSymmetry::general;
  index_t rows = 0;
  index_t cols = 0;
  offset_t entries = 0;    ///< lines that follow, before symmetry is expanded
  offset_t size_line = 0;  ///< where the sizes stand, 1-based
  /// Unknowns of a node, which stand together, by a comment of the two kinds that programs write: `% ISTL_STRUCT
  /// blocked B B` (Dune, OPM) and `%%AMGX B B` with any words behind. None unless both numbers are equal, in 1 ..
  /// max_block_size, and divide rows and columns; of several comments the last counts.
  std::optional<index_t> block_size{};
};

/// Column-major host matrix: element (i, j) is values[i + j * rows].
template <Scalar T>
struct DenseMatrix {
  index_t rows = 0;
  index_t cols = 0;
  std::vector<T> values;
};

/// What reading a file may cost, for files that are not trusted: a few packed bytes can stand for gigabytes of text,
/// and a short size line for any amount of memory.
struct MatrixMarketLimits {
  /// Bytes that the entries and what is made of them may take by the sizes that the file announces; 0 takes the memory
  /// of the machine. Reading takes up to three times as much for a moment.
  std::size_t memory = 0;
  /// Bytes of text that a packed file may hold for each entry that it announces, besides 16 MiB for banner and
  /// comments. Lines of the format rarely take more than 80.
  std::size_t text_per_entry = 256;
};

/// Reads the banner and the size line only. Files ending in .gz are unpacked on the fly, here and below.
/// Throws ParseError, also where a packed file holds more than 16 MiB of text before its size line ends.
[[nodiscard]] BLOCKJACOBI_EXPORT MatrixMarketHeader read_matrix_market_header(const std::filesystem::path& path);

/// Reads coordinate and array files of every field and symmetry. Symmetric, skew-symmetric and Hermitian files are
/// expanded, pattern entries are 1, duplicate entries are summed, entries may come in any order, stored zeros are
/// kept (every element of an array file is kept).
/// Throws ParseError with file and line for anything the format does not allow: a bad banner, counts that do not
/// match the entries, an index out of range or above the diagonal of a symmetric file, a number that is malformed,
/// NaN, infinite or out of the range of T, a truncated file, complex data read into a real T, sizes past 32 bits
/// (rows, columns) or 64 bits (entries), and what exceeds the limits: at the size line sizes that do not fit in memory,
/// at the line that was reached a packed file with more text than its size line accounts for.
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT CsrMatrix<T> read_matrix_market(const std::filesystem::path& path,
                                                                 const MatrixMarketLimits& limits = {});

/// Reads a file of either format into a dense matrix, for right-hand sides and initial guesses. Throws as above.
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT DenseMatrix<T> read_matrix_market_dense(const std::filesystem::path& path,
                                                                         const MatrixMarketLimits& limits = {});

/// Writes coordinate format with the digits that read back bit for bit. Each line of `comment` becomes a line behind
/// a %, so that `ISTL_STRUCT blocked 3 3` states the block size that read_matrix_market_header() finds. A symmetry
/// other than general writes the lower triangle and throws InvalidArgument, naming the first entry, if the matrix does
/// not have it. A name ending in .gz is compressed. Throws Error if the file cannot be written, InvalidArgument, naming
/// the entry, for NaN and Inf.
template <Scalar T>
BLOCKJACOBI_EXPORT void write_matrix_market(const std::filesystem::path& path, const CsrMatrix<T>& matrix,
                                            MatrixMarketSymmetry symmetry = MatrixMarketSymmetry::general,
                                            const std::string& comment = {});

/// Writes array format, general. Throws as above, and InvalidArgument unless there are rows * cols values.
template <Scalar T>
BLOCKJACOBI_EXPORT void write_matrix_market(const std::filesystem::path& path, const DenseMatrix<T>& matrix,
                                            const std::string& comment = {});

}  // namespace blockjacobi
