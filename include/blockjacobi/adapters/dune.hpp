#pragma once

// Dune-ISTL (2.9 or newer): BlockJacobi as a preconditioner of its iterative solvers. To be used with Dune's headers on
// the include path.

#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/error.hpp>

#include <dune/common/fmatrix.hh>
#include <dune/common/fvector.hh>
#include <dune/istl/bcrsmatrix.hh>
#include <dune/istl/bvector.hh>
#include <dune/istl/preconditioner.hh>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace blockjacobi {

/// BlockJacobi behind Dune's interface of preconditioners, for a matrix of dense N x N blocks, one block a node:
///
///   using Matrix = Dune::BCRSMatrix<Dune::FieldMatrix<double, 3, 3>>;
///   using Vector = Dune::BlockVector<Dune::FieldVector<double, 3>>;
///   blockjacobi::DuneBlockJacobi<Matrix, Vector> M(A);
///   Dune::CGSolver<Vector> solver(A_as_operator, M, 1e-8, 1000, 0);
///
/// The blocks of M are the diagonal blocks of the matrix: they alone are read, N^2 numbers a node, and the vectors are
/// used in place. It does what Dune::SeqJac does with one step and no relaxation, with inverses formed once. On CPU
/// threads alone, since the vectors lie on the host.
///
/// Thread safety: apply() may be called from several threads, update() excludes every other call.
template <class Matrix, class X, class Y = X>
class DuneBlockJacobi final : public Dune::Preconditioner<X, Y> {
  using Block = typename Matrix::block_type;

 public:
  using Value = typename Matrix::field_type;
  static_assert(Scalar<Value>, "blockjacobi: the matrix has another scalar than float, double or their complex types");
  static_assert(Block::rows == Block::cols && Block::rows <= max_block_size,
                "blockjacobi: the blocks of the matrix must be square, with at most max_block_size rows");
  static_assert(sizeof(Block) == sizeof(Value) * Block::rows * Block::cols, "blockjacobi: blocks must be dense");
  static_assert(sizeof(typename X::block_type) == sizeof(Value) * Block::cols &&
                    sizeof(typename Y::block_type) == sizeof(Value) * Block::rows,
                "blockjacobi: the vectors have other blocks than the matrix");

  /// Inverts the diagonal blocks; one that is not stored is zero. The matrix is not referenced afterwards. `threads` as
  /// of Backend::host(). Throws InvalidArgument for a matrix that is not square, for more than 2^31 - 1 rows, for
  /// options.l1, which needs the entries outside of the blocks, and as BlockJacobi else; SingularBlock under
  /// SingularPolicy::fail.
  explicit DuneBlockJacobi(const Matrix& matrix, const BlockJacobiOptions& options = {}, int threads = 1)
      : rows_(rows_of(matrix, options)), preconditioner_(set_up(matrix, options, threads)) {}

  /// The same with new values of a matrix with as many rows, without another analysis or, but for adaptive storage, an
  /// allocation. Throws InvalidArgument for other rows, SingularBlock as the constructor.
  void update(const Matrix& matrix) {
    if (static_cast<offset_t>(matrix.N()) * order != rows_)
      throw InvalidArgument("DuneBlockJacobi::update: the matrix has " + std::to_string(matrix.N()) +
                            " block rows, the one given at construction had " + std::to_string(rows_ / order));
    gather(matrix);
    preconditioner_.rebuild(values_.data(), static_cast<offset_t>(values_.size()), MemorySpace::host);
  }

  void pre(X&, Y&) override {}
  /// v = M^-1 d. Throws InvalidArgument unless both have the rows of the matrix, and if they overlap.
  void apply(X& v, const Y& d) override {
    require_rows("v", v.N());
    require_rows("d", d.N());
    if (rows_ == 0) return;
    preconditioner_.apply({&d[0][0], rows_, MemorySpace::host}, {&v[0][0], rows_, MemorySpace::host});
  }
  void post(X&) override {}
  Dune::SolverCategory::Category category() const override { return Dune::SolverCategory::sequential; }

  /// The preconditioner itself, for its report.
  const BlockJacobi<Value>& get() const noexcept { return preconditioner_; }

 private:
  static constexpr index_t order = static_cast<index_t>(Block::rows);

  static index_t rows_of(const Matrix& matrix, const BlockJacobiOptions& options) {
    if (matrix.N() != matrix.M())
      throw InvalidArgument("DuneBlockJacobi: the matrix has " + std::to_string(matrix.N()) + " x " +
                            std::to_string(matrix.M()) + " blocks, must be square");
    if (matrix.N() > static_cast<std::size_t>(std::numeric_limits<index_t>::max() / order))
      throw InvalidArgument("DuneBlockJacobi: " + std::to_string(matrix.N()) + " block rows of " +
                            std::to_string(order) + " exceed 32 bits");
    if (options.l1)
      throw InvalidArgument("DuneBlockJacobi: l1 needs the entries outside of the blocks, which are not read");
    return static_cast<index_t>(matrix.N()) * order;
  }

  /// Of the block-diagonal matrix, whose compressed rows have the elements of a FieldMatrix in their order.
  BlockJacobi<Value> set_up(const Matrix& matrix, BlockJacobiOptions options, int threads) {
    const auto n = static_cast<std::size_t>(order);
    std::vector<offset_t> row_offsets(static_cast<std::size_t>(rows_) + 1);
    std::vector<index_t> columns(static_cast<std::size_t>(rows_) * n);
    for (std::size_t row = 0; row < row_offsets.size(); ++row) row_offsets[row] = static_cast<offset_t>(row * n);
    for (std::size_t k = 0; k < columns.size(); ++k) columns[k] = static_cast<index_t>(k / (n * n) * n + k % n);
    values_.resize(columns.size());
    gather(matrix);
    options.check_pattern = false;  // there is but one pattern
    const CsrView<Value> diagonal = {rows_,
                                     rows_,
                                     static_cast<offset_t>(columns.size()),
                                     row_offsets.data(),
                                     columns.data(),
                                     values_.data(),
                                     IndexBase::zero,
                                     MemorySpace::host};
    return {Backend::host(threads), diagonal, BlockPartition::uniform(rows_, order), options};
  }

  void gather(const Matrix& matrix) {
    Value* to = values_.data();
    for (auto row = matrix.begin(); row != matrix.end(); ++row, to += order * order) {
      const auto found = row->find(row.index());
      if (found == row->end()) {
        std::fill_n(to, order * order, Value(0));
        continue;
      }
      const Value* const block = &(*found)[0][0];
      std::copy(block, block + order * order, to);
    }
  }

  void require_rows(const char* name, std::size_t blocks) const {
    if (static_cast<offset_t>(blocks) * order != rows_)
      throw InvalidArgument("DuneBlockJacobi::apply: " + std::string(name) + " has " + std::to_string(blocks) +
                            " blocks, the matrix " + std::to_string(rows_ / order) + " block rows");
  }

  index_t rows_;
  std::vector<Value> values_;  // of the diagonal blocks, row-major
  BlockJacobi<Value> preconditioner_;
};

}  // namespace blockjacobi
