#include <blockjacobi/blockjacobi.hpp>

#include "support/dense.hpp"
#include "support/messages.hpp"
#include "support/sanitized.hpp"
#include "unit/backend/run_batched.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

// Counting needs glibc's second name for malloc, and the sanitizers bring a malloc of their own.
#if defined(__GLIBC__) && !defined(BLOCKJACOBI_TEST_ADDRESS_SANITIZER)

namespace {
thread_local long allocations = 0;
}

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
}

// The arrays of the host backend come from here.
namespace {
thread_local bool memory_is_full = false;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  void* const pointer = memory_is_full ? nullptr : std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}
void operator delete(void* pointer, std::align_val_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { std::free(pointer); }

namespace blockjacobi::test {
namespace {

/// Five-point stencil on a 20 x 20 grid.
template <class T>
CsrMatrix<T> stencil() {
  std::vector<Triplet<T>> entries;
  for (index_t i = 0; i < 400; ++i) {
    entries.push_back({i, i, T(5)});
    for (const index_t j : {i - 20, i - 1, i + 1, i + 20})
      if (j >= 0 && j < 400) entries.push_back({i, j, T(-1)});
  }
  return CsrMatrix<T>::from_triplets(400, 400, entries);
}

template <class T>
class HostAllocation : public ::testing::Test {};
using Scalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(HostAllocation, Scalars);

TYPED_TEST(HostAllocation, RefreshAndApplyAllocateNothing) {
  using T = TypeParam;
  const std::vector<index_t> offsets{0, 1, 9, 40, 74, 202, 714};
  const BlockPartition partition = BlockPartition::from_offsets(offsets);
  const index_t n = partition.rows();
  Random random(3);
  std::vector<offset_t> rows{0};
  std::vector<index_t> columns;
  std::vector<T> values;
  for (index_t b = 0; b < partition.blocks(); ++b) {
    const Dense<T> block = random_dense<T>(partition.block_size(b), random);
    for (index_t i = 0; i < block.rows(); ++i) {
      for (index_t j = 0; j < block.cols(); ++j) {
        columns.push_back(partition.first_row(b) + j);
        values.push_back(block(i, j));
      }
      rows.push_back(static_cast<offset_t>(columns.size()));
    }
  }
  std::vector<T> r(static_cast<std::size_t>(n), T(1)), z(r.size());
  const CsrView<T, offset_t> matrix{n, n, rows.back(), rows.data(), columns.data(), values.data()};
  std::free(std::malloc(1));
  ASSERT_GT(allocations, 0) << "malloc is not counted";
  std::vector<T> singular = values;
  std::fill_n(singular.begin() + 1, 64, T(0));  // the second block
  const std::pair<Storage, SingularPolicy> variants[] = {{Storage::full, SingularPolicy::fail},
                                                         {Storage::full, SingularPolicy::shift},
                                                         {Storage::fp16, SingularPolicy::pseudo_inverse},
                                                         {Storage::adaptive, SingularPolicy::fail}};
  for (const auto& [storage, policy] : variants) {
    BlockJacobi<T> preconditioner(Backend::host(1), matrix, partition, {policy, storage});
    allocations = 0;
    preconditioner.refresh(singular.data(), matrix.nnz, MemorySpace::host);
    EXPECT_EQ(allocations, 0) << "refresh, " << to_string(storage) << ", " << to_string(policy);
    allocations = 0;
    preconditioner.apply(r, z);
    EXPECT_EQ(allocations, 0) << "apply, " << to_string(storage);
    const MultiVectorView<T> in{r.data(), n, 1, n, Layout::column_major, MemorySpace::host};
    const MultiVectorView<T> out{z.data(), n, 1, n, Layout::column_major, MemorySpace::host};
    allocations = 0;
    preconditioner.apply(T(2), in, T(1), out);
    EXPECT_EQ(allocations, 0) << "apply with alpha and beta, " << to_string(storage);
  }
}

TYPED_TEST(HostAllocation, FailedRebuildLeavesNothingToApply) {
  using T = TypeParam;
  const Backend backend = Backend::host(1);
  const CsrMatrix<T> matrix = stencil<T>();
  const LinearOperator<T> A(backend, matrix);
  BlockJacobiOptions options;
  options.storage = Storage::adaptive;
  BlockJacobi<T> m(backend, matrix, BlockPartition::uniform(400, 20), options);
  const Preconditioner<T> earlier(m);
  const std::vector<T> r(400, T(1));
  std::vector<T> before(400), after(400);
  m.apply(r, before);
  const auto values = matrix.values().data();
  memory_is_full = true;
  EXPECT_THROW(m.rebuild(values, matrix.nnz(), MemorySpace::host), std::bad_alloc);
  memory_is_full = false;
  const std::string reason = ": there are no inverses yet, refresh() comes first after BlockJacobi::analyze()";
  EXPECT_EQ(message_of([&] { m.apply(r, after); }), "BlockJacobi::apply" + reason);
  EXPECT_EQ(message_of([&] { (void)m.inverse_block(0); }), "BlockJacobi::inverse_block" + reason);
  EXPECT_EQ(message_of([&] { (void)cg(A, earlier, r, after); }), "BlockJacobi as a preconditioner" + reason);
  m.refresh(values, matrix.nnz(), MemorySpace::host);
  m.apply(r, after);
  EXPECT_EQ(after, before);
}

/// More iterations do not allocate more often.
TYPED_TEST(HostAllocation, SolverStepsAllocateNothing) {
  using T = TypeParam;
  const Backend backend = Backend::host(1);
  const CsrMatrix<T> matrix = stencil<T>();
  const LinearOperator<T> A(backend, matrix);
  const BlockJacobi<T> M(backend, matrix, BlockPartition::uniform(400, 20));
  const std::vector<T> b(400, T(1));
  SolveOptions options;
  options.rtol = 1e-30;
  options.restart = 7;
  options.history = false;
  const auto count = [&](auto solve, index_t iterations) {
    std::vector<T> x(400);
    options.max_iterations = iterations;
    allocations = 0;
    EXPECT_EQ(solve(A, M, b, x, options).iterations, iterations);
    return allocations;
  };
  static_cast<void>(count(&cg<T>, 1));  // OpenMP allocates in the first parallel region of a process
  for (const auto solve : {&cg<T>, &fcg<T>, &minres<T>, &bicgstab<T>, &gmres<T>, &fgmres<T>, &richardson<T>}) {
    const long few = count(solve, 7);
    EXPECT_GT(few, 0);
    // Of the follow-ups beyond the precision none may run, so the number is small.
    EXPECT_EQ(count(solve, 14), few);
  }
}

TYPED_TEST(HostAllocation, EnqueuedSolvesAllocateNothing) {
  using T = TypeParam;
  const Backend backend = Backend::host(1);
  const CsrMatrix<T> matrix = stencil<T>();
  BsrMatrix<T> bsr(backend, matrix, 4);
  const LinearOperator<T> A(bsr);
  BlockJacobi<T> M(backend, matrix, BlockPartition::uniform(400, 20));
  const std::vector<T> b(400, T(1));
  std::vector<T> x(400);
  SolveStatus status;
  SolveOptions options;
  options.rtol = 1e-4;
  options.max_iterations = 60;
  options.restart = 10;
  CgWorkspace<T> by_cg(A, M, options);
  options.basis = BasisPrecision::single;
  GmresWorkspace<T> by_gmres(A, M, options);
  cg_enqueue(by_cg, b, x, &status);
  allocations = 0;
  bsr.refresh(matrix.values().data(), matrix.nnz(), MemorySpace::host);
  M.refresh(matrix.values().data(), matrix.nnz(), MemorySpace::host);
  for (const bool cg : {true, false}) {
    std::fill(x.begin(), x.end(), T(0));
    status = {};
    if (cg)
      cg_enqueue(by_cg, b, x, &status);
    else
      gmres_enqueue(by_gmres, b, x, &status);
    EXPECT_EQ(status.reason, StopReason::converged);
  }
  EXPECT_EQ(allocations, 0);
}

TYPED_TEST(HostAllocation, BatchedFunctionsAllocateNothing) {
  using T = TypeParam;
  for (const index_t n : {1, 8, 32, 33, 100, 200, 512}) {
    const auto size = static_cast<std::size_t>(n);
    std::vector<T> a(size * size, T(1)), x(size * size), b(size);
    for (std::size_t i = 0; i < size; ++i) a[i * (size + 1)] = T(static_cast<real_t<T>>(2 * n));
    std::vector<index_t> ipiv(size);
    const Backend backend = Backend::host(1);
    const std::vector<T> original = a;
    // OpenMP allocates in the first parallel region of a process.
    run_batched<T>(backend, n, a, x, b, ipiv);
    a = original;
    allocations = 0;
    run_batched<T>(backend, n, a, x, b, ipiv);
    EXPECT_EQ(allocations, 0) << "order " << n;
  }
}

}  // namespace
}  // namespace blockjacobi::test

#endif
