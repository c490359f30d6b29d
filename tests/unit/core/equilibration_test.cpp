#include "core/shared/equilibration.hpp"

#include "core/shared/compute_type.hpp"
#include "support/hard_matrices.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>

namespace blockjacobi::test {
namespace {

template <class T>
class Equilibrate : public ::testing::Test {};
using Scalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Equilibrate, Scalars);

struct Scales {
  std::vector<int> row, column, work;

  explicit Scales(index_t n)
      : row(static_cast<std::size_t>(n)),
        column(row.size()),
        work(static_cast<std::size_t>(detail::EquilibrationWork::bytes(n)) / sizeof(int)) {}
  bool operator==(const Scales& other) const { return row == other.row && column == other.column; }
};

template <Scalar T, class Group>
void equilibrate(const Dense<T>& a, Group group, Scales& scales) {
  const auto n = static_cast<int>(a.rows());
  const detail::Equilibration<detail::compute_t<T>, Group> equilibration{
      detail::compute_cast(a.data()),
      n,
      n,
      group,
      scales.row.data(),
      scales.column.data(),
      detail::EquilibrationWork::at(scales.work.data(), n)};
  equilibration.run();
}

template <Scalar T>
Scales scales_of(const Dense<T>& a) {
  Scales scales(static_cast<index_t>(a.rows()));
  equilibrate(a, detail::Alone{}, scales);
  return scales;
}

template <Scalar T>
WideDense<T> scaled(const Dense<T>& a, const Scales& scales) {
  WideDense<T> b = a.template cast<typename Wide<T>::type>();
  for (index_t j = 0; j < b.cols(); ++j)
    for (index_t i = 0; i < b.rows(); ++i)
      b(i, j) *= std::ldexp(1.0L, scales.row[static_cast<std::size_t>(i)] + scales.column[static_cast<std::size_t>(j)]);
  return b;
}

/// A few elements a row, of many sizes, among them those of a permutation.
template <Scalar T>
Dense<T> sparse(index_t n, Random& random) {
  Dense<T> a = permutation_matrix<T>(n, random);
  for (index_t j = 0; j < n; ++j)
    for (index_t i = 0; i < n; ++i)
      if (random.real() > 0.5)
        a(i, j) += random.scalar<T>() * std::ldexp(real_t<T>(1), -static_cast<int>(random.index(20)));
  return a;
}

/// Rows and columns times powers of two between 2^-range and 2^range.
template <Scalar T>
Dense<T> graded(Dense<T> a, int range, Random& random) {
  const auto power = [&] { return std::ldexp(real_t<T>(1), static_cast<int>(random.index(2 * range + 1)) - range); };
  for (index_t i = 0; i < a.rows(); ++i) a.row(i) *= power();
  for (index_t j = 0; j < a.cols(); ++j) a.col(j) *= power();
  return a;
}

/// Between the ends of the range, without overflow or underflow.
template <Scalar T>
int widest() {
  return std::is_same_v<real_t<T>, double> ? 490 : 48;
}

TYPED_TEST(Equilibrate, BringsAPermutationNear1AndNoElementAbove) {
  using T = TypeParam;
  Random random(81);
  for (const index_t n : {1, 2, 3, 8, 20, 50}) {
    const Dense<T> a = graded<T>(sparse<T>(n, random), widest<T>(), random);
    const WideDense<T> b = scaled<T>(a, scales_of<T>(a));
    // |Re| + |Im| is below 2, and below 4 where the diagonal alone decides.
    EXPECT_LT(static_cast<double>(b.cwiseAbs().maxCoeff()), 4.0) << "order " << n;
    for (index_t i = 0; i < n; ++i) {
      EXPECT_GE(static_cast<double>(b.row(i).cwiseAbs().maxCoeff()), 0.7) << "row " << i << " of " << n;
      EXPECT_GE(static_cast<double>(b.col(i).cwiseAbs().maxCoeff()), 0.7) << "column " << i << " of " << n;
    }
  }
}

TYPED_TEST(Equilibrate, FindsTheConditionHoweverABlockIsGraded) {
  using T = TypeParam;
  Random random(82);
  const auto rcond = [](const WideDense<T>& b) {
    return static_cast<double>(1 / (infinity_norm(b) * infinity_norm(inverse_of(b))));
  };
  for (const index_t n : {2, 3, 5, 8, 13, 32, 64})
    for (int repeat = 0; repeat < 10; ++repeat) {
      Dense<T> a = sparse<T>(n, random);
      const Dense<T> order = permutation_matrix<T>(n, random);
      a = (a + T(static_cast<real_t<T>>(n)) * Dense<T>::Identity(n, n)).eval() * order;
      const double best = rcond(a.template cast<typename Wide<T>::type>());
      const Dense<T> bad = graded<T>(a, widest<T>(), random);
      EXPECT_GE(rcond(scaled<T>(bad, scales_of<T>(bad))), best / 50) << "order " << n;
    }
}

TYPED_TEST(Equilibrate, DefiniteBlocksAreScaledByTheirDiagonal) {
  using T = TypeParam;
  Random random(83);
  for (const index_t n : {1, 2, 7, 33})
    for (const auto& [name, a] : spd_matrices<T>(n, random)) {
      const Scales scales = scales_of<T>(a);
      EXPECT_EQ(scales.row, scales.column) << name;
      for (index_t i = 0; i < n; ++i)
        EXPECT_EQ(scales.row[static_cast<std::size_t>(i)], -(std::ilogb(std::real(a(i, i))) >> 1)) << name;
    }
}

TYPED_TEST(Equilibrate, HermitianBlocksGetTheSameScalesForRowsAndColumns) {
  using T = TypeParam;
  Random random(84);
  for (const index_t n : {2, 5, 16, 40}) {
    Dense<T> a = sparse<T>(n, random);
    a = (a + a.adjoint()).eval();
    a.diagonal().setZero();
    for (index_t i = 0; i < n; ++i) {
      const auto power = std::ldexp(real_t<T>(1), static_cast<int>(random.index(81)) - 40);
      a.row(i) *= power;
      a.col(i) *= power;
    }
    const Scales scales = scales_of<T>(a);
    EXPECT_EQ(scales.row, scales.column) << "order " << n;
  }
}

/// Without a permutation: rows first, then columns; nothing for zeros.
TYPED_TEST(Equilibrate, BlocksWithoutAPermutationGetRowsThenColumns) {
  using T = TypeParam;
  Dense<T> a(3, 3);
  a << T(8), T(0), T(0), T(1), T(0), T(0), T(2), T(32), T(16);
  const Scales scales = scales_of<T>(a);
  EXPECT_EQ(scales.row, (std::vector<int>{-3, 0, -5}));
  EXPECT_EQ(scales.column, (std::vector<int>{0, 0, 1}));
  EXPECT_TRUE(scales_of<T>(Dense<T>::Zero(4, 4)) == Scales(4));
}

/// Threads in teams that make all calls together, as the lanes of a warp do.
struct Shared {
  explicit Shared(int threads) : barrier(threads), values(static_cast<std::size_t>(threads)) {}
  std::barrier<> barrier;
  std::vector<int> values;
};
struct TeamOfThreads {
  int rank, size, number;
  Shared* shared;

  void sync() const { shared->barrier.arrive_and_wait(); }
  bool any(bool predicate) const {
    return reduce(predicate ? 1 : 0, 0, static_cast<int>(shared->values.size()), [](int x, int y) { return x | y; }) !=
           0;
  }
  int max(int value) const {
    return reduce(value, number * size, size, [](int x, int y) { return std::max(x, y); });
  }
  int min(int value) const {
    return reduce(value, number * size, size, [](int x, int y) { return std::min(x, y); });
  }

 private:
  template <class Combine>
  int reduce(int value, int first, int count, Combine combine) const {
    shared->values[static_cast<std::size_t>(number * size + rank)] = value;
    sync();
    int result = shared->values[static_cast<std::size_t>(first)];
    for (int k = 1; k < count; ++k) result = combine(result, shared->values[static_cast<std::size_t>(first + k)]);
    sync();
    return result;
  }
};

TYPED_TEST(Equilibrate, TeamsFindWhatOneThreadFinds) {
  using T = TypeParam;
  constexpr int size = 3;
  Random random(85);
  std::vector<Dense<T>> blocks{Dense<T>(0, 0), graded<T>(sparse<T>(7, random), 30, random),
                               graded<T>(sparse<T>(12, random), 30, random), spd_matrices<T>(5, random)[1].matrix,
                               Dense<T>::Zero(4, 4)};
  blocks.push_back(graded<T>(sparse<T>(9, random), 30, random));
  blocks.back().row(3).setZero();
  std::vector<Scales> found;
  for (const auto& block : blocks) found.emplace_back(static_cast<index_t>(block.rows()));
  Shared shared(size * static_cast<int>(blocks.size()));
  std::vector<std::thread> threads;
  for (std::size_t team = 0; team < blocks.size(); ++team)
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, team, rank] {
        equilibrate(blocks[team], TeamOfThreads{rank, size, static_cast<int>(team), &shared}, found[team]);
      });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t k = 0; k < blocks.size(); ++k) EXPECT_TRUE(found[k] == scales_of<T>(blocks[k])) << "block " << k;
}

}  // namespace
}  // namespace blockjacobi::test
