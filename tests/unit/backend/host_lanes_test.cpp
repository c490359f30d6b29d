#include "backend/host_lanes.hpp"

#include "support/dense.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <limits>
#include <utility>

namespace blockjacobi::test {
namespace {

template <class R>
class HostLanes : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(HostLanes, Reals);

/// f(std::integral_constant<int, N>) for every order that lanes serve.
template <class F>
void for_orders(F f) {
  [&]<int... I>(std::integer_sequence<int, I...>) { (f(std::integral_constant<int, I + 1>{}), ...); }
  (std::make_integer_sequence<int, detail::largest_lane_size>{});
}

/// What became of one block.
template <class R>
struct Outcome {
  bool is_unusual;
  R rcond;
  Dense<R> inverse;
};

/// The block in lane `lane`, `others` in all the others.
template <int N, class R>
Outcome<R> invert(const Dense<R>& block, const Dense<R>& others, int lane) {
  detail::LaneInverse<R, N> lanes;
  for (int l = 0; l < lanes.lanes; ++l)
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < N; ++j) lanes.rows(l)[i * N + j] = (l == lane ? block : others)(i, j);
  lanes.run();
  Outcome<R> outcome{lanes.is_unusual(lane), lanes.rcond(lane), Dense<R>(N, N)};
  lanes.store(lane, outcome.inverse.data());
  return outcome;
}

TYPED_TEST(HostLanes, InverseOfEveryOrderInEveryLane) {
  Random random(1);
  for_orders([&](auto n) {
    for (int lane = 0; lane < detail::LaneInverse<TypeParam, n()>::lanes; ++lane)
      for (int repeat = 0; repeat < 50; ++repeat) {
        const Dense<TypeParam> a = random_dense<TypeParam>(n(), random);
        const auto [is_unusual, rcond, x] = invert<n()>(a, random_dense<TypeParam>(n(), random), lane);
        EXPECT_FALSE(is_unusual) << n();
        EXPECT_LE(inverse_error<TypeParam>(a, x), 10.0) << n();
        EXPECT_GT(rcond, TypeParam(0));
        EXPECT_LE(rcond, TypeParam(1) + TypeParam(100) * std::numeric_limits<TypeParam>::epsilon());
      }
  });
}

TYPED_TEST(HostLanes, PermutationsAreInvertedExactly) {
  for_orders([&](auto n) {
    Eigen::PermutationMatrix<Eigen::Dynamic> permutation(n());
    permutation.setIdentity();
    const Dense<TypeParam> others = Dense<TypeParam>::Identity(n(), n());
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::next_permutation(permutation.indices().data(), permutation.indices().data() + n());
      const Dense<TypeParam> a = TypeParam(3) * Dense<TypeParam>(permutation);
      const Outcome<TypeParam> found = invert<n()>(a, others, 0);
      EXPECT_EQ(found.inverse, Dense<TypeParam>(permutation.transpose()) / TypeParam(3)) << a;
      EXPECT_EQ(found.rcond, TypeParam(1));
    }
  });
}

TYPED_TEST(HostLanes, PowersOfTwoInTheRowsChangeNoBit) {
  Random random(2);
  for_orders([&](auto n) {
    const Dense<TypeParam> a = random_dense<TypeParam>(n(), random);
    const Outcome<TypeParam> plain = invert<n()>(a, a, 0);
    const auto scaled_by = [&](auto&& power) {
      Dense<TypeParam> scaled = a, expected = plain.inverse;
      for (int i = 0; i < n(); ++i) {
        scaled.row(i) *= std::ldexp(TypeParam(1), power(i));
        expected.col(i) *= std::ldexp(TypeParam(1), -power(i));
      }
      const Outcome<TypeParam> found = invert<n()>(scaled, a, 0);
      if (!found.is_unusual) {
        EXPECT_EQ(found.inverse, expected);
        EXPECT_EQ(found.rcond, plain.rcond);
      }
      return found.is_unusual;
    };
    EXPECT_FALSE(scaled_by([](int i) { return 3 * i % 7 - 3; }));
    // Rows so far apart may be those of a graded block, if a pivot comes from another row.
    scaled_by([](int i) { return 5 * i - 12; });
  });
}

TYPED_TEST(HostLanes, UnusualBlocksAreToldAndDisturbNoOther) {
  using Limits = std::numeric_limits<TypeParam>;
  Random random(3);
  for_orders([&](auto n) {
    const Dense<TypeParam> good = random_dense<TypeParam>(n(), random);
    const Outcome<TypeParam> alone = invert<n()>(good, good, 0);
    std::vector<Dense<TypeParam>> bad(6, good);
    bad[0](n() - 1, 0) = Limits::quiet_NaN();
    bad[1](0, n() - 1) = Limits::infinity();
    bad[2].row(n() - 1).setZero();
    bad[3].col(n() / 2).setZero();
    bad[4] = good * (Limits::min() * TypeParam(16));
    bad[5] = good * (Limits::max() / TypeParam(16));
    if (n() > 1) {
      bad.push_back(good);
      bad.back().row(1) = bad.back().row(0);
      bad.push_back(bad.back());  // within rounding of singular
      bad.back()(1, 0) *= TypeParam(1) + Limits::epsilon();
    }
    for (std::size_t k = 0; k < bad.size(); ++k) {
      SCOPED_TRACE(k);
      EXPECT_TRUE(invert<n()>(bad[k], good, 0).is_unusual) << bad[k];
      const Outcome<TypeParam> beside = invert<n()>(good, bad[k], 1);
      EXPECT_FALSE(beside.is_unusual);
      EXPECT_EQ(beside.inverse, alone.inverse);
      EXPECT_EQ(beside.rcond, alone.rcond);
    }
  });
}

}  // namespace
}  // namespace blockjacobi::test
