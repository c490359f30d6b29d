#include <blockjacobi/block_jacobi.hpp>

#include "backend/host_pattern.hpp"
#include "backend/range.hpp"
#include "backend/require.hpp"
#include "core/csr_pattern.hpp"
#include "core/message.hpp"
#include "core/sparse_matrix_impl.hpp"
#include "precond/block_jacobi_impl.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace blockjacobi {

namespace {

template <Scalar T, Offset O>
void require_square_of(const CsrView<T, O>& matrix, const BlockPartition& partition) {
  detail::require_arrays("BlockJacobi", matrix);
  if (matrix.rows != matrix.cols)
    throw InvalidArgument(
        detail::message("BlockJacobi: the matrix is {} x {}, must be square", matrix.rows, matrix.cols));
  if (partition.rows() != matrix.rows)
    throw InvalidArgument(
        detail::message("BlockJacobi: the partition has {} rows, the matrix {}", partition.rows(), matrix.rows));
}

template <Scalar T, Offset O>
const CsrView<T, O>& matrix_with_values(const CsrView<T, O>& matrix) {
  if (matrix.nnz > 0 && matrix.values == nullptr)
    throw InvalidArgument(detail::message("BlockJacobi: the matrix has {} entries but no values", matrix.nnz));
  return matrix;
}

void require_options(const BlockJacobiOptions& options) {
  detail::require_enumerator("BlockJacobi", "storage", options.storage, Storage::adaptive);
  detail::require_enumerator("BlockJacobi", "singular", options.singular, SingularPolicy::pseudo_inverse);
  if (options.storage == Storage::adaptive && !(options.accuracy > 0.0))
    throw InvalidArgument(detail::message("BlockJacobi: accuracy is {}, must be positive", options.accuracy));
}

/// What `analyze`, which makes an Analysis, finds; measured if the options say so.
template <Scalar T, class Analyze>
std::unique_ptr<detail::BlockJacobiImpl<T>> analyzed(const Backend& backend, const BlockPartition& partition,
                                                     const BlockJacobiOptions& options, Analyze analyze) {
  require_options(options);
  const detail::Range range("analysis");
  std::unique_ptr<detail::BlockJacobiImpl<T>> impl;
  const auto work = [&] {
    impl = std::make_unique<detail::BlockJacobiImpl<T>>(backend, partition, options, analyze());
  };
  if (!options.profile) {
    work();
  } else {
    const double seconds = detail::seconds_of(backend, work);
    impl->times.analysis = seconds;
  }
  return impl;
}

template <Scalar T, Offset O>
std::unique_ptr<detail::BlockJacobiImpl<T>> analyzed(const Backend& backend, const CsrView<T, O>& matrix,
                                                     const BlockPartition& partition,
                                                     const BlockJacobiOptions& options) {
  require_square_of(matrix, partition);
  return analyzed<T>(backend, partition, options, [&] { return detail::analyze(backend, matrix, partition, options); });
}

template <Scalar T>
std::unique_ptr<detail::BlockJacobiImpl<T>> analyzed(detail::SparseMatrixImpl<T>& matrix,
                                                     const BlockPartition& partition,
                                                     const BlockJacobiOptions& options) {
  return std::visit(
      [&](const auto& view) {
        require_square_of(view, partition);
        auto impl = analyzed<T>(matrix.backend, partition, options, [&] {
          return detail::analyze_canonical(matrix.backend, view, partition, options,
                                           options.check_pattern ? matrix.fingerprint() : 0);
        });
        impl->rounding_scales = matrix.rounding_scales;
        impl->is_stated_hermitian = matrix.is_stated_hermitian();
        return impl;
      },
      matrix.view);
}

std::string and_more_blocks(std::size_t others) {
  return others > 0 ? detail::message(" (and {} more block{})", others, others == 1 ? "" : "s") : std::string();
}

/// Throws for blocks that the options do not admit; `values` are those of the last set-up. Waits.
template <Scalar T>
void require_good_blocks(const detail::BlockJacobiImpl<T>& impl, const BlockJacobi<T>& m, const T* values) {
  if (impl.failed()) {
    const BlockJacobiReport found = m.report();
    const BlockDefect& first = found.defects.front();
    const std::size_t others = found.defects.size() - 1;
    throw SingularBlock(first.block, first.first_row, first.size, first.info,
                        "BlockJacobi: " + describe(first) + and_more_blocks(others));
  }
  if (impl.options.storage != Storage::packed) return;
  const auto unsuited = impl.inverses.unsuited();
  if (unsuited.count == 0) return;
  throw InvalidArgument(detail::message("BlockJacobi: packed storage needs Hermitian blocks; {}{}",
                                        impl.describe_asymmetry(unsuited.first, values),
                                        and_more_blocks(static_cast<std::size_t>(unsuited.count - 1))));
}

/// A copy in the memory of the backend of a canonical matrix on the host, if the backend analyses it there.
template <Scalar T, Offset O>
std::optional<SparseMatrix<T>> uploaded(const Backend& backend, const CsrView<T, O>& matrix,
                                        const BlockPartition& partition) {
  require_square_of(matrix, partition);
  const bool elsewhere = matrix.space == MemorySpace::host && backend.memory_space() != MemorySpace::host;
  if (!elsewhere || !detail::is_analyzed_in(backend, partition)) return std::nullopt;
  detail::require_valid("BlockJacobi", detail::pattern_of(matrix));
  if (!detail::is_canonical(matrix)) return std::nullopt;
  auto copy = std::make_shared<detail::SparseMatrixImpl<T>>(backend, SparseMatrixOptions{});
  copy->copy(matrix);
  return SparseMatrix<T>(std::move(copy));
}

}  // namespace

template <Scalar T>
BlockJacobi<T>::BlockJacobi(const SparseMatrix<T>& matrix, const BlockPartition& partition,
                            const BlockJacobiOptions& options)
    : BlockJacobi(analyzed(*matrix.impl(), partition, options)) {
  rebuild(matrix.values(), matrix.nnz(), matrix.backend().memory_space());
}

template <Scalar T>
template <Offset O>
BlockJacobi<T>::BlockJacobi(const Backend& backend, const CsrView<T, O>& matrix, const BlockPartition& partition,
                            const BlockJacobiOptions& options)
    : BlockJacobi([&] {
        if (const auto copy = uploaded(backend, matrix_with_values(matrix), partition))
          return BlockJacobi(*copy, partition, options);
        BlockJacobi made(analyzed(backend, matrix, partition, options));
        detail::with_values(backend, matrix,
                            [&](const T* values) { made.rebuild(values, matrix.nnz, backend.memory_space()); });
        return made;
      }()) {}

template <Scalar T>
BlockJacobi<T>::BlockJacobi(const Backend& backend, const CsrMatrix<T>& matrix, const BlockPartition& partition,
                            const BlockJacobiOptions& options)
    : BlockJacobi(backend.memory_space() == MemorySpace::host
                      ? BlockJacobi(SparseMatrix<T>::adopt(backend, matrix), partition, options)
                      : BlockJacobi(backend, matrix.view(), partition, options)) {}

template <Scalar T>
BlockJacobi<T>::BlockJacobi(std::unique_ptr<detail::BlockJacobiImpl<T>> impl) noexcept
    : impl_("BlockJacobi", std::move(impl)) {}

template <Scalar T>
template <Offset O>
BlockJacobi<T> BlockJacobi<T>::analyze(const Backend& backend, const CsrView<T, O>& pattern,
                                       const BlockPartition& partition, const BlockJacobiOptions& options) {
  return BlockJacobi(analyzed(backend, pattern, partition, options));
}

template <Scalar T>
BlockJacobi<T> BlockJacobi<T>::analyze(const SparseMatrix<T>& pattern, const BlockPartition& partition,
                                       const BlockJacobiOptions& options) {
  return BlockJacobi(analyzed(*pattern.impl(), partition, options));
}

template <Scalar T>
const detail::BlockJacobiImpl<T>& BlockJacobi<T>::set_up(const char* function) const {
  impl_->require_set_up(function);
  return *impl_;
}

template <Scalar T>
BlockJacobi<T>::BlockJacobi(BlockJacobi&&) noexcept = default;
template <Scalar T>
BlockJacobi<T>& BlockJacobi<T>::operator=(BlockJacobi&&) noexcept = default;
template <Scalar T>
BlockJacobi<T>::~BlockJacobi() = default;

template <Scalar T>
void BlockJacobi<T>::require_values(const char* function, const T* values, offset_t nnz, MemorySpace space) const {
  if (nnz != impl_->nnz)
    throw InvalidArgument(detail::message("{}: {} values, the pattern has {}", function, nnz, impl_->nnz));
  if (nnz > 0 && values == nullptr) throw InvalidArgument(detail::message("{}: values is a null pointer", function));
  if (space != impl_->backend.memory_space())
    throw InvalidArgument(detail::message("{}: the values lie on the {}, the backend is {}", function, to_string(space),
                                          impl_->backend.description()));
}

template <Scalar T>
void BlockJacobi<T>::refresh(const T* values, offset_t nnz, MemorySpace space) {
  require_values("BlockJacobi::refresh", values, nnz, space);
  impl_->hermitian = impl_->is_stated_hermitian;
  impl_->setup(values);
}

namespace {

/// `fingerprint` makes that of the other pattern.
template <Scalar T, class Fingerprint>
void require_same_pattern(const detail::BlockJacobiImpl<T>& impl, Fingerprint fingerprint) {
  if (!impl.options.check_pattern)
    throw InvalidArgument("BlockJacobi::refresh: check_pattern was off, there is nothing to compare the pattern with");
  if (fingerprint() != impl.fingerprint)
    throw InvalidArgument(
        "BlockJacobi::refresh: the pattern is not the one given at construction, though it has the "
        "same number of rows and entries");
}

}  // namespace

template <Scalar T>
template <Offset O>
void BlockJacobi<T>::refresh(const CsrView<T, O>& matrix) {
  detail::require_sizes("BlockJacobi::refresh", matrix, rows());
  require_values("BlockJacobi::refresh", matrix.values, matrix.nnz, matrix.space);
  require_same_pattern(*impl_,
                       [&] { return impl_->backend.impl().partition_ops().fingerprint(detail::pattern_of(matrix)); });
  impl_->hermitian = impl_->is_stated_hermitian;
  impl_->setup(matrix.values);
}

template <Scalar T>
void BlockJacobi<T>::refresh(const SparseMatrix<T>& matrix) {
  std::visit([&](const auto& view) { detail::require_sizes("BlockJacobi::refresh", view, rows()); }, matrix.view());
  if (!(matrix.backend() == impl_->backend))
    throw InvalidArgument(detail::message("BlockJacobi::refresh: the matrix has another backend ({}, not {})",
                                          matrix.backend().description(), impl_->backend.description()));
  require_values("BlockJacobi::refresh", matrix.values(), matrix.nnz(), matrix.backend().memory_space());
  require_same_pattern(*impl_, [&] { return matrix.impl()->fingerprint(); });
  impl_->hermitian = matrix.impl()->is_stated_hermitian();
  impl_->setup(matrix.values());
}

template <Scalar T>
void BlockJacobi<T>::rebuild(const T* values, offset_t nnz, MemorySpace space) {
  require_values("BlockJacobi::rebuild", values, nnz, space);
  impl_->hermitian = impl_->is_stated_hermitian;
  if (impl_->options.profile)
    impl_->measured_rebuild(values);
  else
    impl_->rebuild(values);
  require_good_blocks(*impl_, *this, values);
}

namespace {

void require_op(Op op) { detail::require_enumerator("BlockJacobi::apply", "op", op, Op::conjugate_transpose); }

template <class T>
detail::ColumnsView<T> columns_of(const MultiVectorView<T>& v) {
  if (v.layout == Layout::column_major) return {v.data, 1, v.ld, v.cols};
  return {v.data, v.ld, 1, v.cols};
}

}  // namespace

template <Scalar T>
void BlockJacobi<T>::require_vectors(const VectorView<const T>& r, const VectorView<T>& z, Op op) const {
  require_op(op);
  detail::require_vector("BlockJacobi::apply: r", r, rows());
  detail::require_vector("BlockJacobi::apply: z", z, rows());
  detail::require_space("BlockJacobi::apply: r", r, impl_->backend);
  detail::require_space("BlockJacobi::apply: z", z, impl_->backend);
  detail::require_disjoint("BlockJacobi::apply", r, z);
}

template <Scalar T>
void BlockJacobi<T>::apply(VectorView<const T> r, VectorView<T> z, Op op) const {
  require_vectors(r, z, op);
  set_up("BlockJacobi::apply").apply(op, detail::compute_cast(r.data), detail::compute_cast(z.data));
}

template <Scalar T>
void BlockJacobi<T>::apply(T alpha, VectorView<const T> r, T beta, VectorView<T> z, Op op) const {
  require_vectors(r, z, op);
  set_up("BlockJacobi::apply")
      .apply(op, detail::compute_value(alpha), {detail::compute_cast(r.data)}, detail::compute_value(beta),
             {detail::compute_cast(z.data)});
}

template <Scalar T>
void BlockJacobi<T>::apply(MultiVectorView<const T> R, MultiVectorView<T> Z, Op op) const {
  apply(T(1), R, T(0), Z, op);
}

template <Scalar T>
void BlockJacobi<T>::apply(T alpha, MultiVectorView<const T> R, T beta, MultiVectorView<T> Z, Op op) const {
  require_op(op);
  detail::require_multivector("BlockJacobi::apply: R", R, rows(), impl_->backend);
  detail::require_multivector("BlockJacobi::apply: Z", Z, rows(), impl_->backend);
  if (R.cols != Z.cols)
    throw InvalidArgument(detail::message("BlockJacobi::apply: R has {} columns, Z {}", R.cols, Z.cols));
  detail::require_disjoint("BlockJacobi::apply", R, Z);
  const auto& impl = set_up("BlockJacobi::apply");
  if (R.cols > 0 && R.rows > 0)
    impl.apply(op, detail::compute_value(alpha), compute_view(columns_of(R)), detail::compute_value(beta),
               compute_view(columns_of(Z)));
}

template <Scalar T>
std::vector<int> BlockJacobi<T>::info() const {
  return set_up("BlockJacobi::info").info.to_host();
}

template <Scalar T>
std::vector<real_t<T>> BlockJacobi<T>::rcond() const {
  return set_up("BlockJacobi::rcond").rcond.to_host();
}

template <Scalar T>
VectorView<const int> BlockJacobi<T>::info_view() const {
  return set_up("BlockJacobi::info_view").info.view();
}

template <Scalar T>
VectorView<const real_t<T>> BlockJacobi<T>::rcond_view() const {
  return set_up("BlockJacobi::rcond_view").rcond.view();
}

template <Scalar T>
index_t BlockJacobi<T>::defects() const {
  return set_up("BlockJacobi::defects").defects.to_host()[0];
}

template <Scalar T>
Array<real_t<T>> BlockJacobi<T>::pivot_growth(const T* values, offset_t nnz, MemorySpace space) {
  require_values("BlockJacobi::pivot_growth", values, nnz, space);
  return impl_->pivot_growth(values);
}

template <Scalar T>
BlockBatchView<const T> BlockJacobi<T>::inverse() const {
  if (const auto full = impl_->inverses.full()) return *full;
  throw InvalidArgument(
      detail::message("BlockJacobi::inverse: the storage is {}, must be full", to_string(impl_->options.storage)));
}

template <Scalar T>
std::vector<T> BlockJacobi<T>::inverse_block(index_t block) const {
  const auto& impl = set_up("BlockJacobi::inverse_block");
  if (block < 0 || block >= partition().blocks())
    throw InvalidArgument(
        detail::message("BlockJacobi::inverse_block: block is {}, there are {}", block, partition().blocks()));
  return impl.inverses.block(block);
}

template <Scalar T>
const Backend& BlockJacobi<T>::backend() const {
  return impl_->backend;
}

template <Scalar T>
const BlockPartition& BlockJacobi<T>::partition() const {
  return impl_->partition;
}

template <Scalar T>
index_t BlockJacobi<T>::rows() const {
  return impl_->partition.rows();
}

template <Scalar T>
offset_t BlockJacobi<T>::nnz() const {
  return impl_->nnz;
}

template <Scalar T>
std::size_t BlockJacobi<T>::bytes() const {
  return impl_->bytes();
}

template <Scalar T>
std::size_t BlockJacobi<T>::storage_bytes(const BlockPartition& partition, Storage storage) {
  detail::require_enumerator("BlockJacobi::storage_bytes", "storage", storage, Storage::adaptive);
  const BlockLayout layout(partition, sizeof(T));
  return detail::inverse_bytes_bound<T>(layout, detail::format_of<T>(storage));
}

namespace {

/// The pattern lies on the host and is valid.
template <Scalar T, Offset O>
std::size_t bytes_for(const Backend& backend, const CsrView<T, O>& pattern, const BlockPartition& partition,
                      const BlockJacobiOptions& options) {
  const BlockLayout layout(partition, sizeof(T));
  const int threads = omp_get_max_threads();
  const auto map =
      options.l1 ? detail::measure_position_map(detail::L1Pattern(detail::pattern_of(pattern)).view(), layout, threads)
                 : detail::measure_position_map(detail::pattern_of(pattern), layout, threads);
  return detail::required_bytes<T>(backend, layout, options, map, pattern.nnz);
}

}  // namespace

template <Scalar T>
template <Offset O>
std::size_t BlockJacobi<T>::required_bytes(const CsrView<T, O>& pattern, const BlockPartition& partition) {
  return required_bytes(Backend::host(1), pattern, partition, BlockJacobiOptions{});
}

template <Scalar T>
template <Offset O>
std::size_t BlockJacobi<T>::required_bytes(const Backend& backend, const CsrView<T, O>& pattern,
                                           const BlockPartition& partition, const BlockJacobiOptions& options) {
  require_square_of(pattern, partition);
  if (pattern.space != MemorySpace::host)
    throw InvalidArgument("BlockJacobi::required_bytes: the pattern lies on the device, must be on the host");
  detail::require_valid("BlockJacobi::required_bytes", detail::pattern_of(pattern));
  require_options(options);
  return bytes_for(backend, pattern, partition, options);
}

template <Scalar T>
std::size_t BlockJacobi<T>::required_bytes(const SparseMatrix<T>& pattern, const BlockPartition& partition,
                                           const BlockJacobiOptions& options) {
  return std::visit(
      [&]<Offset O>(const CsrView<T, O>& view) {
        require_square_of(view, partition);
        require_options(options);
        const detail::HostPattern<T, O> host("BlockJacobi::required_bytes", pattern.backend(), view);
        return bytes_for(pattern.backend(), host.view(), partition, options);
      },
      pattern.view());
}

template <Scalar T>
const detail::PreconditionerImpl<T>& BlockJacobi<T>::preconditioner() const {
  return set_up("BlockJacobi as a preconditioner");
}

#define BLOCKJACOBI_INSTANTIATE_FOR(T, O)                                                                              \
  template BLOCKJACOBI_EXPORT BlockJacobi<T>::BlockJacobi(const Backend&, const CsrView<T, O>&, const BlockPartition&, \
                                                          const BlockJacobiOptions&);                                  \
  template BLOCKJACOBI_EXPORT BlockJacobi<T> BlockJacobi<T>::analyze(                                                  \
      const Backend&, const CsrView<T, O>&, const BlockPartition&, const BlockJacobiOptions&);                         \
  template BLOCKJACOBI_EXPORT void BlockJacobi<T>::refresh(const CsrView<T, O>&);                                      \
  template BLOCKJACOBI_EXPORT std::size_t BlockJacobi<T>::required_bytes(const CsrView<T, O>&, const BlockPartition&); \
  template BLOCKJACOBI_EXPORT std::size_t BlockJacobi<T>::required_bytes(                                              \
      const Backend&, const CsrView<T, O>&, const BlockPartition&, const BlockJacobiOptions&)
#define BLOCKJACOBI_INSTANTIATE(T)              \
  template class BlockJacobi<T>;                \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int32_t); \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int64_t)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE
#undef BLOCKJACOBI_INSTANTIATE_FOR

}  // namespace blockjacobi
