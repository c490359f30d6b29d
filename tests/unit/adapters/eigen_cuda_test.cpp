#include <blockjacobi/adapters/eigen.hpp>

#include "backend/backend_impl.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace blockjacobi::test {
namespace {

/// Counts what a backend on the stream of another one allocates there.
class CountingResource final : public MemoryResource {
 public:
  explicit CountingResource(const Backend& owner) : owner_(owner) {}
  void* allocate(std::size_t bytes, CUstream_st*) override {
    ++calls;
    return owner_.impl().allocate(bytes);
  }
  void deallocate(void* pointer, std::size_t bytes, CUstream_st*) noexcept override {
    owner_.impl().deallocate(pointer, bytes);
  }
  int calls = 0;

 private:
  Backend owner_;
};

TEST(EigenAdapterOnCuda, SolvesAndRefreshesAllocateNothing) {
  if (!Backend::cuda_available()) GTEST_SKIP() << "no CUDA device";
  const int n = 72;
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(i, i, 3.0);
    if (i + 1 < n) entries.emplace_back(i, i + 1, -1.0);
    if (i > 0) entries.emplace_back(i, i - 1, -1.0);
  }
  Eigen::SparseMatrix<double, Eigen::RowMajor> matrix(n, n);
  matrix.setFromTriplets(entries.begin(), entries.end());

  const Backend owner = Backend::cuda();
  const auto resource = std::make_shared<CountingResource>(owner);
  EigenBlockJacobi<double> preconditioner;
  preconditioner.setBackend(Backend::cuda(0, owner.stream(), resource)).compute(matrix);
  preconditioner.factorize(matrix);
  const int before = resource->calls;
  ASSERT_GT(before, 0);
  Eigen::VectorXd x = Eigen::VectorXd::Ones(n);
  for (int i = 0; i < 3; ++i) x = preconditioner.solve(x);
  preconditioner.factorize(matrix);
  EXPECT_EQ(resource->calls, before);
  EXPECT_TRUE(x.allFinite());
}

}  // namespace
}  // namespace blockjacobi::test
