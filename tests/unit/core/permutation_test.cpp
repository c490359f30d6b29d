#include "support/messages.hpp"
#include "support/random.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <numeric>

namespace blockjacobi::test {
namespace {

std::vector<index_t> random_order(index_t size, Random& random) {
  std::vector<index_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  for (index_t k = size - 1; k > 0; --k)
    std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(random.index(k + 1))]);
  return order;
}

TEST(Permutation, GoesThereAndBack) {
  const auto p = Permutation::from_order({2, 0, 3, 1});
  const std::vector<double> x{10, 11, 12, 13};
  EXPECT_EQ(p.to_permuted(x), (std::vector<double>{12, 10, 13, 11}));
  EXPECT_EQ(p.to_original(p.to_permuted(x)), x);
  EXPECT_EQ(p.inverse(), Permutation::from_order({1, 3, 0, 2}));
  EXPECT_EQ(p.inverse().to_permuted(p.to_permuted(x)), x);
  EXPECT_FALSE(p.is_identity());
  EXPECT_TRUE(Permutation::identity(3).is_identity());
  EXPECT_EQ(Permutation::identity(3), Permutation::from_order({0, 1, 2}));
  EXPECT_EQ(Permutation().size(), 0);
  EXPECT_EQ(Permutation::from_order({}).size(), 0);
}

TEST(Permutation, RefusesWhatIsNone) {
  EXPECT_EQ(message_of([] {
              (void)Permutation::from_order({0, 2});
            }),
            "Permutation::from_order: order[1] is 2, must be in 0..1");
  EXPECT_EQ(message_of([] {
              (void)Permutation::from_order({-1, 0});
            }),
            "Permutation::from_order: order[0] is -1, must be in 0..1");
  EXPECT_EQ(message_of([] {
              (void)Permutation::from_order({1, 0, 1});
            }),
            "Permutation::from_order: order[2] is 1 once more");
  EXPECT_EQ(message_of([] { (void)Permutation::identity(-1); }), "Permutation::identity: size is -1, must be >= 0");
  const auto p = Permutation::identity(2);
  EXPECT_EQ(message_of([&] { (void)p.to_permuted(std::vector<int>(3)); }),
            "Permutation::to_permuted: the vector has 3 elements, must have 2");
  EXPECT_EQ(message_of([&] { (void)p.to_original(std::vector<int>(1)); }),
            "Permutation::to_original: the vector has 1 elements, must have 2");
}

/// B of A and the order, element by element.
TEST(PermutedMatrix, IsTheSymmetricPermutation) {
  using T = std::complex<double>;
  Random random(7);
  for (const index_t n : {0, 1, 2, 17, 40}) {
    std::vector<Triplet<T>> entries;
    for (index_t k = 0; k < 4 * n; ++k) entries.push_back({random.index(n), random.index(n), random.scalar<T>()});
    const auto a = CsrMatrix<T>::from_triplets(n, n, entries);
    const auto order = random_order(n, random);
    const PermutedMatrix<T> b(a, Permutation::from_order(order));
    ASSERT_EQ(b.nnz(), a.nnz());
    ASSERT_EQ(b.rows(), n);
    validate(b.view());
    std::vector<std::vector<T>> dense(static_cast<std::size_t>(n), std::vector<T>(static_cast<std::size_t>(n)));
    for (index_t i = 0; i < n; ++i)
      for (offset_t k = a.view().row_offsets[i]; k < a.view().row_offsets[i + 1]; ++k)
        dense[static_cast<std::size_t>(i)][static_cast<std::size_t>(a.view().columns[k])] = a.view().values[k];
    for (index_t i = 0; i < n; ++i)
      for (offset_t k = b.view().row_offsets[i]; k < b.view().row_offsets[i + 1]; ++k) {
        const auto row = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
        const auto column = static_cast<std::size_t>(order[static_cast<std::size_t>(b.view().columns[k])]);
        EXPECT_EQ(b.view().values[k], dense[row][column]);
        if (k > b.view().row_offsets[i]) {
          EXPECT_LT(b.view().columns[k - 1], b.view().columns[k]);
        }
      }
  }
}

TEST(PermutedMatrix, TakesNewValuesInPlace) {
  // rows unsorted, base 1, entry (1, 1) twice
  const std::vector<std::int32_t> offsets{1, 4, 6};
  const std::vector<index_t> columns{2, 1, 1, 2, 1};
  std::vector<double> values{5, 1, 2, 7, 6};
  const CsrView<double, std::int32_t> view{
      2, 2, 5, offsets.data(), columns.data(), values.data(), IndexBase::one, MemorySpace::host};
  PermutedMatrix<double> b(view, Permutation::from_order({1, 0}));
  const double* const data = b.view().values;
  EXPECT_EQ(std::vector<double>(data, data + 5), (std::vector<double>{7, 6, 5, 1, 2}));
  EXPECT_EQ(std::vector<index_t>(b.view().columns, b.view().columns + 5), (std::vector<index_t>{0, 1, 0, 1, 1}));
  EXPECT_EQ(b.value_map()[0], 3);
  for (double& v : values) v *= 10;
  b.update(values);
  EXPECT_EQ(b.view().values, data);
  EXPECT_EQ(std::vector<double>(data, data + 5), (std::vector<double>{70, 60, 50, 10, 20}));
}

TEST(PermutedMatrix, RefusesWhatDoesNotFit) {
  const CsrMatrix<double> a(2, 2, {0, 1, 2}, {0, 1}, {1, 1});
  EXPECT_EQ(message_of([&] { PermutedMatrix<double>(a, Permutation::identity(3)); }),
            "PermutedMatrix: the matrix has 2 rows, the permutation 3");
  const CsrMatrix<double> rectangle(2, 3, {0, 0, 0}, {}, {});
  EXPECT_EQ(message_of([&] { PermutedMatrix<double>(rectangle, Permutation::identity(2)); }),
            "PermutedMatrix: the matrix is 2 x 3, must be square");
  auto view = a.view();
  view.values = nullptr;
  EXPECT_EQ(message_of([&] { PermutedMatrix<double>(view, Permutation::identity(2)); }),
            "PermutedMatrix: the matrix has 2 entries but no values");
  view = a.view();
  view.space = MemorySpace::device;
  EXPECT_EQ(message_of([&] { PermutedMatrix<double>(view, Permutation::identity(2)); }),
            "PermutedMatrix: the matrix lies on the device, must be on the host");
  PermutedMatrix<double> b(a, Permutation::identity(2));
  EXPECT_EQ(message_of([&] { b.update(std::vector<double>(3)); }), "PermutedMatrix::update: 3 values, must be 2");
}

}  // namespace
}  // namespace blockjacobi::test
