#pragma once

#include "backend/require.hpp"
#include "core/message.hpp"

#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/near_kernel.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

// What a TwoLevel and a Multigrid ask of their arguments; `name` is that of the class, or of its function.

namespace blockjacobi::detail {

template <Scalar T>
void require_block_jacobi(const char* name, const SparseMatrix<T>& matrix, const BlockJacobi<T>& M) {
  if (matrix.rows() != matrix.cols())
    throw InvalidArgument(message("{}: the matrix is {} x {}, must be square", name, matrix.rows(), matrix.cols()));
  if (!(matrix.backend() == M.backend()))
    throw InvalidArgument(message("{}: the block-Jacobi lives on another backend ({}) than the matrix ({})", name,
                                  M.backend().description(), matrix.backend().description()));
  if (M.rows() != matrix.rows() || M.nnz() != matrix.nnz())
    throw InvalidArgument(message("{}: the block-Jacobi has {} rows and {} entries, the matrix {} and {}", name,
                                  M.rows(), M.nnz(), matrix.rows(), matrix.nnz()));
  if (matrix.nnz() > std::numeric_limits<index_t>::max())
    throw InvalidArgument(
        message("{}: the matrix has {} entries, can have {}", name, matrix.nnz(), std::numeric_limits<index_t>::max()));
}

template <Scalar T>
void require_near_kernel(const char* name, const SparseMatrix<T>& matrix, const MultiVectorView<const T>& vectors) {
  require_multivector(message("{}: vectors", name).c_str(), vectors, matrix.rows(), Backend::host(1));
  if (vectors.cols < 1 || vectors.cols > max_block_size)
    throw InvalidArgument(message("{}: there are {} vectors, must be 1..{}", name, vectors.cols, max_block_size));
  const bool by_columns = vectors.layout == Layout::column_major;
  for (index_t j = 0; j < vectors.cols; ++j)
    for (index_t i = 0; i < vectors.rows; ++i) {
      const T value = vectors.data[by_columns ? i + j * vectors.ld : i * vectors.ld + j];
      if (!std::isfinite(std::real(value)) || !std::isfinite(std::imag(value)))
        throw InvalidArgument(message("{}: element {} of vector {} is NaN or Inf", name, i, j));
    }
}

template <Scalar T>
std::vector<T> by_rows(const MultiVectorView<const T>& v) {
  std::vector<T> elements;
  elements.reserve(static_cast<std::size_t>(v.rows) * static_cast<std::size_t>(v.cols));
  const bool by_columns = v.layout == Layout::column_major;
  for (index_t i = 0; i < v.rows; ++i)
    for (index_t j = 0; j < v.cols; ++j) elements.push_back(v.data[by_columns ? i + j * v.ld : i * v.ld + j]);
  return elements;
}

template <Scalar T>
NearKernel<T> copied(const MultiVectorView<const T>& v) {
  NearKernel<T> copy{v.rows, v.cols, {}};
  copy.values.reserve(static_cast<std::size_t>(v.rows) * static_cast<std::size_t>(v.cols));
  const bool by_columns = v.layout == Layout::column_major;
  for (index_t j = 0; j < v.cols; ++j)
    for (index_t i = 0; i < v.rows; ++i) copy.values.push_back(v.data[by_columns ? i + j * v.ld : i * v.ld + j]);
  return copy;
}

/// How a function from one vector to another and these are called in messages; whole words, so that no call allocates.
struct VectorNames {
  const char* function;
  const char* in;
  const char* out;
};

template <Scalar T>
void require_vectors(const VectorNames& names, const Backend& backend, index_t rows, const VectorView<const T>& in,
                     const VectorView<T>& out) {
  require_vector(names.in, in, rows);
  require_vector(names.out, out, rows);
  require_space(names.in, in, backend);
  require_space(names.out, out, backend);
  require_disjoint(names.function, in, out);
}

}  // namespace blockjacobi::detail
