#pragma once

#include <blockjacobi/blockjacobi.hpp>

#include <vector>

namespace bench {

/// A matrix in the backend's memory, with offsets of 32 bits as every user of cuSPARSE has them.
template <class T>
class DeviceMatrix {
 public:
  DeviceMatrix(const blockjacobi::Backend& backend, const blockjacobi::CsrView<T>& host)
      : offsets(backend, std::vector<std::int32_t>(host.row_offsets, host.row_offsets + host.rows + 1)),
        columns(backend, static_cast<std::size_t>(host.nnz)),
        values(backend, static_cast<std::size_t>(host.nnz)),
        rows(host.rows),
        nnz(host.nnz) {
    columns.copy_from_host(host.columns);
    values.copy_from_host(host.values);
  }
  DeviceMatrix(const blockjacobi::Backend& backend, const blockjacobi::CsrMatrix<T>& host)
      : DeviceMatrix(backend, host.view()) {}
  blockjacobi::CsrView<T, std::int32_t> view() const {
    return {rows,
            rows,
            nnz,
            offsets.data(),
            columns.data(),
            values.data(),
            blockjacobi::IndexBase::zero,
            offsets.backend().memory_space()};
  }

  blockjacobi::Array<std::int32_t> offsets;
  blockjacobi::Array<blockjacobi::index_t> columns;
  blockjacobi::Array<T> values;
  blockjacobi::index_t rows;
  blockjacobi::offset_t nnz;
};

/// A x with x uniform in [-1, 1], or with ones, on the device.
inline blockjacobi::Array<double> right_hand_side(const blockjacobi::LinearOperator<double>& A, bool ones) {
  const auto n = static_cast<std::size_t>(A.rows());
  std::vector<double> x(n, 1.0);
  std::uint64_t state = 1;
  if (!ones)
    for (double& element : x) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      element = static_cast<double>(state >> 11) * 0x1p-52 - 1.0;
    }
  const blockjacobi::Array<double> solution(A.backend(), x);
  blockjacobi::Array<double> b(A.backend(), n);
  A.apply(solution.view(), b.view());
  return b;
}

}  // namespace bench
