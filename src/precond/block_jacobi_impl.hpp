#pragma once

#include "backend/backend_impl.hpp"
#include "backend/require.hpp"
#include "precond/analysis.hpp"
#include "precond/inverse_storage.hpp"
#include "precond/l1_values.hpp"

#include <blockjacobi/block_jacobi.hpp>

#include <chrono>
#include <optional>

namespace blockjacobi::detail {

/// The format of all blocks; none if each has its own.
template <Scalar T>
constexpr std::optional<Format> format_of(Storage storage) {
  switch (storage) {
    case Storage::packed: return Format::packed;
    case Storage::fp32: return sizeof(real_t<T>) == sizeof(float) ? Format::full : Format::fp32;
    case Storage::bf16: return Format::bf16;
    case Storage::fp16: return Format::fp16;
    case Storage::adaptive: return std::nullopt;
    case Storage::full: break;
  }
  return Format::full;
}

/// What set-up does with singular blocks beyond a diagonal.
constexpr std::optional<Repair> repair_of(SingularPolicy policy) {
  if (policy == SingularPolicy::shift) return Repair::shift;
  if (policy == SingularPolicy::pseudo_inverse) return Repair::pseudo_inverse;
  return std::nullopt;
}

/// Whether set-up works on single blocks beside their inversion.
template <Scalar T>
constexpr bool needs_scratch(const BlockJacobiOptions& options) {
  return repair_of(options.singular) || !format_of<T>(options.storage) || options.storage == Storage::packed;
}

/// State of a BlockJacobi: the inverses, the position map and the status, in backend memory.
template <Scalar T>
class BlockJacobiImpl final : public PreconditionerImpl<T> {
  using C = compute_t<T>;

 public:
  BlockJacobiImpl(const Backend& backend, const BlockPartition& partition, const BlockJacobiOptions& options,
                  Analysis analysis);

  /// Enqueued; `values` in backend memory.
  void setup(const T* values);
  /// The same, with formats chosen anew where storage is adaptive; that waits.
  void rebuild(const T* values);
  /// rebuild() that waits between its phases, and takes their times.
  void measured_rebuild(const T* values);

  /// See BlockJacobi::pivot_growth(); `values` in backend memory.
  Array<real_t<T>> pivot_growth(const T* values);

  index_t rows() const override { return partition.rows(); }
  void apply(const C* r, C* z) const override {
    require_set_up("BlockJacobi as a preconditioner");
    apply(Op::none, r, z);
  }
  bool apply_bundles(const Bundles& bundles, const C* r, C* z) const override;
  void apply(Op op, const C* r, C* z) const;
  void apply(Op op, C alpha, const ColumnsView<const C>& r, C beta, const ColumnsView<C>& z) const;
  bool capturable() const override { return true; }
  std::optional<InverseView<T>> inverse() const override { return inverses.view(); }
  /// Element (i, j) and its counterpart, the first that makes a block not Hermitian, from values in backend memory.
  std::string describe_asymmetry(index_t block, const T* values) const;
  std::size_t bytes() const;
  const BlockLayout& layout() const { return inverses.layout(); }
  const int* failure() const override { return options.singular == SingularPolicy::fail ? defects.data() : nullptr; }
  /// Waits; whether failure() points to a number that is not 0.
  bool failed() const;
  void require_set_up(const char* function) const;

  Backend backend;
  BlockPartition partition;
  BlockJacobiOptions options;
  offset_t nnz;
  offset_t entries;  ///< of the matrix inside blocks
  std::uint64_t fingerprint;
  InverseStorage<T> inverses;
  BackendMap position_map;
  Array<int> info;
  Array<real_t<T>> rcond;
  Array<int> defects;
  L1Values<T> l1;
  Array<T> scratch;
  SetupTimes times;
  bool is_stated_hermitian = false;  ///< the matrix of the analysis, whatever its values
  bool hermitian = false;            ///< with the values that the next set-up gets
  /// Of the rows of a matrix that was computed, see core/shared/rounding_scales.hpp, where pseudo-inverses go by them.
  const real_t<T>* rounding_scales = nullptr;

 private:
  PositionMapView map() const { return position_map.view(); }
  BlockStatusView<T> status() { return {info.data(), rcond.data(), defects.data()}; }
  ScratchView<C> scratch_view() { return {compute_cast(scratch.data()), static_cast<offset_t>(scratch.size())}; }
  /// The values that the blocks are made of.
  const C* used(const T* values) { return compute_cast(options.l1 ? l1.extend(values) : values); }
  /// Inverts the blocks of a batch, with what takes the place of singular ones.
  void invert(const C* values, const BlockBatchView<C>& batch);
  void fill(const C* values, bool check);
  /// Runs a part of the set-up; adds its time to that of its phase, and waits for that, in a measured_rebuild().
  template <class Work>
  void run(double SetupTimes::*phase, Work work);

  /// False until the first setup(), and after a rebuild() that failed: some of the memory is gone then.
  bool is_set_up_ = false;
  bool is_measured_ = false;
};

template <Scalar T, Offset O>
void require_sizes(const char* function, const CsrView<T, O>& matrix, index_t rows) {
  require_arrays(function, matrix);
  if (matrix.rows != rows || matrix.cols != rows)
    throw InvalidArgument(
        message("{}: the matrix is {} x {}, the pattern {} x {}", function, matrix.rows, matrix.cols, rows, rows));
}

/// use(values) with the values of the matrix in the memory of the backend.
template <Scalar T, Offset O, class Use>
auto with_values(const Backend& backend, const CsrView<T, O>& matrix, Use use) {
  if (matrix.space == backend.memory_space()) return use(matrix.values);
  Array<T> values(backend, static_cast<std::size_t>(matrix.nnz));
  values.copy_from_host(matrix.values);
  return use(static_cast<const T*>(values.data()));
}

/// The seconds that `work` takes, with all that it enqueues.
template <class Work>
double seconds_of(const Backend& backend, Work work) {
  backend.synchronize();
  const auto start = std::chrono::steady_clock::now();
  work();
  backend.synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What BlockJacobiImpl::bytes() will be, or an upper bound for adaptive storage.
template <Scalar T>
std::size_t required_bytes(const Backend& backend, const BlockLayout& layout, const BlockJacobiOptions& options,
                           const PositionMapSize& map, offset_t nnz);

}  // namespace blockjacobi::detail
