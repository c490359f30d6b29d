#include <blockjacobi/permuted_matrix.hpp>

#include "core/message.hpp"

#include <algorithm>
#include <utility>

namespace blockjacobi {

namespace {

template <Scalar T, Offset O>
void require_fit(const CsrView<T, O>& matrix, const Permutation& permutation) {
  if (matrix.rows != matrix.cols)
    throw InvalidArgument(
        detail::message("PermutedMatrix: the matrix is {} x {}, must be square", matrix.rows, matrix.cols));
  if (matrix.space != MemorySpace::host)
    throw InvalidArgument("PermutedMatrix: the matrix lies on the device, must be on the host");
  validate(matrix);
  if (matrix.nnz > 0 && matrix.values == nullptr)
    throw InvalidArgument(detail::message("PermutedMatrix: the matrix has {} entries but no values", matrix.nnz));
  if (matrix.rows != permutation.size())
    throw InvalidArgument(
        detail::message("PermutedMatrix: the matrix has {} rows, the permutation {}", matrix.rows, permutation.size()));
}

}  // namespace

template <Scalar T>
template <Offset O>
PermutedMatrix<T>::PermutedMatrix(const CsrView<T, O>& matrix, const Permutation& permutation) : rows_(matrix.rows) {
  require_fit(matrix, permutation);
  const Permutation inverse = permutation.inverse();
  const std::span<const index_t> number = inverse.order();
  const offset_t base = static_cast<offset_t>(matrix.base);
  const auto nnz = static_cast<std::size_t>(matrix.nnz);
  std::vector<offset_t> row_offsets{0};
  row_offsets.reserve(static_cast<std::size_t>(rows_) + 1);
  columns_.reserve(nnz);
  value_map_.reserve(nnz);
  std::vector<std::pair<index_t, offset_t>> entries;  // (new column, position in A) of a row
  for (const index_t row : permutation.order()) {
    const offset_t end = static_cast<offset_t>(matrix.row_offsets[row + offset_t{1}]) - base;
    entries.clear();
    for (offset_t k = static_cast<offset_t>(matrix.row_offsets[row]) - base; k < end; ++k)
      entries.emplace_back(number[static_cast<std::size_t>(matrix.columns[k] - base)], k);
    std::ranges::sort(entries);
    for (const auto& [column, position] : entries) {
      columns_.push_back(column);
      value_map_.push_back(position);
    }
    row_offsets.push_back(static_cast<offset_t>(columns_.size()));
  }
  row_offsets_ = std::move(row_offsets);
  values_.resize(nnz);
  if (nnz > 0) update({matrix.values, nnz});
}

template <Scalar T>
void PermutedMatrix<T>::update(std::span<const T> values) {
  if (values.size() != values_.size())
    throw InvalidArgument(
        detail::message("PermutedMatrix::update: {} values, must be {}", values.size(), values_.size()));
  for (std::size_t k = 0; k < values_.size(); ++k) values_[k] = values[static_cast<std::size_t>(value_map_[k])];
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                                    \
  template class PermutedMatrix<T>;                                                                                   \
  template BLOCKJACOBI_EXPORT PermutedMatrix<T>::PermutedMatrix(const CsrView<T, std::int32_t>&, const Permutation&); \
  template BLOCKJACOBI_EXPORT PermutedMatrix<T>::PermutedMatrix(const CsrView<T, std::int64_t>&, const Permutation&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
