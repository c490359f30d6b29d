// Text as a Matrix Market file, plain and packed: both are read alike, a matrix is what its dense form says, and it is
// the same when it was written and read again.
#include "expect.hpp"
#include "packed.hpp"
#include "scratch_file.hpp"

#include <blockjacobi/matrix_market.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace blockjacobi;

constexpr MatrixMarketLimits limits{.memory = std::size_t{1} << 26};

/// The message without the path.
std::string what_of(const ParseError& error) { return std::string(error.what()).substr(error.path().size()); }

/// What comes of a file: a matrix, or why there is none.
template <class Matrix>
struct Outcome {
  std::optional<Matrix> matrix;
  std::string failure;
};

template <Scalar T>
Outcome<CsrMatrix<T>> read_sparse(const std::filesystem::path& path) {
  try {
    return {read_matrix_market<T>(path, limits), {}};
  } catch (const ParseError& error) {
    FUZZ_EXPECT(error.line() >= 1);
    return {{}, what_of(error)};
  }
}

template <Scalar T>
bool same_bits(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

template <Scalar T>
bool same(const CsrMatrix<T>& a, const CsrMatrix<T>& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() && std::ranges::equal(a.row_offsets(), b.row_offsets()) &&
         std::ranges::equal(a.columns(), b.columns()) && same_bits(a.values(), b.values());
}

template <Scalar T>
bool is_finite(const CsrMatrix<T>& a) {
  return std::ranges::all_of(
      a.values(), [](const T& value) { return std::isfinite(std::real(value)) && std::isfinite(std::imag(value)); });
}

template <Scalar T>
void expect_same_as_dense(const std::filesystem::path& path, const CsrMatrix<T>& a) {
  if (static_cast<offset_t>(a.rows()) * a.cols() > 10000 || !is_finite(a)) return;
  const auto dense = read_matrix_market_dense<T>(path, limits);
  FUZZ_EXPECT(dense.rows == a.rows() && dense.cols == a.cols());
  std::vector<T> expected(dense.values.size());
  for (std::size_t row = 0; row < static_cast<std::size_t>(a.rows()); ++row)
    for (auto k = static_cast<std::size_t>(a.row_offsets()[row]);
         k < static_cast<std::size_t>(a.row_offsets()[row + 1]); ++k)
      expected[row + static_cast<std::size_t>(a.columns()[k]) * static_cast<std::size_t>(a.rows())] += a.values()[k];
  FUZZ_EXPECT(expected == dense.values);
}

template <Scalar T>
void expect_same_when_written(const fuzz::ScratchFolder& folder, const CsrMatrix<T>& a) {
  if (!is_finite(a)) return;
  const auto path = folder.path() / "again.mtx";
  write_matrix_market(path, a);
  FUZZ_EXPECT(same(read_matrix_market<T>(path), a));
}

template <Scalar T>
void check(const fuzz::ScratchFolder& folder, const std::filesystem::path& plain, const std::filesystem::path& packed) {
  const auto a = read_sparse<T>(plain);
  const auto b = read_sparse<T>(packed);
  FUZZ_EXPECT(a.failure == b.failure);
  if (!a.matrix) return;
  FUZZ_EXPECT(same(*a.matrix, *b.matrix));
  validate(a.matrix->view());
  expect_same_as_dense(plain, *a.matrix);
  expect_same_when_written(folder, *a.matrix);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const fuzz::ScratchFolder folder;
  const auto text = fuzz::text_of(data, size);
  // What begins as packed data is told by its name alone.
  if (text.starts_with("\x1f\x8b")) return 0;
  const auto plain = folder.write("a.mtx", text);
  const auto packed = folder.write("a.mtx.gz", fuzz::packed(text));
  check<double>(folder, plain, packed);
  check<std::complex<float>>(folder, plain, packed);
  return 0;
}
