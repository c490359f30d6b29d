#pragma once

#include <blockjacobi/blockjacobi.hpp>

#include <vector>

namespace blockjacobi::test {

/// Calls every function of batched.hpp on one matrix of order n.
template <Scalar T>
void run_batched(const Backend& backend, index_t n, std::vector<T>& a, std::vector<T>& x, std::vector<T>& b,
                 std::vector<index_t>& ipiv) {
  using namespace batched;
  const auto view = MatrixBatchView<T>::strided(a.data(), n, n, n, 0, 1, MemorySpace::host);
  const auto output = MatrixBatchView<T>::strided(x.data(), n, n, n, 0, 1, MemorySpace::host);
  const auto right = MatrixBatchView<T>::strided(b.data(), n, 1, n, 0, 1, MemorySpace::host);
  int info = 0;
  inverse(backend, view, output, &info);
  getrf(backend, output, ipiv.data(), &info);
  getrs(backend, Op::none, output, ipiv.data(), right);
  getrs(backend, Op::transpose, output, ipiv.data(), right);
  getri(backend, output, ipiv.data(), output, &info);
  for (const auto triangle : {Triangle::lower, Triangle::upper}) {
    spd_inverse(backend, triangle, view, output, SpdStorage::packed, &info);
    spd_inverse(backend, triangle, view, output, SpdStorage::full, &info);
    potrf(backend, triangle, output, &info);
    potrs(backend, triangle, output, right);
    potri(backend, triangle, output, &info);
  }
  geqrf(backend, output, b.data());
  // Many right-hand sides, with factors of whatever the matrices are by now.
  for (const auto op : {Op::none, Op::conjugate_transpose}) getrs(backend, op, output, ipiv.data(), view);
  for (const auto triangle : {Triangle::lower, Triangle::upper}) potrs(backend, triangle, output, view);
  if (n <= 32) pseudo_inverse(backend, view, output, 0, &info);
}

}  // namespace blockjacobi::test
