#include "backend/host_isa.hpp"
#include "support/messages.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace blockjacobi::test {
namespace {

using detail::Isa;

TEST(HostIsa, RunsWhatTheCompilerSaysThatTheMachineRuns) {
  EXPECT_TRUE(detail::machine_runs(Isa::baseline));
#if defined(__x86_64__) && !defined(__clang__)
  EXPECT_EQ(detail::machine_runs(Isa::v2), __builtin_cpu_supports("x86-64-v2") != 0);
  EXPECT_EQ(detail::machine_runs(Isa::v3), __builtin_cpu_supports("x86-64-v3") != 0);
  EXPECT_EQ(detail::machine_runs(Isa::v4), __builtin_cpu_supports("x86-64-v4") != 0);
#elif !defined(__x86_64__)
  for (const Isa isa : {Isa::v2, Isa::v3, Isa::v4}) EXPECT_FALSE(detail::machine_runs(isa));
#endif
}

TEST(HostIsa, TakesTheBestUnlessATestAsksForAnother) {
  const auto& isas = detail::host_isas();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), Isa::baseline);
  EXPECT_TRUE(std::ranges::is_sorted(isas));
  EXPECT_EQ(detail::host_isa(), isas.back());
  for (const Isa isa : isas) {
    EXPECT_TRUE(detail::machine_runs(isa));
    detail::use_host_isa(isa);
    EXPECT_EQ(detail::host_isa(), isa);
  }
}

TEST(HostIsa, RefusesWhatIsNotThere) {
  for (const Isa isa : {Isa::v2, Isa::v3, Isa::v4}) {
    const auto& isas = detail::host_isas();
    if (std::ranges::find(isas, isa) != isas.end()) continue;
    EXPECT_EQ(message_of([&] { detail::use_host_isa(isa); }),
              std::string("use_host_isa: this library and machine do not have ") + to_string(isa));
  }
}

/// Inverse and solution by every set of kernels, bit by bit different ones among them: their own objects ran.
TEST(HostIsa, KernelsOfEverySetAreTheirOwn) {
  constexpr index_t n = 96;
  std::vector<double> a(n * n);
  for (index_t j = 0; j < n; ++j)
    for (index_t i = 0; i < n; ++i) a[static_cast<std::size_t>(i + j * n)] = i == j ? n : 1.0 / (1 + i + 2 * j);
  const auto view = [](auto& values) {
    using T = std::remove_reference_t<decltype(values[0])>;
    return MatrixBatchView<T>::strided(values.data(), n, n, n, n * n, 1, MemorySpace::host);
  };
  std::vector<std::vector<double>> inverses;
  for (const Isa isa : detail::host_isas()) {
    detail::use_host_isa(isa);
    std::vector<double> x(a.size());
    int info = -1;
    batched::inverse<double>(Backend::host(1), view(a), view(x), &info);
    EXPECT_EQ(info, 0);
    double difference = 0;
    for (index_t j = 0; j < n; ++j)
      for (index_t i = 0; i < n; ++i) {
        double sum = i == j ? -1.0 : 0.0;
        for (index_t k = 0; k < n; ++k)
          sum += a[static_cast<std::size_t>(i + k * n)] * x[static_cast<std::size_t>(k + j * n)];
        difference = std::max(difference, std::abs(sum));
      }
    EXPECT_LE(difference, 1e-13) << to_string(isa);
    inverses.push_back(x);
  }
  // Those with fused multiplications round differently from those without.
  if (detail::host_isas().back() >= Isa::v3) {
    EXPECT_NE(inverses.front(), inverses.back());
  }
}

}  // namespace
}  // namespace blockjacobi::test
