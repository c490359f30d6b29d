#include "backends/systems.hpp"
#include "matrices/generators/stencil.hpp"
#include "support/backends.hpp"
#include "support/bits.hpp"
#include "support/csr_arrays.hpp"
#include "support/messages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <variant>

namespace blockjacobi::test {
namespace {

template <class Case>
class RenumberedOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(RenumberedOnBackend, BackendCases, BackendCaseName);
template <class Case>
class SymmetryOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(SymmetryOnBackend, BackendCases, BackendCaseName);

Permutation shuffled(index_t n, std::uint64_t seed) {
  std::vector<index_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  Random random(seed);
  for (index_t i = n - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.index(i + 1))]);
  return Permutation::from_order(std::move(order));
}

template <Scalar T>
void expect_same(const CsrMatrix<T>& found, const CsrView<T>& expected) {
  ASSERT_EQ(found.rows(), expected.rows);
  ASSERT_EQ(found.nnz(), expected.nnz);
  const auto f = found.view();
  EXPECT_TRUE(std::equal(f.row_offsets, f.row_offsets + f.rows + 1, expected.row_offsets));
  EXPECT_TRUE(std::equal(f.columns, f.columns + f.nnz, expected.columns));
  EXPECT_TRUE(std::equal(f.values, f.values + f.nnz, expected.values));
}

/// More rows than a grid of thread blocks has in its second dimension; a row longer than any team of lanes.
TYPED_TEST(RenumberedOnBackend, AsTheHostHasIt) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const CsrMatrix<T>& a : {grid_matrix<T>(270, 0.4), long_row_matrix<T>(25), grid_matrix<T>(1)}) {
    const Permutation permutation = shuffled(a.rows(), 81);
    const PermutedMatrix<T> expected(a, permutation);
    const SparseMatrix<T> given(backend, a);
    SparseMatrix<T> found = given.renumbered(permutation);
    EXPECT_EQ(found.given_nnz(), a.nnz());
    expect_same<T>(found.to_host(), expected.view());

    // New values come in the order of A.
    PermutedMatrix<T> changed = expected;
    const std::vector<T> values = random_vector<T>(static_cast<index_t>(a.nnz()), 82);
    changed.update(values);
    found.update_values(values);
    expect_same<T>(found.to_host(), changed.view());
    const Array<T> there(backend, values);
    found.update_values(given.values(), a.nnz(), backend.memory_space());
    found.update_values(there.data(), a.nnz(), backend.memory_space());
    expect_same<T>(found.to_host(), changed.view());
  }
}

TYPED_TEST(RenumberedOnBackend, OfArraysFromBaseOneWithWideOffsets) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(12);
  std::vector<std::int64_t> offsets(a.row_offsets().begin(), a.row_offsets().end());
  for (std::int64_t& offset : offsets) ++offset;
  std::vector<index_t> columns(a.columns().begin(), a.columns().end());
  for (index_t& column : columns) ++column;
  const Array<std::int64_t> o(backend, offsets);
  const Array<index_t> c(backend, columns);
  const Array<T> v(backend, std::vector<T>(a.values().begin(), a.values().end()));
  const CsrView<T, std::int64_t> view{a.rows(), a.cols(), a.nnz(),        o.data(),
                                      c.data(), v.data(), IndexBase::one, backend.memory_space()};
  const auto given = SparseMatrix<T>::adopt(backend, view);
  const Permutation permutation = shuffled(a.rows(), 83);
  expect_same<T>(given.renumbered(permutation).to_host(), PermutedMatrix<T>(a, permutation).view());
  EXPECT_TRUE(given.is_hermitian());
}

/// Clusters of nodes keep these whole; another numbering does not.
TYPED_TEST(RenumberedOnBackend, KeepsWhatWasStated) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto a = matrices::stencil<T>({.grid = {9, 8, 1}, .unknowns = 3});
  const SparseMatrix<T> given(backend, a, {.symmetry = Symmetry::none, .block_size = 3});
  const PermutedPartition found = BlockPartition::clusters(given, 12);
  const SparseMatrix<T> whole = given.renumbered(found.permutation);
  EXPECT_EQ(whole.block_size(), 3);
  EXPECT_EQ(whole.symmetry(), Symmetry::none);
  expect_same<T>(whole.to_host(), PermutedMatrix<T>(a, found.permutation).view());
  EXPECT_EQ(given.renumbered(shuffled(a.rows(), 84)).block_size(), std::nullopt);
}

TYPED_TEST(RenumberedOnBackend, Misuse) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const SparseMatrix<T> wide(backend, CsrMatrix<T>(1, 2, {0, 1}, {0}, {T(1)}));
  const SparseMatrix<T> square(backend, grid_matrix<T>(3));
  const auto has = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(message_of([&] { static_cast<void>(wide.renumbered(Permutation::identity(1))); }), "1 x 2");
  has(message_of([&] { static_cast<void>(square.renumbered(Permutation::identity(8))); }), "9 rows, the permutation 8");
}

template <Scalar T>
Symmetry both_ways() {
  return is_complex<T> ? Symmetry::hermitian : Symmetry::symmetric;
}

template <Scalar T>
auto widened(T a) {
  if constexpr (is_complex<T>)
    return std::complex<double>(a);
  else
    return static_cast<double>(a);
}

/// One element decides, wherever it stands: last in a row of hundreds, behind 65 536 rows, alone without an opposite.
TYPED_TEST(SymmetryOnBackend, OneElementDecides) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto symmetry = [&](const CsrMatrix<T>& a, double tolerance = 0.0) {
    return SparseMatrix<T>(backend, a, {.symmetry_tolerance = tolerance}).symmetry();
  };
  for (const CsrMatrix<T>& a : {grid_matrix<T>(270), long_row_matrix<T>(25)}) {
    EXPECT_EQ(symmetry(a), both_ways<T>());
    const auto off_diagonal = [&](offset_t k) {
      index_t row = 0;
      while (a.row_offsets()[static_cast<std::size_t>(row) + 1] <= k) ++row;
      return a.columns()[static_cast<std::size_t>(k)] != row;
    };
    const offset_t end_of_first = a.row_offsets()[1] - 1;
    offset_t last = a.nnz() - 1;
    while (!off_diagonal(last)) --last;
    for (const offset_t k : {end_of_first, last}) {
      CsrMatrix<T> other = a;
      T& element = other.values()[static_cast<std::size_t>(k)];
      const double edge = std::abs(widened(element)) / 4.2;  // of twice the element, by the diagonal
      element *= T(2);
      EXPECT_EQ(symmetry(other), Symmetry::none);
      EXPECT_EQ(symmetry(other, 1.01 * edge), both_ways<T>());
      EXPECT_EQ(symmetry(other, 0.99 * edge), Symmetry::none);
      element = T(std::numeric_limits<real_t<T>>::quiet_NaN());
      EXPECT_EQ(symmetry(other, 0.5), Symmetry::none);
    }
  }
}

/// The first row and the first column are full, but for their ends where there are none.
template <Scalar T>
CsrMatrix<T> arrow(index_t n, std::optional<T> end_of_row, std::optional<T> end_of_column) {
  std::vector<Triplet<T>> entries;
  for (index_t i = 0; i < n; ++i) entries.push_back({i, i, T(4)});
  for (index_t i = 1; i + 1 < n; ++i) {
    entries.push_back({0, i, T(1)});
    entries.push_back({i, 0, T(1)});
  }
  if (end_of_row) entries.push_back({0, n - 1, *end_of_row});
  if (end_of_column) entries.push_back({n - 1, 0, *end_of_column});
  return CsrMatrix<T>::from_triplets(n, n, entries);
}

/// In arrays of every form; rows of fewer entries than there are lanes for one, of more, and of those for a thread
/// block.
template <Scalar T, Offset O>
void expect_arrows_in_every_form(const Backend& backend) {
  for (const IndexBase base : {IndexBase::zero, IndexBase::one}) {
    const auto symmetry = [&](const CsrMatrix<T>& a, double tolerance = 0.0) {
      const CsrArrays<T, O> arrays(backend, a, base);
      const auto adopted = SparseMatrix<T>::adopt(backend, arrays.view(), {.symmetry_tolerance = tolerance});
      EXPECT_TRUE(adopted.is_adopted());
      return adopted.symmetry();
    };
    for (const index_t n : {2, 5, 9, 128, 129, 700}) {
      EXPECT_EQ(symmetry(arrow<T>(n, T(1), T(1))), both_ways<T>()) << n;
      EXPECT_EQ(symmetry(arrow<T>(n, T(1), T(2))), Symmetry::none) << n;
      EXPECT_EQ(symmetry(arrow<T>(n, T(1), {})), Symmetry::none) << n;
      EXPECT_EQ(symmetry(arrow<T>(n, {}, T(1))), Symmetry::none) << n;
      EXPECT_EQ(symmetry(arrow<T>(n, T(0), {})), both_ways<T>()) << n;
      EXPECT_EQ(symmetry(arrow<T>(n, {}, T(0))), both_ways<T>()) << n;
      // of a diagonal of 4
      const T half(real_t<T>(0.5));
      EXPECT_EQ(symmetry(arrow<T>(n, T(1), T(1) - half), 0.125), both_ways<T>()) << n;
      EXPECT_EQ(symmetry(arrow<T>(n, T(1), T(1) - half), 0.124), Symmetry::none) << n;
      EXPECT_EQ(symmetry(arrow<T>(n, half, {}), 0.125), both_ways<T>()) << n;
      EXPECT_EQ(symmetry(arrow<T>(n, {}, half), 0.125), both_ways<T>()) << n;
      EXPECT_EQ(symmetry(arrow<T>(n, {}, half), 0.124), Symmetry::none) << n;
      if constexpr (is_complex<T>) {
        EXPECT_EQ(symmetry(arrow<T>(n, T(1, 2), T(1, 2))), Symmetry::symmetric) << n;
        EXPECT_EQ(symmetry(arrow<T>(n, T(1, 2), T(1, -2))), Symmetry::hermitian) << n;
      }
    }
  }
}

TYPED_TEST(SymmetryOnBackend, LongRowsInArraysOfEveryForm) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  expect_arrows_in_every_form<T, std::int32_t>(backend);
  expect_arrows_in_every_form<T, std::int64_t>(backend);
}

/// Of 2 x 2 matrices; what is not given is not stored.
template <Scalar T>
Symmetry symmetry_of(const Backend& backend, double tolerance, T a, T b, std::optional<T> first = {},
                     std::optional<T> second = {}) {
  std::vector<Triplet<T>> entries{{0, 1, a}, {1, 0, b}};
  if (first) entries.push_back({0, 0, *first});
  if (second) entries.push_back({1, 1, *second});
  return SparseMatrix<T>(backend, CsrMatrix<T>::from_triplets(2, 2, entries), {.symmetry_tolerance = tolerance})
      .symmetry();
}

/// |a - b| = 5 and |a| = 40 to the last bit; and wherever the edge may be for other elements, it is that of the host.
TYPED_TEST(SymmetryOnBackend, EdgeOfTheTolerance) {
  using T = typename TypeParam::Scalar;
  const auto symmetry = [](const Backend& backend, T a, T b, double tolerance) {
    return symmetry_of<T>(backend, tolerance, a, b);
  };
  const Backend backend = this->make_backend(), host = Backend::host(1);
  const double below = std::nextafter(0.125, 0.0);
  if constexpr (is_complex<T>) {
    EXPECT_EQ(symmetry(backend, T(24, 32), T(21, 28), 0.125), Symmetry::symmetric);
    EXPECT_EQ(symmetry(backend, T(24, 32), T(21, 28), below), Symmetry::none);
    EXPECT_EQ(symmetry(backend, T(21, 28), T(24, -32), 0.125), Symmetry::hermitian);
    EXPECT_EQ(symmetry(backend, T(21, 28), T(24, -32), below), Symmetry::none);
  } else {
    EXPECT_EQ(symmetry(backend, T(40), T(35), 0.125), Symmetry::symmetric);
    EXPECT_EQ(symmetry(backend, T(35), T(40), below), Symmetry::none);
  }
  Random random(85);
  for (int k = 0; k < 64; ++k) {
    const T a = random.scalar<T>(), b = a * T(real_t<T>(0.9)) + random.scalar<T>() * T(real_t<T>(0.01));
    const auto p = widened(a), q = widened(b);
    const double edge = std::abs(p - q) / std::max(std::abs(p), std::abs(q));
    for (const double tolerance : {std::nextafter(edge, 0.0), edge, std::nextafter(edge, 1.0)})
      EXPECT_EQ(symmetry(backend, a, b, tolerance), symmetry(host, a, b, tolerance)) << a << ' ' << b;
  }
}

/// |a - b| = 1 and sqrt(4 16) = 8 to the last bit, larger than both; and elsewhere the edge of the host.
TYPED_TEST(SymmetryOnBackend, EdgeOfTheToleranceByTheDiagonal) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend(), host = Backend::host(1);
  const double below = std::nextafter(0.125, 0.0);
  const auto found = [&](double tolerance, T a, T b, std::optional<T> first = T(4), std::optional<T> second = T(16)) {
    return symmetry_of<T>(backend, tolerance, a, b, first, second);
  };
  EXPECT_EQ(found(0.125, T(3), T(2)), both_ways<T>());
  EXPECT_EQ(found(0.125, T(2), T(3)), both_ways<T>());
  EXPECT_EQ(found(0.125, T(3), T(2), T(-4)), both_ways<T>()) << "magnitudes";
  EXPECT_EQ(found(0.125, T(1), T(0)), both_ways<T>());
  EXPECT_EQ(found(below, T(3), T(2)), Symmetry::none);
  EXPECT_EQ(found(below, T(2), T(3)), Symmetry::none);
  EXPECT_EQ(found(0.125, T(3), T(2), T(0)), Symmetry::none);
  EXPECT_EQ(found(0.125, T(3), T(2), T(4), T(0)), Symmetry::none);
  EXPECT_EQ(found(0.125, T(3), T(2), {}), Symmetry::none) << "missing is zero";
  EXPECT_EQ(found(0.125, T(3), T(2), T(4), {}), Symmetry::none);
  EXPECT_EQ(found(0.125, T(16), T(14), {}, {}), both_ways<T>()) << "the larger of the two";
  EXPECT_EQ(found(0.0, T(3), T(2)), Symmetry::none);
  if constexpr (is_complex<T>) {
    EXPECT_EQ(found(0.125, T(3, 1), T(2, -1)), Symmetry::hermitian);
    EXPECT_EQ(found(below, T(3, 1), T(2, -1)), Symmetry::none);
    EXPECT_EQ(found(0.125, T(3, 1), T(2, 1), T(0, 4), T(0, -16)), Symmetry::symmetric);
    EXPECT_EQ(found(below, T(3, 1), T(2, 1), T(0, 4), T(0, -16)), Symmetry::none);
  }
  Random random(86);
  for (int k = 0; k < 64; ++k) {
    const T a = random.scalar<T>(), b = a + random.scalar<T>(), first = T(real_t<T>(9.1)), second = T(random.real());
    const double edge = std::abs(widened(a) - widened(b)) /
                        (std::sqrt(std::abs(widened(first))) * std::sqrt(std::abs(widened(second))));
    for (const double tolerance : {std::nextafter(edge, 0.0), edge, std::nextafter(edge, 1.0)})
      EXPECT_EQ(found(tolerance, a, b, first, second), symmetry_of<T>(host, tolerance, a, b, first, second))
          << a << ' ' << b << ' ' << second;
  }
}

/// With tolerances, and of diagonals.
TYPED_TEST(SymmetryOnBackend, ForgivesNoNaNAndNoInfinity) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  const Backend backend = this->make_backend();
  const T inf(std::numeric_limits<R>::infinity()), nan(std::numeric_limits<R>::quiet_NaN());
  for (const double tolerance : {0.125, 1.5, std::numeric_limits<double>::infinity()}) {
    const auto found = [&](T a, T b, T first = T(4)) { return symmetry_of<T>(backend, tolerance, a, b, first, T(16)); };
    EXPECT_EQ(found(T(3), T(2)), both_ways<T>());
    for (const T& number : {inf, -inf, nan}) {
      EXPECT_EQ(found(T(3), number), Symmetry::none);
      EXPECT_EQ(found(number, T(3)), Symmetry::none);
    }
    EXPECT_EQ(found(inf, -inf), Symmetry::none);
    EXPECT_EQ(found(inf, inf), both_ways<T>());
    EXPECT_EQ(found(T(3), T(3), inf), both_ways<T>());
    EXPECT_EQ(found(T(3), T(3), nan), Symmetry::none);
  }
  EXPECT_EQ(symmetry_of<T>(backend, 0.125, T(3), T(2), inf, T(16)), Symmetry::none);
  EXPECT_EQ(symmetry_of<T>(backend, 0.125, T(3), T(2), inf, T(0)), Symmetry::none);
}

/// D A D, with elements that are rounding errors themselves: of no opposite, or of one twice as large.
TYPED_TEST(SymmetryOnBackend, UnitsOfRowsDoNotMatter) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  const Backend backend = this->make_backend();
  constexpr index_t m = 12, n = m * m;
  constexpr double rounded = 1e-6;
  std::vector<Triplet<T>> entries = grid_entries<T>(m, 0.0);
  for (index_t i = 0; i + 30 < n; ++i) entries.push_back({i, i + 30, T(R(rounded))});
  for (index_t i = 0; i + 50 < n; ++i) {
    entries.push_back({i, i + 50, T(R(0.5 * rounded))});
    entries.push_back({i + 50, i, T(R(rounded))});
  }
  const double decades = std::is_same_v<R, double> ? 100.0 : 15.0;
  for (const double reach : {0.0, decades}) {
    Random random(87);
    std::vector<double> units(n);
    for (double& unit : units) unit = std::pow(10.0, reach * random.real());
    units[3] = std::pow(10.0, -reach);
    units[33] = std::pow(10.0, reach);
    std::vector<Triplet<T>> scaled = entries;
    for (Triplet<T>& e : scaled)
      e.value = T(widened(e.value) * (units[static_cast<std::size_t>(e.row)] * units[static_cast<std::size_t>(e.col)]));
    const auto matrix = CsrMatrix<T>::from_triplets(n, n, scaled);
    const auto symmetry = [&](double tolerance) {
      return SparseMatrix<T>(backend, matrix, {.symmetry_tolerance = tolerance}).symmetry();
    };
    EXPECT_EQ(symmetry(0.0), Symmetry::none);
    EXPECT_EQ(symmetry(0.9 * rounded / 4.2), Symmetry::none);
    EXPECT_EQ(symmetry(1.1 * rounded / 4.2), both_ways<T>());
  }
}

/// A missing entry is a zero; equal infinities are equal.
TYPED_TEST(SymmetryOnBackend, MissingEntriesAndInfinities) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto symmetry = [&](const std::vector<Triplet<T>>& entries) {
    return SparseMatrix<T>(backend, CsrMatrix<T>::from_triplets(3, 3, entries)).symmetry();
  };
  const T infinity(std::numeric_limits<real_t<T>>::infinity());
  EXPECT_EQ(symmetry({{0, 0, T(1)}, {0, 2, T(0)}}), both_ways<T>());
  EXPECT_EQ(symmetry({{0, 0, T(1)}, {0, 2, T(1)}}), Symmetry::none);
  EXPECT_EQ(symmetry({{0, 1, infinity}, {1, 0, infinity}}), both_ways<T>());
  EXPECT_EQ(symmetry({}), both_ways<T>());
  if constexpr (is_complex<T>) {
    EXPECT_EQ(symmetry({{0, 1, T(1, 2)}, {1, 0, T(1, 2)}}), Symmetry::symmetric);
    EXPECT_EQ(symmetry({{0, 1, T(1, 2)}, {1, 0, T(1, -2)}}), Symmetry::hermitian);
    EXPECT_EQ(symmetry({{1, 1, T(1, 2)}}), Symmetry::symmetric);
    using R = real_t<T>;
    const T part(std::numeric_limits<R>::infinity(), std::numeric_limits<R>::quiet_NaN());
    const auto half_nan = CsrMatrix<T>::from_triplets(2, 2, std::vector<Triplet<T>>{{0, 1, part}, {1, 0, T(1)}});
    EXPECT_EQ(SparseMatrix<T>(backend, half_nan, {.symmetry_tolerance = 0.5}).symmetry(), Symmetry::none);
  }
  const SparseMatrix<T> wide(backend, CsrMatrix<T>(1, 2, {0, 1}, {0}, {T(1)}));
  EXPECT_EQ(wide.symmetry(), Symmetry::none);
}

/// After new values it is found anew.
TYPED_TEST(SymmetryOnBackend, FollowsNewValues) {
  using T = typename TypeParam::Scalar;
  const CsrMatrix<T> a = grid_matrix<T>(6);
  SparseMatrix<T> matrix(this->make_backend(), a);
  EXPECT_EQ(matrix.symmetry(), both_ways<T>());
  std::vector<T> values(a.values().begin(), a.values().end());
  values[1] *= T(2);
  matrix.update_values(values);
  EXPECT_EQ(matrix.symmetry(), Symmetry::none);
}

}  // namespace
}  // namespace blockjacobi::test
