#pragma once

#include "block_jacobi.hpp"

#include <blockjacobi/multigrid.hpp>
#include <blockjacobi/sparse_matrix.hpp>
#include <blockjacobi/two_level.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace blockjacobi::python {

/// In what the preconditioners with coarse levels differ.
template <template <class> class Kind>
struct CoarseTraits;
template <>
struct CoarseTraits<TwoLevel> {
  using Options = TwoLevelOptions;
  static constexpr const char* name = "TwoLevel";
};
template <>
struct CoarseTraits<Multigrid> {
  using Options = MultigridOptions;
  static constexpr const char* name = "Multigrid";
};

/// A TwoLevel or Multigrid of one scalar in the user's numbering, with its own copy of the matrix.
template <template <class> class Kind, Scalar T>
class NumberedCoarse {
 public:
  using Options = typename CoarseTraits<Kind>::Options;

  /// `vectors`, if given, has one row a row of the matrix, on the host; else Z is of ones, for each of the `unknowns`
  /// of a node, or of relaxed vectors. Where the partition has a numbering of its own, all matrices must lie on the
  /// host.
  template <Offset O>
  NumberedCoarse(const Backend& backend, const CsrView<T, O>& matrix, const PythonPartition& partition,
                 const BlockJacobiOptions& options, const std::optional<MultiVectorView<const T>>& vectors,
                 index_t unknowns, double symmetry_tolerance, const Options& coarse)
      : permutation_(partition.permutation),
        renumbered_(permutation_ ? std::make_unique<PermutedMatrix<T>>(matrix, *permutation_) : nullptr),
        matrix_(renumbered_ ? SparseMatrix<T>(backend, renumbered_->view(), stated(unknowns, symmetry_tolerance))
                            : SparseMatrix<T>(backend, matrix, stated(unknowns, symmetry_tolerance))),
        coarse_(make(partition.blocks, options, vectors, unknowns, coarse)) {
    if (!renumbered_ || backend.memory_space() == MemorySpace::host) return;
    numbering_ = std::make_unique<DeviceNumbering<T>>(backend, *permutation_, renumbered_->value_map());
    renumbered_.reset();
  }

  /// In the numbering of its blocks.
  const Kind<T>& coarse() const noexcept { return coarse_; }
  Preconditioner<T> preconditioner() const { return coarse_; }
  /// From the user's numbering to that of the blocks; nothing where both are the same.
  const std::optional<Permutation>& permutation() const noexcept { return permutation_; }
  /// As of NumberedBlockJacobi.
  const DeviceNumbering<T>* numbering() const noexcept { return numbering_.get(); }
  /// Stored entries of the matrix as it was given.
  offset_t nnz() const { return matrix_.given_nnz(); }
  /// In the backend's memory: blocks, coarse levels and matrix.
  std::size_t bytes() const { return coarse_.block_jacobi().bytes() + coarse_.report().bytes + matrix_.bytes(); }

  void refresh(const T* values, offset_t nnz, MemorySpace space);
  BlockJacobiReport block_report() const;

  /// f(r, z) in the numbering of the blocks.
  template <class F>
  void renumbered(VectorView<const T> r, VectorView<T> z, F&& f) const {
    if (!permutation_) return f(r, z);
    if (numbering_) return numbering_->around(r, z, f);
    const std::vector<T> in = permutation_->to_permuted(std::vector<T>(r.data, r.data + r.size));
    std::vector<T> out(in.size());
    f(VectorView<const T>(in), VectorView<T>(out));
    const std::vector<T> found = permutation_->to_original(out);
    std::copy(found.begin(), found.end(), z.data);
  }

 private:
  SparseMatrixOptions stated(index_t unknowns, double symmetry_tolerance) const;
  Kind<T> make(const BlockPartition& blocks, const BlockJacobiOptions& options,
               const std::optional<MultiVectorView<const T>>& vectors, index_t unknowns, const Options& coarse) const;

  std::optional<Permutation> permutation_;
  std::unique_ptr<PermutedMatrix<T>> renumbered_;  ///< on the host
  std::unique_ptr<DeviceNumbering<T>> numbering_;  ///< on a device
  SparseMatrix<T> matrix_;
  Kind<T> coarse_;
};

/// What Python holds: any scalar, safe to use from several threads, which take turns.
template <template <class> class Kind>
class PythonCoarse {
 public:
  using Options = typename CoarseTraits<Kind>::Options;

  /// Of the partition and with the options of `blocks`, which is set up anew.
  PythonCoarse(const SparseView& matrix, const PythonBlockJacobi& blocks, const nb::object& vectors, index_t unknowns,
               double symmetry_tolerance, const Options& coarse);
  /// With the options of a BlockJacobi that is given none.
  PythonCoarse(const PythonBackend& backend, const SparseView& matrix, const PythonPartition& partition,
               const nb::object& vectors, index_t unknowns, double symmetry_tolerance, const Options& coarse);

  const PythonBackend& backend() const noexcept { return backend_; }
  const PythonPartition& partition() const noexcept { return partition_; }
  ScalarType scalar() const noexcept { return scalar_; }

  void apply(const nb::object& r, const nb::object& z) const;
  void refresh(const nb::object& values, bool check);

  /// f(coarse, r, z) in the numbering of the blocks, with the arrays of a method of that name.
  template <class F>
  void map(const char* method, const nb::object& r, const nb::object& z, F&& f) const {
    const std::string name = std::string(CoarseTraits<Kind>::name) + "." + method;
    const ArrayView in(r, name + ": r", Access::read, backend_), out(z, name + ": out", Access::write, backend_);
    CallerStreams callers;
    in.add_stream_to(callers);
    out.add_stream_to(callers);
    with_scalar(scalar_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto from = in.vector<const T>(partition_.blocks.rows(), backend_);
      const auto to = out.vector<T>(partition_.blocks.rows(), backend_);
      const auto mapped = [&] {
        locked(held<T>(), [&](const auto& numbered) {
          numbered.renumbered(from, to, [&](const auto& x, const auto& y) { f(numbered.coarse(), x, y); });
        });
      };
      backend_.run(callers, mapped, Place::callers);
    });
  }

  /// f(const NumberedCoarse<Kind, T>&) in its turn on the backend.
  template <class F>
  decltype(auto) read(F&& f) const {
    return std::visit([&](const auto& held) { return backend_.run({}, [&] { return locked(*held, f); }); }, held_);
  }

  /// As of PythonBlockJacobi; alone, since applications share vectors.
  template <Scalar T>
  const NumberedCoarse<Kind, T>& held() const {
    return *std::get<std::unique_ptr<NumberedCoarse<Kind, T>>>(held_);
  }
  std::unique_lock<std::recursive_mutex> lock() const { return std::unique_lock<std::recursive_mutex>(mutex_); }

 private:
  PythonCoarse(const PythonBackend& backend, const SparseView& matrix, const PythonPartition& partition,
               const BlockJacobiOptions& options, const nb::object& vectors, index_t unknowns,
               double symmetry_tolerance, const Options& coarse);
  template <class Held, class F>
  decltype(auto) locked(const Held& held, F&& f) const {
    const auto turn = lock();
    return f(held);
  }

  PythonBackend backend_;
  PythonPartition partition_;
  SingularPolicy policy_;
  ScalarType scalar_;
  mutable std::recursive_mutex mutex_;  ///< a progress callback may ask for a report
  std::variant<std::unique_ptr<NumberedCoarse<Kind, float>>, std::unique_ptr<NumberedCoarse<Kind, double>>,
               std::unique_ptr<NumberedCoarse<Kind, std::complex<float>>>,
               std::unique_ptr<NumberedCoarse<Kind, std::complex<double>>>>
      held_;
};

using PythonTwoLevel = PythonCoarse<TwoLevel>;
using PythonMultigrid = PythonCoarse<Multigrid>;

void bind_coarse(nb::module_& module);

}  // namespace blockjacobi::python
