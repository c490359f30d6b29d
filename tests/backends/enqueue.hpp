#pragma once

#include "backends/systems.hpp"
#include "support/backends.hpp"

namespace blockjacobi::test {

/// The fixture of the tests of enqueued solves.
template <class Case>
class EnqueuedSolveOnBackend : public BackendTest<Case> {};

enum class SolveBy { cg, gmres };

inline const char* to_string(SolveBy by) { return by == SolveBy::cg ? "cg" : "gmres"; }

/// A system whose values, right-hand side and solution lie in the backend's memory, with block-Jacobi.
template <Scalar T>
class System {
 public:
  System(const Backend& backend_, const CsrMatrix<T>& matrix_, index_t block, const BlockJacobiOptions& blocks_ = {})
      : backend(backend_),
        matrix(matrix_),
        blocks(blocks_),
        offsets(backend, {matrix.row_offsets().begin(), matrix.row_offsets().end()}),
        columns(backend, {matrix.columns().begin(), matrix.columns().end()}),
        values(backend, {matrix.values().begin(), matrix.values().end()}),
        b(backend, random_vector<T>(matrix.rows(), 41)),
        x(backend, std::vector<T>(static_cast<std::size_t>(matrix.rows()))),
        status(backend, 1),
        A(backend, view()),
        M(backend, view(), BlockPartition::uniform(matrix.rows(), block), blocks) {}

  CsrView<T, offset_t> view() const {
    return {matrix.rows(),  matrix.cols(), matrix.nnz(),    offsets.data(),
            columns.data(), values.data(), IndexBase::zero, backend.memory_space()};
  }
  /// New values, as a user writes them between two replays.
  void set(const std::vector<T>& new_values) {
    std::copy(new_values.begin(), new_values.end(), matrix.values().begin());
    values.copy_from_host(new_values.data());
  }
  void refresh() { M.refresh(values.data(), matrix.nnz(), backend.memory_space()); }
  /// One enqueued solve from x, with the matrix and preconditioner of the system or others of its size.
  SolveStatus enqueue(SolveBy by, const LinearOperator<T>& product, const Preconditioner<T>& preconditioner,
                      const SolveOptions& options) {
    if (by == SolveBy::cg) {
      CgWorkspace<T> workspace(product, preconditioner, options);
      cg_enqueue(workspace, std::as_const(b).view(), x.view(), status.data());
    } else {
      GmresWorkspace<T> workspace(product, preconditioner, options);
      gmres_enqueue(workspace, std::as_const(b).view(), x.view(), status.data());
    }
    return outcome();
  }
  SolveStatus outcome() const { return status.to_host()[0]; }

  Backend backend;
  CsrMatrix<T> matrix;
  BlockJacobiOptions blocks;
  Array<offset_t> offsets;
  Array<index_t> columns;
  Array<T> values, b, x;
  Array<SolveStatus> status;
  LinearOperator<T> A;
  BlockJacobi<T> M;
};

template <Scalar T>
auto make_cg() {
  return [](const auto& A, const auto& M, const SolveOptions& o) { return CgWorkspace<T>(A, M, o); };
}
template <Scalar T>
auto make_gmres() {
  return [](const auto& A, const auto& M, const SolveOptions& o) { return GmresWorkspace<T>(A, M, o); };
}

}  // namespace blockjacobi::test
