#include "matrices/generators.hpp"

#include <blockjacobi/blockjacobi.h>
#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

/// What may be done from several threads at once on host backends. The results must be those of one thread, bit for
/// bit; built with ThreadSanitizer (preset tsan) the same program shows that nothing is shared without need.
namespace blockjacobi::test {
namespace {

constexpr int users = 4;

/// f(0), f(1), ... in a thread each, which start together.
template <class F>
auto in_threads(F f) {
  std::vector<decltype(f(0))> results(users);
  std::vector<std::thread> threads;
  for (int i = 0; i < users; ++i)
    threads.emplace_back([&f, &results, i] { results[static_cast<std::size_t>(i)] = f(i); });
  for (std::thread& thread : threads) thread.join();
  return results;
}

/// Every thread has what `f` gives alone.
template <class F>
void expect_the_same_in_threads(F f) {
  const auto alone = f(0);
  const auto results = in_threads(f);
  for (const auto& result : results) EXPECT_EQ(result, alone);
}

CsrMatrix<double> elastic() { return matrices::elasticity<double>({.elements = {6, 5, 4}}); }

std::vector<double> numbers(index_t n) {
  std::vector<double> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>((i * 2654435761U) % 2001) / 1000.0 - 1.0;
  return v;
}

std::vector<double> applied(const BlockJacobi<double>& m, const std::vector<double>& r) {
  std::vector<double> z(r.size());
  m.apply(VectorView<const double>(r), VectorView<double>(z));
  return z;
}

std::vector<double> solved(const LinearOperator<double>& a, const Preconditioner<double>& m) {
  const std::vector<double> b = numbers(a.rows());
  std::vector<double> x(b.size());
  const SolveReport report = cg(a, m, b, x);
  EXPECT_TRUE(report.converged()) << to_text(report);
  return x;
}

std::vector<index_t> offsets(const BlockPartition& blocks) {
  return {blocks.offsets().begin(), blocks.offsets().end()};
}

TEST(Threads, EachWithABackendOfItsOwn) {
  const CsrMatrix<double> matrix = elastic();
  expect_the_same_in_threads([&](int i) {
    const SparseMatrix<double> a(Backend::host(1 + i % 2), matrix);
    return solved(a, BlockJacobi<double>(a, BlockPartition::detect(a)));
  });
}

template <class M>
std::vector<double> solved_after_refresh(const LinearOperator<double>& a, M m) {
  m.refresh();
  return solved(a, m);
}

TEST(Threads, CoarseLevelsEachWithABackendOfItsOwn) {
  const CsrMatrix<double> matrix = elastic();
  expect_the_same_in_threads([&](int i) {
    const SparseMatrix<double> a(Backend::host(1 + i % 2), matrix, {.block_size = 3});
    const auto M = [&] { return BlockJacobi<double>(a, BlockPartition::uniform(a.rows(), 6)); };
    std::vector<std::vector<double>> found;
    for (const index_t relaxed : {0, 2}) {
      found.push_back(solved_after_refresh(a, TwoLevel<double>(a, M(), {.size = 24, .relaxed = relaxed})));
      found.push_back(solved_after_refresh(a, Multigrid<double>(a, M(), {.coarsest = 12, .relaxed = relaxed})));
    }
    return found;
  });
}

TEST(Threads, SuggestedSystemsEachWithABackendOfItsOwn) {
  const CsrMatrix<double> matrix = elastic();
  expect_the_same_in_threads([&](int i) {
    const SparseMatrix<double> a(Backend::host(1 + i % 2), matrix);
    BlockCandidate blocks;
    auto clusters = BlockPartition::clusters(a, 24);
    blocks.permutation = std::move(clusters.permutation);
    blocks.blocks = std::move(clusters.blocks);
    BlockCandidate with_coarse = blocks, with_multigrid = blocks;
    with_coarse.coarse = TwoLevelOptions{.size = 24};
    with_multigrid.multigrid = MultigridOptions{.coarsest = 12};
    std::vector<std::vector<double>> found;
    for (const BlockCandidate* candidate : {&blocks, &with_coarse, &with_multigrid}) {
      SuggestedSystem<double> system(a, *candidate);
      system.refresh();
      const std::vector<double> b = numbers(a.rows());
      std::vector<double> x(b.size());
      EXPECT_TRUE(system.solve(Method::cg, b, x).converged());
      found.push_back(std::move(x));
    }
    return found;
  });
}

TEST(Threads, WithOneBackend) {
  const CsrMatrix<double> matrix = elastic();
  const Backend backend = Backend::host(2);
  expect_the_same_in_threads([&](int) {
    const SparseMatrix<double> a(backend, matrix);
    BlockJacobi<double> m(a, BlockPartition::uniform(a.rows(), 6), {.singular = SingularPolicy::pseudo_inverse});
    m.refresh(a);
    return solved(a, m);
  });
}

/// What a matrix finds when it is first asked for, by all threads at once: its product, symmetry and fingerprint.
TEST(Threads, WithOneMatrix) {
  const auto use = [](const SparseMatrix<double>& a) {
    EXPECT_TRUE(a.is_hermitian());
    BlockJacobi<double> m(a, BlockPartition::detect(a));
    m.refresh(a);
    return solved(a, m);
  };
  const SparseMatrix<double> shared(Backend::host(2), elastic()), alone(Backend::host(2), elastic());
  const auto results = in_threads([&](int) { return use(shared); });
  for (const auto& result : results) EXPECT_EQ(result, use(alone));
}

TEST(Threads, WithOnePreconditioner) {
  const SparseMatrix<double> a(Backend::host(2), elastic());
  const std::vector<double> r = numbers(a.rows());
  for (const Storage storage : {Storage::full, Storage::packed, Storage::fp32, Storage::adaptive}) {
    const BlockJacobi<double> m(a, BlockPartition::detect(a, 12), {.storage = storage});
    expect_the_same_in_threads([&](int) {
      std::vector<double> z = applied(m, r);
      const std::vector<double> rcond = m.rcond();
      z.insert(z.end(), rcond.begin(), rcond.end());
      EXPECT_EQ(m.defects(), 0);
      EXPECT_FALSE(to_json(m.report()).empty());
      const std::vector<double> block = m.inverse_block(m.partition().blocks() / 2);
      z.insert(z.end(), block.begin(), block.end());
      return z;
    });
    expect_the_same_in_threads([&](int) { return solved(a, m); });
  }
}

TEST(Threads, EverySolver) {
  const SparseMatrix<double> a(Backend::host(2), matrices::stencil<double>({.grid = {9, 8, 7}}));
  const BlockJacobi<double> m(a, BlockPartition::uniform(a.rows(), 7));
  const std::vector<double> b = numbers(a.rows());
  SolveOptions options;
  options.rtol = 1e-6;
  using Solver = SolveReport (*)(const LinearOperator<double>&, const Preconditioner<double>&, VectorView<const double>,
                                 VectorView<double>, const SolveOptions&);
  for (const Solver solver : {Solver{cg<double>}, Solver{fcg<double>}, Solver{minres<double>}, Solver{bicgstab<double>},
                              Solver{gmres<double>}, Solver{fgmres<double>}, Solver{richardson<double>}})
    expect_the_same_in_threads([&](int) {
      std::vector<double> x(b.size());
      const SolveReport report = solver(a, m, b, x, options);
      EXPECT_TRUE(report.converged()) << to_text(report);
      return x;
    });
}

TEST(Threads, Partitions) {
  const CsrMatrix<double> matrix = elastic();
  expect_the_same_in_threads([&](int) { return offsets(BlockPartition::detect(matrix)); });
  expect_the_same_in_threads([&](int) { return offsets(BlockPartition::detect(matrix, {.merge = Merge::coupled})); });
  expect_the_same_in_threads([&](int) { return BlockPartition::clusters(matrix, 24).permutation.inverse(); });
  if (BlockPartition::metis_available())
    expect_the_same_in_threads([&](int) { return BlockPartition::metis(matrix, 24).permutation.inverse(); });
}

/// The offsets and the slots that are made when they are first asked for, by all threads at once.
TEST(Threads, OnePartitionAndLayout) {
  const auto shared = BlockPartition::uniform(100'001, 3);
  const BlockLayout layout(shared, sizeof(double));
  expect_the_same_in_threads([&](int) {
    std::vector<index_t> seen = offsets(shared);
    for (const BlockSlot& slot : layout.slots()) seen.push_back(slot.first_row);
    return seen;
  });
}

TEST(Threads, Suggestions) {
  const CsrMatrix<double> matrix = elastic();
  expect_the_same_in_threads([&](int) { return suggest(Backend::host(2), matrix).best().name; });
}

TEST(Threads, Batches) {
  const Backend backend = Backend::host(2);
  expect_the_same_in_threads([&](int) {
    std::vector<double> result;
    for (const index_t n : {3, 8, 17, 32, 40}) {
      const offset_t count = 50, size = offset_t{n} * n;
      std::vector<double> a = numbers(static_cast<index_t>(count * size)), x(a.size());
      for (offset_t k = 0; k < count; ++k)
        for (index_t i = 0; i < n; ++i) a[static_cast<std::size_t>(k * size + i * (n + 1))] += 2 * n;
      std::vector<int> info(static_cast<std::size_t>(count), -1);
      const auto view = [&](std::vector<double>& v) {
        return MatrixBatchView<double>::strided(v.data(), n, n, n, size, count, MemorySpace::host);
      };
      batched::inverse(backend, view(a), view(x), info.data());
      result.insert(result.end(), x.begin(), x.end());
      result.insert(result.end(), info.begin(), info.end());
    }
    return result;
  });
}

/// Each thread has the message of its own last error.
TEST(Threads, MessagesOfTheCInterface) {
  const auto messages = in_threads([](int i) {
    std::string last;
    for (int repeated = 0; repeated < 50; ++repeated) {
      bj_backend* backend = nullptr;
      EXPECT_EQ(bj_backend_create_host(2000 + i, &backend), BJ_INVALID_ARGUMENT);
      last = bj_last_error();
    }
    return last;
  });
  for (int i = 0; i < users; ++i)
    EXPECT_NE(messages[static_cast<std::size_t>(i)].find(std::to_string(2000 + i)), std::string::npos)
        << messages[static_cast<std::size_t>(i)];
}

}  // namespace
}  // namespace blockjacobi::test
