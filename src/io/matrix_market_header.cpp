#include "io/matrix_market_header.hpp"

#include "core/message.hpp"
#include "io/reading_limits.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace blockjacobi {

namespace detail {

namespace {

template <class E>
struct Keyword {
  const char* name;
  E value;
};

constexpr std::array formats{Keyword<MatrixMarketFormat>{"coordinate", MatrixMarketFormat::coordinate},
                             Keyword<MatrixMarketFormat>{"array", MatrixMarketFormat::array}};
constexpr std::array fields{Keyword<MatrixMarketField>{"real", MatrixMarketField::real},
                            Keyword<MatrixMarketField>{"integer", MatrixMarketField::integer},
                            Keyword<MatrixMarketField>{"pattern", MatrixMarketField::pattern},
                            Keyword<MatrixMarketField>{"complex", MatrixMarketField::complex}};
constexpr std::array symmetries{Keyword<MatrixMarketSymmetry>{"general", MatrixMarketSymmetry::general},
                                Keyword<MatrixMarketSymmetry>{"symmetric", MatrixMarketSymmetry::symmetric},
                                Keyword<MatrixMarketSymmetry>{"skew-symmetric", MatrixMarketSymmetry::skew_symmetric},
                                Keyword<MatrixMarketSymmetry>{"hermitian", MatrixMarketSymmetry::hermitian}};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

template <class E, std::size_t N>
const char* name_of(const std::array<Keyword<E>, N>& keywords, E value) noexcept {
  for (const Keyword<E>& keyword : keywords)
    if (keyword.value == value) return keyword.name;
  return "?";
}

template <class E, std::size_t N>
std::string list_of(const std::array<Keyword<E>, N>& keywords) {
  std::string list;
  for (const Keyword<E>& keyword : keywords) {
    if (!list.empty()) list += ", ";
    list += keyword.name;
  }
  return list;
}

template <class E, std::size_t N>
E parse_keyword(FieldReader& in, const char* what, const std::array<Keyword<E>, N>& keywords) {
  const std::string_view word = in.word(what);
  for (const Keyword<E>& keyword : keywords)
    if (equal_ignoring_case(word, keyword.name)) return keyword.value;
  in.lines().fail(detail::message("{} is not a {}, one of {}", quoted(word), what, list_of(keywords)));
}

void require_word(FieldReader& in, const char* expected) {
  const std::string_view word = in.at_line_end() ? std::string_view{} : in.word(expected);
  if (!equal_ignoring_case(word, expected))
    in.lines().fail(detail::message("a Matrix Market file begins with '%%MatrixMarket matrix', this one with {}",
                                    quoted(in.lines().line())));
}

void require_allowed_combination(const FieldReader& in, const MatrixMarketHeader& h) {
  const bool pattern = h.field == MatrixMarketField::pattern;
  const bool complex = h.field == MatrixMarketField::complex;
  const bool allowed = !(pattern && h.format == MatrixMarketFormat::array) &&
                       !(pattern && h.symmetry == MatrixMarketSymmetry::skew_symmetric) &&
                       !(!complex && h.symmetry == MatrixMarketSymmetry::hermitian);
  if (!allowed)
    in.lines().fail(detail::message("the format does not allow the combination '{} {} {}'", to_string(h.format),
                                    to_string(h.field), to_string(h.symmetry)));
}

void parse_banner(FieldReader& in, MatrixMarketHeader& h) {
  if (!in.next_line()) in.lines().fail("the file is empty");
  if (in.lines().line().starts_with("\x1f\x8b")) in.lines().fail("gzip-packed data, but the name does not end in .gz");
  require_word(in, "%%MatrixMarket");
  require_word(in, "matrix");
  h.format = parse_keyword(in, "format", formats);
  h.field = parse_keyword(in, "field", fields);
  h.symmetry = parse_keyword(in, "symmetry", symmetries);
  in.end_line();
  require_allowed_combination(in, h);
}

/// Entries of an array file; fits in 64 bits for every 32-bit order.
offset_t array_entries(const MatrixMarketHeader& h) {
  const offset_t rows = h.rows;
  switch (h.symmetry) {
    case MatrixMarketSymmetry::general: return rows * h.cols;
    case MatrixMarketSymmetry::skew_symmetric: return rows * (rows - 1) / 2;
    case MatrixMarketSymmetry::symmetric:
    case MatrixMarketSymmetry::hermitian: return rows * (rows + 1) / 2;
  }
  return 0;
}

/// The size of blocks that are said to have `rows` x `cols` elements.
std::optional<index_t> square_block(std::string_view rows, std::string_view cols) {
  index_t size = 0;
  const auto [end, error] = std::from_chars(rows.data(), rows.data() + rows.size(), size);
  const bool is_size = error == std::errc{} && end == rows.data() + rows.size() && size >= 1 && size <= max_block_size;
  return is_size && rows == cols ? std::optional(size) : std::nullopt;
}

/// Takes the block size from a comment of Dune's or AMGX's; any other says what it likes.
void parse_comment(FieldReader& in, MatrixMarketHeader& h) {
  std::array<std::string_view, 5> words;
  for (std::string_view& word : words)
    if (!in.at_line_end()) word = in.word("word");
  if (words[0] == "%" && words[1] == "ISTL_STRUCT" && words[2] == "blocked")
    h.block_size = square_block(words[3], words[4]);
  else if (words[0] == "%%AMGX")
    h.block_size = square_block(words[1], words[2]);
}

/// Goes on to the size line; false if there is none.
bool read_comments(FieldReader& in, MatrixMarketHeader& h) {
  while (in.next_line()) {
    if (in.at_line_end()) continue;
    if (!in.at_comment()) return true;
    parse_comment(in, h);
  }
  return false;
}

void parse_sizes(FieldReader& in, MatrixMarketHeader& h) {
  constexpr std::int64_t largest_order = std::numeric_limits<index_t>::max();
  if (!read_comments(in, h)) in.lines().fail("the file ends before the size line");
  h.size_line = in.lines().number();
  h.rows = static_cast<index_t>(in.index("number of rows", 0, largest_order));
  h.cols = static_cast<index_t>(in.index("number of columns", 0, largest_order));
  if (h.symmetry != MatrixMarketSymmetry::general && h.rows != h.cols)
    in.lines().fail(
        detail::message("a {} matrix must be square, this one is {} x {}", to_string(h.symmetry), h.rows, h.cols));
  if (h.block_size && (h.rows % *h.block_size != 0 || h.cols % *h.block_size != 0)) h.block_size.reset();
  h.entries = h.format == MatrixMarketFormat::array
                  ? array_entries(h)
                  : in.index("number of entries", 0, std::numeric_limits<offset_t>::max());
  in.end_line();
}

}  // namespace

const char* to_string(MatrixMarketFormat format) noexcept { return name_of(formats, format); }
const char* to_string(MatrixMarketField field) noexcept { return name_of(fields, field); }
const char* to_string(MatrixMarketSymmetry symmetry) noexcept { return name_of(symmetries, symmetry); }

MatrixMarketHeader parse_header(FieldReader& in) {
  MatrixMarketHeader h;
  in.lines().limit_packed_text(header_text);
  parse_banner(in, h);
  parse_sizes(in, h);
  return h;
}

}  // namespace detail

MatrixMarketHeader read_matrix_market_header(const std::filesystem::path& path) {
  detail::FieldReader in(path);
  return detail::parse_header(in);
}

}  // namespace blockjacobi
