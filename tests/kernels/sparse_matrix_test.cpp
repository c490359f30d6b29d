#include "tests/kernels/counting_resource.hpp"
#include "tests/kernels/systems.hpp"
#include "tests/support/csr_arrays.hpp"

#include <blockjacobi/blockjacobi.hpp>

namespace blockjacobi::test {
namespace {

class SparseMatrixOnDevice : public DeviceTest {};

/// What a user does with a matrix, from partition to solution.
void use(const SparseMatrix<double>& A) {
  const BlockJacobi<double> M(A, BlockPartition::detect(A, 4));
  const Array<double> b(A.backend(), std::vector<double>(static_cast<std::size_t>(A.rows()), 1.0));
  Array<double> x(A.backend(), b.size());
  x.zero();
  EXPECT_TRUE(cg(A, M, b.view(), x.view()).converged());
}

TEST_F(SparseMatrixOnDevice, IsUploadedOnce) {
  const auto resource = std::make_shared<CountingResource>();
  const Backend backend = Backend::cuda(0, nullptr, resource);
  const auto system = on<std::int64_t>(Backend::host(), laplacian<double>(40));
  const CsrMatrix<double> host = CsrMatrix<double>::from_view(system.view());
  const std::size_t scratch = resource->live;  // of the backend itself
  const std::size_t values = static_cast<std::size_t>(host.nnz()) * sizeof(double), columns = values / 2;
  {
    const SparseMatrix<double> A(backend, host);
    EXPECT_EQ(resource->live, scratch + A.bytes());
    EXPECT_EQ(A.bytes(), values + columns + 1601 * sizeof(std::int32_t));
    use(A);
    EXPECT_EQ(resource->blocks_of(values), 1);
    EXPECT_EQ(resource->blocks_of(columns), 1);
  }
  EXPECT_EQ(resource->blocks_of(values), 1);
}

TEST_F(SparseMatrixOnDevice, IsAdoptedWithoutACopy) {
  const auto resource = std::make_shared<CountingResource>();
  const Backend owner = Backend::cuda(0), backend = Backend::cuda(0, nullptr, resource);
  const auto arrays = on<std::int32_t>(owner, laplacian<double>(40), IndexBase::one);
  owner.synchronize();
  const auto A = SparseMatrix<double>::adopt(backend, arrays.view());
  EXPECT_TRUE(A.is_adopted());
  EXPECT_EQ(A.values(), arrays.view().values);
  use(A);
  EXPECT_EQ(resource->blocks_of(static_cast<std::size_t>(A.nnz()) * sizeof(double)), 0);
}

}  // namespace
}  // namespace blockjacobi::test
