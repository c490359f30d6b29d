#include "partition/magnitudes.hpp"

#include "core/csr_pattern.hpp"
#include "core/shared/compute_type.hpp"
#include "core/shared/coupling.hpp"

#include <utility>

namespace blockjacobi::detail {

template <Scalar T, Offset O>
CsrMatrix<double> magnitudes(const CsrView<T, O>& m) {
  if (!is_canonical(m)) {
    const auto canonical = CsrMatrix<T>::from_view(m);
    return magnitudes(canonical.view());
  }
  const auto rows = static_cast<std::size_t>(m.rows), nnz = static_cast<std::size_t>(m.nnz);
  const index_t base = static_cast<index_t>(m.base);
  std::vector<offset_t> offsets(rows + 1);
  for (std::size_t i = 0; i <= rows; ++i) offsets[i] = static_cast<offset_t>(m.row_offsets[i]) - base;
  std::vector<index_t> columns(nnz);
  const auto* const given = compute_cast(m.values);
  std::vector<double> values(nnz);
  for (std::size_t k = 0; k < nnz; ++k) {
    columns[k] = m.columns[k] - base;
    values[k] = magnitude(given[k]);
  }
  return CsrMatrix<double>(m.rows, m.cols, std::move(offsets), std::move(columns), std::move(values));
}

#define BLOCKJACOBI_INSTANTIATE(T)                                        \
  template CsrMatrix<double> magnitudes(const CsrView<T, std::int32_t>&); \
  template CsrMatrix<double> magnitudes(const CsrView<T, std::int64_t>&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
