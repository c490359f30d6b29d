#include "support/backends.hpp"
#include "support/messages.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace blockjacobi::test {
namespace {

template <class Case>
class ClustersOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(ClustersOnBackend, BackendCases, BackendCaseName);

template <Scalar T>
T scalar(double value) {
  return T(static_cast<real_t<T>>(value));
}

/// Differences to the neighbours in a grid, with weights of their own in the directions.
template <Scalar T>
std::vector<Triplet<T>> stencil(index_t nx, index_t ny, index_t nz, double wx, double wy, double wz) {
  std::vector<Triplet<T>> entries;
  const index_t steps[] = {1, nx, nx * ny};
  const double weights[] = {wx, wy, wz};
  for (index_t i = 0; i < nx * ny * nz; ++i) {
    const index_t place[] = {i % nx, i / nx % ny, i / (nx * ny)}, size[] = {nx, ny, nz};
    entries.push_back({i, i, scalar<T>(2 * (wx + wy + wz))});
    for (int d = 0; d < 3; ++d) {
      if (place[d] > 0) entries.push_back({i, i - steps[d], scalar<T>(-weights[d])});
      if (place[d] + 1 < size[d]) entries.push_back({i, i + steps[d], scalar<T>(-weights[d])});
    }
  }
  return entries;
}

/// Of any magnitude between 2^-10 and 1.
template <Scalar T>
T random_value(Random& random) {
  return random.scalar<T>() * static_cast<real_t<T>>(std::ldexp(1.0, -random.index(10)));
}

/// About `width` entries a row, in no symmetric pattern, and some that have both ends.
template <Scalar T>
std::vector<Triplet<T>> random_entries(index_t n, index_t width, std::uint64_t seed) {
  Random random(seed);
  std::vector<Triplet<T>> entries;
  for (index_t i = 0; i < n; ++i) {
    if (random.index(10) > 0) entries.push_back({i, i, random_value<T>(random)});
    for (index_t k = random.index(2 * width); k > 0; --k) {
      const index_t j = random.index(2) == 0 ? random.index(n) : std::clamp(i + random.index(21) - 10, 0, n - 1);
      entries.push_back({i, j, random_value<T>(random)});
      if (random.index(2) == 0) entries.push_back({j, i, random_value<T>(random)});
    }
  }
  return entries;
}

template <Scalar T>
CsrMatrix<T> matrix_of(index_t n, const std::vector<Triplet<T>>& entries) {
  return CsrMatrix<T>::from_triplets(n, n, entries);
}

void expect_equal(const PermutedPartition& found, const PermutedPartition& expected, const std::string& what) {
  const auto a = found.permutation.order(), b = expected.permutation.order();
  EXPECT_TRUE(std::ranges::equal(a, b)) << what << ": different from row "
                                        << std::ranges::mismatch(a, b).in1 - a.begin() << " on";
  EXPECT_TRUE(found.blocks == expected.blocks)
      << what << ": " << found.blocks.blocks() << " blocks instead of " << expected.blocks.blocks();
}

/// The same blocks as of the host's algorithm, in every entry; `node` rows a node, 0 for supervariables.
template <Scalar T>
void expect_those_of_host(const Backend& backend, const CsrMatrix<T>& matrix, std::initializer_list<index_t> sizes,
                          index_t node = 0) {
  SparseMatrixOptions options;
  if (node > 0) options.block_size = node;
  const SparseMatrix<T> own(backend, matrix, options);
  for (const index_t max_size : sizes) {
    const auto expected = node > 0
                              ? BlockPartition::clusters(matrix, BlockPartition::uniform(matrix.rows(), node), max_size)
                              : BlockPartition::clusters(matrix, max_size);
    const auto found = BlockPartition::clusters(own, max_size);
    EXPECT_LE(found.blocks.largest_block(), max_size);
    expect_equal(found, expected,
                 std::to_string(matrix.rows()) + " rows, blocks of up to " + std::to_string(max_size) + ", nodes of " +
                     std::to_string(node));
  }
}

TYPED_TEST(ClustersOnBackend, Stencils) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  // With equal strengths all is decided by what settles ties.
  expect_those_of_host(backend, matrix_of(37 * 41, stencil<T>(37, 41, 1, 1.0, 1.0, 1.0)), {1, 2, 3, 8, 32, 100, 512});
  expect_those_of_host(backend, matrix_of(1024, stencil<T>(32, 32, 1, 0.01, 1.0, 1.0)), {5, 32});
  expect_those_of_host(backend, matrix_of(17 * 16 * 15, stencil<T>(17, 16, 15, 1.0, 1.0, 1.0)), {2, 8, 32, 64, 512});
  expect_those_of_host(backend, matrix_of(4096, stencil<T>(16, 16, 16, 1.0, 0.1, 3.0)), {16, 256});
}

TYPED_TEST(ClustersOnBackend, MoreThan65536Clusters) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto matrix = matrix_of(56 * 55 * 54, stencil<T>(56, 55, 54, 1.0, 1.0, 1.0));
  expect_those_of_host(backend, matrix, {2, 32});
  EXPECT_GT(BlockPartition::clusters(SparseMatrix<T>(backend, matrix), 2).blocks.blocks(), 65536);
}

TYPED_TEST(ClustersOnBackend, RandomNonsymmetricMatrices) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t n : {2, 3, 31, 32, 33, 257, 3000}) {
    if (n > 257 && is_under_tool()) continue;
    expect_those_of_host(backend, matrix_of(n, random_entries<T>(n, 3, 1)), {2, 7, 32, 512});
  }
  expect_those_of_host(backend, matrix_of(2000, random_entries<T>(2000, 12, 2)), {8, 128});
  // Lists of hundreds.
  expect_those_of_host(backend, matrix_of(700, random_entries<T>(700, 100, 3)), {8, 128});
}

TYPED_TEST(ClustersOnBackend, TriangularMatrices) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  // Every row lacks what others have.
  std::vector<Triplet<T>> lower;
  for (const auto& entry : random_entries<T>(1500, 4, 4))
    if (entry.col <= entry.row) lower.push_back(entry);
  expect_those_of_host(backend, matrix_of(1500, lower), {4, 32, 200});
}

TYPED_TEST(ClustersOnBackend, HubRows) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  constexpr index_t n = 6000;
  for (const bool is_symmetric : {true, false}) {
    auto entries = random_entries<T>(n, 3, 5);
    Random random(6);
    for (const index_t hub : {0, 1, 2900, n - 1})
      for (index_t i = hub % 3; i < n; i += hub % 3 + 1) {
        entries.push_back({hub, i, random_value<T>(random)});
        if (is_symmetric) entries.push_back({i, hub, random_value<T>(random)});
      }
    expect_those_of_host(backend, matrix_of(n, entries), {2, 16, 64});
  }
}

TYPED_TEST(ClustersOnBackend, HubsThatManyAreTiedToAlone) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  // Stars of one strength: a hub takes one row a pass.
  std::vector<Triplet<T>> entries;
  for (index_t i = 0; i < 1200; ++i) {
    entries.push_back({i, i, scalar<T>(1.0)});
    if (i % 400 == 0) continue;
    entries.push_back({i, i / 400 * 400, scalar<T>(0.5)});
    entries.push_back({i / 400 * 400, i, scalar<T>(0.5)});
  }
  expect_those_of_host(backend, matrix_of(1200, entries), {2, 5, 40});
}

TYPED_TEST(ClustersOnBackend, FullMatrices) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(7);
  std::vector<Triplet<T>> entries, equal;
  for (index_t i = 0; i < 400; ++i)
    for (index_t j = 0; j < 400; ++j) {
      entries.push_back({i, j, random_value<T>(random)});
      equal.push_back({i, j, scalar<T>(1.0)});
    }
  expect_those_of_host(backend, matrix_of(400, entries), {2, 30, 512});
  expect_those_of_host(backend, matrix_of(400, entries), {30, 512}, 1);
  expect_those_of_host(backend, matrix_of(400, equal), {8, 30}, 1);
}

TYPED_TEST(ClustersOnBackend, ListsOfEveryLength) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  // About where other numbers of threads take a list: at 8, 16, 32 and 64 entries, and above 128 it is a thread block.
  Random random(15);
  constexpr index_t n = 400;
  for (const index_t reach : {3, 4, 5, 6, 7, 8, 11, 12, 15, 16, 23, 24, 31, 32, 47, 48, 63, 64}) {
    std::vector<Triplet<T>> entries;
    for (index_t i = 0; i < n; ++i)
      for (index_t step = -reach; step <= reach; ++step)
        entries.push_back({i, (i + step + n) % n, random_value<T>(random)});
    expect_those_of_host(backend, matrix_of(n, entries), {32}, 1);
  }
}

TYPED_TEST(ClustersOnBackend, DisconnectedSystems) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  std::vector<Triplet<T>> entries;
  Random random(8);
  for (index_t i = 0; i < 2996; ++i) {
    entries.push_back({i, i, scalar<T>(2.0)});
    if (i % 7 < 5) entries.push_back({i, i / 7 * 7 + random.index(5), random_value<T>(random)});
  }
  expect_those_of_host(backend, matrix_of(2996, entries), {2, 4, 32}, 1);
  expect_those_of_host(backend, matrix_of(2996, entries), {2, 4, 32});
}

TYPED_TEST(ClustersOnBackend, SmallAndDiagonalMatrices) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  expect_those_of_host(backend, CsrMatrix<T>(), {1, 32});
  expect_those_of_host(backend, matrix_of<T>(1, {{0, 0, scalar<T>(3.0)}}), {1, 32});
  expect_those_of_host(backend, matrix_of<T>(1, {}), {1, 32});
  expect_those_of_host(backend, matrix_of<T>(2, {{0, 1, scalar<T>(3.0)}}), {1, 2});
  expect_those_of_host(backend, matrix_of<T>(300, {}), {1, 32});
  expect_those_of_host(backend, matrix_of<T>(300, {}), {32}, 3);
  std::vector<Triplet<T>> diagonal;
  for (index_t i = 0; i < 300; ++i) diagonal.push_back({i, i, scalar<T>(i % 5)});
  expect_those_of_host(backend, matrix_of(300, diagonal), {1, 32});
  expect_those_of_host(backend, matrix_of(300, diagonal), {32}, 4);
}

TYPED_TEST(ClustersOnBackend, StatedNodes) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t node : {1, 2, 3, 10, 60}) {
    expect_those_of_host(backend, matrix_of(1800, random_entries<T>(1800, 3, 9)), {60, 128}, node);
    expect_those_of_host(backend, matrix_of(3600, stencil<T>(60, 60, 1, 0.1, 1.0, 1.0)), {60, 512}, node);
  }
}

TYPED_TEST(ClustersOnBackend, Supervariables) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  // Runs of 1 to 11 rows with one pattern, of which those above 8 are cut.
  Random random(10);
  std::vector<Triplet<T>> entries;
  constexpr index_t n = 2500;
  for (index_t first = 0; first < n;) {
    const index_t last = std::min(first + 1 + random.index(11), n);
    std::vector<index_t> columns{first};
    for (int k = 0; k < 6; ++k) columns.push_back(std::clamp(first + random.index(120) - 60, 0, n - 1));
    for (; first < last; ++first)
      for (const index_t column : columns) entries.push_back({first, column, random_value<T>(random)});
  }
  expect_those_of_host(backend, matrix_of(n, entries), {3, 8, 32, 300});
}

TYPED_TEST(ClustersOnBackend, ZerosInfinitiesAndWhatIsNotANumber) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  const Backend backend = this->make_backend();
  const R particular[] = {R(0), std::numeric_limits<R>::quiet_NaN(), std::numeric_limits<R>::infinity(),
                          std::numeric_limits<R>::denorm_min(), std::numeric_limits<R>::max()};
  auto entries = random_entries<T>(1500, 4, 11);
  Random random(12);
  for (auto& entry : entries)
    if (random.index(4) == 0) entry.value = T(particular[random.index(5)]);
  expect_those_of_host(backend, matrix_of(1500, entries), {2, 32, 200}, 1);
  expect_those_of_host(backend, matrix_of(1500, entries), {32}, 3);
  for (auto& entry : entries) entry.value = T(R(0));
  expect_those_of_host(backend, matrix_of(1500, entries), {32}, 1);
}

TYPED_TEST(ClustersOnBackend, AnyBaseAndOffsets) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto matrix = matrix_of(900, random_entries<T>(900, 4, 13));
  const auto expected = BlockPartition::clusters(matrix, 24);
  const auto check = [&]<Offset O>(O base) {
    std::vector<O> offsets;
    for (const offset_t offset : matrix.row_offsets()) offsets.push_back(static_cast<O>(offset) + base);
    std::vector<index_t> columns;
    for (const index_t column : matrix.columns()) columns.push_back(column + static_cast<index_t>(base));
    const Array<O> own_offsets(backend, offsets);
    const Array<index_t> own_columns(backend, columns);
    const Array<T> own_values(backend, std::vector<T>(matrix.values().begin(), matrix.values().end()));
    const CsrView<T, O> view{900,
                             900,
                             matrix.nnz(),
                             own_offsets.data(),
                             own_columns.data(),
                             own_values.data(),
                             base == 0 ? IndexBase::zero : IndexBase::one,
                             backend.memory_space()};
    const auto adopted = SparseMatrix<T>::adopt(backend, view);
    EXPECT_TRUE(adopted.is_adopted());
    expect_equal(BlockPartition::clusters(adopted, 24), expected, "base " + std::to_string(base));
  };
  check(std::int32_t{0});
  check(std::int32_t{1});
  check(std::int64_t{0});
  check(std::int64_t{1});
}

TYPED_TEST(ClustersOnBackend, AreTheSameEveryTime) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const SparseMatrix<T> matrix(backend, matrix_of(20000, random_entries<T>(20000, 4, 14)));
  const auto first = BlockPartition::clusters(matrix, 32);
  for (int time = 0; time < 3; ++time) expect_equal(BlockPartition::clusters(matrix, 32), first, "once more");
}

TYPED_TEST(ClustersOnBackend, NumbersOutliveWhatTheyWereFoundWith) {
  using T = typename TypeParam::Scalar;
  const auto matrix = matrix_of(900, stencil<T>(30, 30, 1, 1.0, 0.1, 1.0));
  std::optional<PermutedPartition> found;
  {
    const Backend backend = this->make_backend();
    found = BlockPartition::clusters(SparseMatrix<T>(backend, matrix), 16);
  }
  const Permutation copy = found->permutation, expected = BlockPartition::clusters(matrix, 16).permutation;
  EXPECT_EQ(copy.size(), 900);
  EXPECT_EQ(copy.inverse(), expected.inverse());
  EXPECT_EQ(copy, expected);
  EXPECT_FALSE(copy.is_identity());
  // Copies share the numbers, which are fetched once.
  EXPECT_EQ(found->permutation.order().data(), copy.order().data());
}

TYPED_TEST(ClustersOnBackend, MisuseNamesTheValue) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto host = matrix_of(12, stencil<T>(4, 3, 1, 1.0, 1.0, 1.0));
  const SparseMatrix<T> matrix(backend, host);
  EXPECT_EQ(message_of([&] { (void)BlockPartition::clusters(matrix, 0); }),
            "BlockPartition::clusters: block size is 0, must be in 1..512");
  EXPECT_EQ(message_of([&] { (void)BlockPartition::clusters(matrix, 513); }),
            "BlockPartition::clusters: block size is 513, must be in 1..512");
  const SparseMatrix<T> of_nodes(backend, host, {.block_size = 3});
  EXPECT_EQ(message_of([&] { (void)BlockPartition::clusters(of_nodes, 2); }),
            "BlockPartition::clusters: node 0 has 3 rows, a block at most 2");
  const SparseMatrix<T> rectangle(backend, CsrMatrix<T>(2, 3, {0, 0, 0}, {}, {}));
  EXPECT_EQ(message_of([&] { (void)BlockPartition::clusters(rectangle, 2); }),
            "BlockPartition::clusters: the matrix is 2 x 3, must be square");
}

}  // namespace
}  // namespace blockjacobi::test
