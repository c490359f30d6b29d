// Debian packages no C++ library that reads Matrix Market files (fast_matrix_market comes as a Python module only),
// hence a parser of our own.
#include "io/matrix_market_entries.hpp"

#include "core/message.hpp"
#include "io/gzip_name.hpp"
#include "io/reading_limits.hpp"

#include <algorithm>
#include <system_error>

namespace blockjacobi::detail {

namespace {

template <Scalar T>
T read_value(FieldReader& in, MatrixMarketField field) {
  using R = real_t<T>;
  switch (field) {
    case MatrixMarketField::real: return T(in.real<R>());
    case MatrixMarketField::integer: return T(in.integer<R>());
    case MatrixMarketField::pattern: return T(R(1));
    case MatrixMarketField::complex: break;
  }
  const R re = in.real<R>();
  const R im = in.real<R>();
  if constexpr (is_complex<T>) {
    return T(re, im);
  } else {
    static_cast<void>(im);
    return re;
  }
}

/// Entries that a file of this size can hold, whatever it announces.
struct CredibleEntries {
  double most = 0;        ///< if they are packed as tightly as can be
  std::size_t usual = 0;  ///< if packed ones take a byte at least; if they take less, the arrays grow
};

CredibleEntries credible_entries(const std::filesystem::path& path, const MatrixMarketHeader& h) {
  constexpr std::uintmax_t most_text_of_a_byte = 1032;  // of zlib's format
  std::error_code ignored;
  const std::uintmax_t bytes = std::filesystem::file_size(path, ignored);
  if (ignored) return {};
  const auto announced = static_cast<std::uintmax_t>(h.entries);
  const std::uintmax_t shortest_line = h.format == MatrixMarketFormat::coordinate ? 4 : 2;
  const std::uintmax_t plain = bytes / shortest_line + 1;
  if (!has_gzip_name(path)) {
    const std::uintmax_t count = std::min(announced, plain);
    return {static_cast<double>(count), static_cast<std::size_t>(count)};
  }
  return {std::min(static_cast<double>(announced), static_cast<double>(plain) * most_text_of_a_byte),
          static_cast<std::size_t>(std::min(announced, bytes + 1))};
}

template <Scalar T>
class EntryParser {
 public:
  EntryParser(FieldReader& in, MatrixMarketEntries<T>& entries) : in_(in), entries_(entries), h_(entries.header) {}

  void parse() {
    if (h_.format == MatrixMarketFormat::coordinate)
      parse_coordinate();
    else
      parse_array();
    if (in_.next_data_line())
      in_.lines().fail(detail::message("there are more than the {} entries that the {} x {} {} matrix announces: {}",
                                       h_.entries, h_.rows, h_.cols, to_string(h_.format), quoted(in_.lines().line())));
  }

 private:
  void parse_coordinate() {
    for (offset_t k = 0; k < h_.entries; ++k) {
      require_line(k);
      const auto row = static_cast<index_t>(in_.index("row index", 1, h_.rows) - 1);
      const auto col = static_cast<index_t>(in_.index("column index", 1, h_.cols) - 1);
      if (h_.symmetry != MatrixMarketSymmetry::general) require_lower_triangle(row, col);
      entries_.rows.push_back(row);
      entries_.cols.push_back(col);
      parse_value(row, col);
    }
  }

  void parse_array() {
    if (h_.entries == 0) return;  // of any number of columns without rows
    offset_t k = 0;
    for (index_t col = 0; col < h_.cols; ++col)
      for (index_t row = first_array_row(h_.symmetry, col); row < h_.rows; ++row) {
        require_line(k++);
        parse_value(row, col);
      }
  }

  void require_line(offset_t found) {
    if (!in_.next_data_line())
      in_.lines().fail(detail::message("the file ends after {} of {} entries", found, h_.entries));
  }

  void parse_value(index_t row, index_t col) {
    const T value = read_value<T>(in_, h_.field);
    in_.end_line();
    if constexpr (is_complex<T>)
      if (row == col && h_.symmetry == MatrixMarketSymmetry::hermitian && value.imag() != 0)
        in_.lines().fail(detail::message("entry ({}, {}) of a hermitian matrix must be real, its imaginary part is {}",
                                         row + offset_t{1}, col + offset_t{1}, value.imag()));
    entries_.values.push_back(value);
  }

  void require_lower_triangle(index_t row, index_t col) {
    if (row < col)
      in_.lines().fail(detail::message("entry ({}, {}) lies above the diagonal; a {} file holds the lower triangle",
                                       row + offset_t{1}, col + offset_t{1}, to_string(h_.symmetry)));
    if (row == col && h_.symmetry == MatrixMarketSymmetry::skew_symmetric)
      in_.lines().fail(detail::message("entry ({}, {}) lies on the diagonal, which a skew-symmetric file does not hold",
                                       row + offset_t{1}, col + offset_t{1}));
  }

  FieldReader& in_;
  MatrixMarketEntries<T>& entries_;
  const MatrixMarketHeader h_;
};

}  // namespace

template <Scalar T>
MatrixMarketEntries<T> read_entries(const std::filesystem::path& path, const MatrixMarketLimits& limits) {
  FieldReader in(path);
  MatrixMarketEntries<T> entries;
  entries.header = parse_header(in);
  const MatrixMarketHeader& h = entries.header;
  in.lines().limit_packed_text(text_limit(limits, h.entries));
  if (!is_complex<T> && h.field == MatrixMarketField::complex)
    in.lines().fail_at(
        1, detail::message("a complex matrix cannot be read into the real scalar type '{}'", to_char(scalar_type<T>)));

  const CredibleEntries credible = credible_entries(path, h);
  require_memory(path, h, limits, "the list of entries of a", credible.most * entry_bytes<T>(h));
  entries.values.reserve(credible.usual);
  if (h.format == MatrixMarketFormat::coordinate) {
    entries.rows.reserve(credible.usual);
    entries.cols.reserve(credible.usual);
  }
  EntryParser<T>(in, entries).parse();
  return entries;
}

template MatrixMarketEntries<float> read_entries(const std::filesystem::path&, const MatrixMarketLimits&);
template MatrixMarketEntries<double> read_entries(const std::filesystem::path&, const MatrixMarketLimits&);
template MatrixMarketEntries<std::complex<float>> read_entries(const std::filesystem::path&, const MatrixMarketLimits&);
template MatrixMarketEntries<std::complex<double>> read_entries(const std::filesystem::path&,
                                                                const MatrixMarketLimits&);

}  // namespace blockjacobi::detail
