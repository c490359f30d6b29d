#pragma once

#include "arrays.hpp"
#include "matrix.hpp"
#include "numbering.hpp"
#include "partition.hpp"

#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/permuted_matrix.hpp>
#include <blockjacobi/solver.hpp>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <variant>

namespace blockjacobi::python {

/// A BlockJacobi of one scalar in the user's numbering, whatever that of its blocks is.
template <Scalar T>
class NumberedBlockJacobi {
 public:
  /// Where the partition has a numbering of its own, all matrices must lie on the host.
  template <Offset O>
  NumberedBlockJacobi(const Backend& backend, const CsrView<T, O>& matrix, const PythonPartition& partition,
                      const BlockJacobiOptions& options)
      : permutation_(partition.permutation),
        renumbered_(permutation_ ? std::make_unique<PermutedMatrix<T>>(matrix, *permutation_) : nullptr),
        blocks_(renumbered_ ? BlockJacobi<T>(backend, renumbered_->view(), partition.blocks, options)
                            : BlockJacobi<T>(backend, matrix, partition.blocks, options)) {
    if (!renumbered_ || backend.memory_space() == MemorySpace::host) return;
    numbering_ = std::make_unique<DeviceNumbering<T>>(backend, *permutation_, renumbered_->value_map());
    renumbered_.reset();
  }

  /// In their own numbering.
  const BlockJacobi<T>& blocks() const noexcept { return blocks_; }
  Preconditioner<T> preconditioner() const { return blocks_; }
  /// From the user's numbering to that of the blocks; nothing where both are the same.
  const std::optional<Permutation>& permutation() const noexcept { return permutation_; }
  /// On a device; nothing as of permutation(), and on the host.
  const DeviceNumbering<T>* numbering() const noexcept { return numbering_.get(); }

  void refresh(const T* values, offset_t nnz, MemorySpace space);
  void rebuild(const T* values, offset_t nnz, MemorySpace space);
  template <Offset O>
  void refresh(const CsrView<T, O>& matrix) {
    if (!permutation_) return blocks_.refresh(matrix);
    const PermutedMatrix<T> renumbered(matrix, *permutation_);
    if (!numbering_) return blocks_.refresh(renumbered.view());
    const CopyOnDevice<T> copy(blocks_.backend(), renumbered.view());
    blocks_.refresh(copy.view());
  }

  void apply(VectorView<const T> r, VectorView<T> z, Op op) const;
  void apply(MultiVectorView<const T> R, MultiVectorView<T> Z, Op op) const;

  BlockJacobiReport report() const { return in_users_rows(blocks_.report()); }
  template <Offset O>
  BlockJacobiReport report(const CsrView<T, O>& matrix) {
    if (!permutation_) return blocks_.report(matrix);
    const PermutedMatrix<T> renumbered(matrix, *permutation_);
    return in_users_rows(blocks_.report(renumbered.view()));
  }

 private:
  /// In the order of the matrix of the blocks.
  const T* ordered(const T* values, offset_t nnz);
  BlockJacobiReport in_users_rows(BlockJacobiReport report) const {
    return permutation_ ? in_original_rows(std::move(report), *permutation_) : report;
  }

  std::optional<Permutation> permutation_;
  std::unique_ptr<PermutedMatrix<T>> renumbered_;  ///< on the host
  std::unique_ptr<DeviceNumbering<T>> numbering_;  ///< on a device
  BlockJacobi<T> blocks_;
};

/// What Python holds: any scalar, safe to use from several threads.
class PythonBlockJacobi {
 public:
  PythonBlockJacobi(const PythonBackend& backend, const SparseView& matrix, const PythonPartition& partition,
                    const std::string& singular, const std::string& storage, double accuracy, bool l1,
                    bool check_pattern, bool profile);

  const PythonBackend& backend() const noexcept { return backend_; }
  const PythonPartition& partition() const noexcept { return partition_; }
  const BlockJacobiOptions& options() const noexcept { return options_; }
  ScalarType scalar() const noexcept { return scalar_; }

  void apply(const nb::object& r, const nb::object& z, const std::string& op) const;
  /// M^-1 r in a new array, for vectors of CuPy; None for others.
  nb::object applied(const nb::object& r) const;
  void refresh(const nb::object& values, bool check);
  void refresh_matrix(const SparseView& matrix, bool check);
  void rebuild(const nb::object& values);
  BlockJacobiReport report() const;
  BlockJacobiReport report_of(const SparseView& matrix);

  /// f(NumberedBlockJacobi<T>&) in its turn on the backend, beside others that only read.
  template <class F>
  decltype(auto) read(const CallerStreams& callers, F&& f) const {
    return std::visit(
        [&](const auto& held) {
          return backend_.run(callers, [&] {
            const std::shared_lock<std::shared_mutex> lock(mutex_);
            return f(std::as_const(*held));
          });
        },
        held_);
  }

  /// The object of that scalar, for what runs within a turn that its user took. Hold lock() meanwhile.
  template <Scalar T>
  const NumberedBlockJacobi<T>& held() const {
    return *std::get<std::unique_ptr<NumberedBlockJacobi<T>>>(held_);
  }
  /// Beside others that only read.
  std::shared_lock<std::shared_mutex> lock() const { return std::shared_lock<std::shared_mutex>(mutex_); }

 private:
  /// f(NumberedBlockJacobi<T>&, T tag) in its turn on the backend, alone.
  template <class F>
  decltype(auto) change(const CallerStreams& callers, F&& f) {
    return std::visit(
        [&](auto& held) {
          return backend_.run(callers, [&] {
            const std::unique_lock<std::shared_mutex> lock(mutex_);
            return f(*held);
          });
        },
        held_);
  }
  void apply(const ArrayView& in, const ArrayView& out, Op op) const;
  template <class F>
  void change_values(const nb::object& values, const char* what, F&& f);
  void raise_if_singular(const char* function) const;

  PythonBackend backend_;
  PythonPartition partition_;
  BlockJacobiOptions options_;
  ScalarType scalar_;
  mutable std::shared_mutex mutex_;
  std::variant<std::unique_ptr<NumberedBlockJacobi<float>>, std::unique_ptr<NumberedBlockJacobi<double>>,
               std::unique_ptr<NumberedBlockJacobi<std::complex<float>>>,
               std::unique_ptr<NumberedBlockJacobi<std::complex<double>>>>
      held_;
};

/// SingularBlock names the rows of the numbering in which the blocks are: raises it with the user's.
[[noreturn]] void raise_singular_renumbered(const PythonBackend& backend, const SparseView& matrix,
                                            const PythonPartition& partition);

void bind_block_jacobi(nb::module_& module);

}  // namespace blockjacobi::python
