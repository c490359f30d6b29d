#pragma once

#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/csr_matrix.hpp>

#include <vector>

namespace blockjacobi::detail {

/// Unions of blocks.
struct Aggregates {
  static constexpr index_t none = -1;

  std::vector<index_t> of_row;  ///< none for the rows of a block that is coupled with no other
  index_t count = 0;
};

/// At most `count` aggregates, near to that number and of similar size, of the blocks of a matrix with these |a_ij|.
Aggregates aggregate_blocks(const CsrMatrix<double>& magnitudes, const BlockPartition& blocks, index_t count,
                            int threads);

/// Z, rows x columns: in column (aggregate, c) ones in the rows i of the aggregate with i mod components = c.
template <Scalar T>
CsrMatrix<T> ones_space(const Aggregates& aggregates, index_t components);

/// Z: the vectors on each aggregate, orthonormal there, without what depends on the others. They lie on the host.
template <Scalar T>
CsrMatrix<T> vector_space(const Aggregates& aggregates, const MultiVectorView<const T>& vectors, int threads);

template <Scalar T>
CsrMatrix<T> conjugate_transpose(const CsrMatrix<T>& matrix);

/// A product in which A is a factor, as a linear function of the values of A: entry e is the sum of weights(e, k)
/// values[k].
template <Scalar T>
struct ProductMap {
  CsrMatrix<T> pattern;  ///< with zeros as values
  CsrMatrix<T> weights;  ///< entries of the product x entries of A
};

/// Of left A; only the pattern of A is read.
template <Scalar T>
ProductMap<T> product_from_left(const CsrMatrix<T>& left, const CsrMatrix<T>& a, int threads);
/// Of A right.
template <Scalar T>
ProductMap<T> product_from_right(const CsrMatrix<T>& a, const CsrMatrix<T>& right, int threads);

}  // namespace blockjacobi::detail
