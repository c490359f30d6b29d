#pragma once

#include "block_jacobi.hpp"

#include <blockjacobi/sparse_matrix.hpp>
#include <blockjacobi/two_level.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

namespace blockjacobi::python {

/// A TwoLevel of one scalar in the user's numbering, with its own copy of the matrix.
template <Scalar T>
class NumberedTwoLevel {
 public:
  /// `vectors`, if given, has one row a row of the matrix, on the host; else Z is of ones, for each of the `unknowns`
  /// of a node. Where the partition has a numbering of its own, all matrices must lie on the host.
  template <Offset O>
  NumberedTwoLevel(const Backend& backend, const CsrView<T, O>& matrix, const PythonPartition& partition,
                   const BlockJacobiOptions& options, const std::optional<MultiVectorView<const T>>& vectors,
                   index_t unknowns, const TwoLevelOptions& coarse)
      : permutation_(partition.permutation),
        renumbered_(permutation_ ? std::make_unique<PermutedMatrix<T>>(matrix, *permutation_) : nullptr),
        matrix_(renumbered_ ? SparseMatrix<T>(backend, renumbered_->view())
                            : SparseMatrix<T>(backend, matrix, {.block_size = unknowns})),
        two_level_(make(partition.blocks, options, vectors, unknowns, coarse)) {
    if (!renumbered_ || backend.memory_space() == MemorySpace::host) return;
    numbering_ = std::make_unique<DeviceNumbering<T>>(backend, *permutation_, renumbered_->value_map());
    renumbered_.reset();
  }

  /// In the numbering of its blocks.
  const TwoLevel<T>& two_level() const noexcept { return two_level_; }
  Preconditioner<T> preconditioner() const { return two_level_; }
  /// From the user's numbering to that of the blocks; nothing where both are the same.
  const std::optional<Permutation>& permutation() const noexcept { return permutation_; }
  /// As of NumberedBlockJacobi.
  const DeviceNumbering<T>* numbering() const noexcept { return numbering_.get(); }
  /// Stored entries of the matrix as it was given.
  offset_t nnz() const { return matrix_.given_nnz(); }
  /// In the backend's memory: blocks, coarse level and matrix.
  std::size_t bytes() const { return two_level_.block_jacobi().bytes() + two_level_.report().bytes + matrix_.bytes(); }

  void refresh(const T* values, offset_t nnz, MemorySpace space);
  /// z = M^-1 r.
  void apply(VectorView<const T> r, VectorView<T> z) const;
  /// u = Q r.
  void correct(VectorView<const T> r, VectorView<T> u) const;
  BlockJacobiReport block_report() const;

 private:
  TwoLevel<T> make(const BlockPartition& blocks, const BlockJacobiOptions& options,
                   const std::optional<MultiVectorView<const T>>& vectors, index_t unknowns,
                   const TwoLevelOptions& coarse) const;
  /// f(r, z) in the numbering of the blocks.
  template <class F>
  void renumbered(VectorView<const T> r, VectorView<T> z, F&& f) const;

  std::optional<Permutation> permutation_;
  std::unique_ptr<PermutedMatrix<T>> renumbered_;  ///< on the host
  std::unique_ptr<DeviceNumbering<T>> numbering_;  ///< on a device
  SparseMatrix<T> matrix_;
  TwoLevel<T> two_level_;
};

/// What Python holds: any scalar, safe to use from several threads, which take turns.
class PythonTwoLevel {
 public:
  /// Of the partition and with the options of `blocks`, which is set up anew.
  PythonTwoLevel(const SparseView& matrix, const PythonBlockJacobi& blocks, const nb::object& vectors, index_t unknowns,
                 index_t size, index_t relaxed, const std::string& mode);
  /// With the options of a BlockJacobi that is given none.
  PythonTwoLevel(const PythonBackend& backend, const SparseView& matrix, const PythonPartition& partition,
                 const nb::object& vectors, index_t unknowns, index_t size, index_t relaxed, const std::string& mode);

  const PythonBackend& backend() const noexcept { return backend_; }
  const PythonPartition& partition() const noexcept { return partition_; }
  ScalarType scalar() const noexcept { return scalar_; }

  void apply(const nb::object& r, const nb::object& z) const;
  void correct(const nb::object& r, const nb::object& u) const;
  void refresh(const nb::object& values, bool check);

  /// f(const NumberedTwoLevel<T>&) in its turn on the backend.
  template <class F>
  decltype(auto) read(F&& f) const {
    return std::visit([&](const auto& held) { return backend_.run({}, [&] { return locked(*held, f); }); }, held_);
  }

  /// As of PythonBlockJacobi; alone, since applications share vectors.
  template <Scalar T>
  const NumberedTwoLevel<T>& held() const {
    return *std::get<std::unique_ptr<NumberedTwoLevel<T>>>(held_);
  }
  std::unique_lock<std::recursive_mutex> lock() const { return std::unique_lock<std::recursive_mutex>(mutex_); }

 private:
  PythonTwoLevel(const PythonBackend& backend, const SparseView& matrix, const PythonPartition& partition,
                 const BlockJacobiOptions& options, const nb::object& vectors, index_t unknowns, index_t size,
                 index_t relaxed, const std::string& mode);
  template <class Held, class F>
  decltype(auto) locked(const Held& held, F&& f) const {
    const auto turn = lock();
    return f(held);
  }
  template <class F>
  void map(const nb::object& in, const nb::object& out, const char* in_name, const char* out_name, F&& f) const;

  PythonBackend backend_;
  PythonPartition partition_;
  SingularPolicy policy_;
  ScalarType scalar_;
  mutable std::recursive_mutex mutex_;  ///< a progress callback may ask for a report
  std::variant<std::unique_ptr<NumberedTwoLevel<float>>, std::unique_ptr<NumberedTwoLevel<double>>,
               std::unique_ptr<NumberedTwoLevel<std::complex<float>>>,
               std::unique_ptr<NumberedTwoLevel<std::complex<double>>>>
      held_;
};

void bind_two_level(nb::module_& module);

}  // namespace blockjacobi::python
