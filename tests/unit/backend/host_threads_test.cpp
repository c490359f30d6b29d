#include "backends/systems.hpp"

#include <functional>
#include <thread>

// What the headers promise of threads: the objects of a host backend can be shared.

namespace blockjacobi::test {
namespace {

/// Runs body(0), ..., body(count - 1) at the same time.
void at_once(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(HostThreads, SolveWithTheSameOperatorAndPreconditioner) {
  const Backend host = Backend::host(2);
  const CsrMatrix<double> a = grid_matrix<double>(20, 0.3);
  const LinearOperator<double> A(host, a);
  for (const Storage storage : {Storage::full, Storage::fp16, Storage::adaptive}) {
    const BlockJacobi<double> m(host, a, BlockPartition::uniform(a.rows(), 20), {.storage = storage});
    const Preconditioner<double> M = m;
    const std::vector<double> b = random_vector<double>(a.rows(), 71);
    const auto solve = [&](bool by_gmres) {
      std::vector<double> x(b.size());
      const SolveReport report = by_gmres ? gmres(A, M, b, x) : bicgstab(A, M, b, x);
      EXPECT_TRUE(report.converged()) << to_text(report);
      return x;
    };
    const std::vector<double> expected[] = {solve(false), solve(true)};
    at_once(4, [&](int i) {
      for (int repeat = 0; repeat < 5; ++repeat) EXPECT_EQ(solve(i % 2 == 1), expected[i % 2]);
    });
  }
}

TEST(HostThreads, AskAndApplyTheSameBlockJacobi) {
  const Backend host = Backend::host(2);
  const CsrMatrix<double> a = grid_matrix<double>(20);
  const BlockJacobi<double> m(host, a, BlockPartition::uniform(a.rows(), 40));
  const std::vector<double> r = random_vector<double>(a.rows(), 72);
  const auto applied = [&] {
    std::vector<double> z(r.size());
    m.apply({r.data(), a.rows(), MemorySpace::host}, {z.data(), a.rows(), MemorySpace::host}, Op::transpose);
    return z;
  };
  const std::vector<double> expected = applied(), rcond = m.rcond();
  at_once(4, [&](int) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      EXPECT_EQ(applied(), expected);
      EXPECT_EQ(m.rcond(), rcond);
      EXPECT_EQ(m.report().singular_blocks, 0);
    }
  });
}

}  // namespace
}  // namespace blockjacobi::test
