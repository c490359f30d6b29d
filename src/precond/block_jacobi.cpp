#include <blockjacobi/block_jacobi.hpp>

#include "backend/host_pattern.hpp"
#include "core/message.hpp"
#include "precond/block_jacobi_impl.hpp"
#include "suggest/captured.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

void require_options(const BlockJacobiOptions& options) {
  detail::require_enumerator("BlockJacobi", "storage", options.storage, Storage::adaptive);
  detail::require_enumerator("BlockJacobi", "singular", options.singular, SingularPolicy::pseudo_inverse);
  if (options.storage == Storage::adaptive && !(options.accuracy > 0.0))
    throw InvalidArgument(detail::message("BlockJacobi: accuracy is {}, must be positive", options.accuracy));
}

/// use(values) with the values of the matrix in the memory of the backend.
template <Scalar T, Offset O, class Use>
auto with_values(const Backend& backend, const CsrView<T, O>& matrix, Use use) {
  if (matrix.space == backend.memory_space()) return use(matrix.values);
  Array<T> values(backend, static_cast<std::size_t>(matrix.nnz));
  values.copy_from_host(matrix.values);
  return use(static_cast<const T*>(values.data()));
}

/// The matrix on the host, its rows sorted and duplicates summed.
template <Scalar T, Offset O>
CsrMatrix<T> copy_on_host(const char* function, const Backend& backend, const CsrView<T, O>& matrix) {
  const detail::HostPattern<T, O> pattern(function, backend, matrix);
  if (matrix.space == MemorySpace::host) return CsrMatrix<T>::from_view(matrix);
  std::vector<T> values(static_cast<std::size_t>(matrix.nnz));
  backend.impl().copy_to_host(values.data(), matrix.values, values.size() * sizeof(T));
  CsrView<T, O> view = pattern.view();
  view.values = values.data();
  return CsrMatrix<T>::from_view(view);
}

template <Scalar T, Offset O>
std::unique_ptr<detail::BlockJacobiImpl<T>> analyze_unmeasured(const Backend& backend, const CsrView<T, O>& matrix,
                                                               const BlockPartition& partition,
                                                               const BlockJacobiOptions& options) {
  require_square_of(matrix, partition);
  require_options(options);
  return std::make_unique<detail::BlockJacobiImpl<T>>(backend, partition, options,
                                                      detail::analyze(backend, matrix, partition, options));
}

template <Scalar T, Offset O>
std::unique_ptr<detail::BlockJacobiImpl<T>> analyze_pattern(const Backend& backend, const CsrView<T, O>& matrix,
                                                            const BlockPartition& partition,
                                                            const BlockJacobiOptions& options) {
  if (!options.profile) return analyze_unmeasured(backend, matrix, partition, options);
  std::unique_ptr<detail::BlockJacobiImpl<T>> impl;
  const double seconds =
      detail::seconds_of(backend, [&] { impl = analyze_unmeasured(backend, matrix, partition, options); });
  impl->times.analysis = seconds;
  return impl;
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
  const auto unsuited = impl.stored->unsuited();
  if (unsuited.count == 0) return;
  throw InvalidArgument(detail::message("BlockJacobi: packed storage needs Hermitian blocks; {}{}",
                                        impl.describe_asymmetry(unsuited.first, values),
                                        and_more_blocks(static_cast<std::size_t>(unsuited.count - 1))));
}

/// Under l1, entries outside of a block change its diagonal: names those that made it NaN or Inf.
template <Scalar T>
void find_causes_outside(const detail::L1Values<T>& l1, std::vector<BlockDefect>& defects) {
  const auto is_diagonal = [](const BlockDefect& d) { return d.info < 0 && (-d.info - 1) % (d.size + 1) == 0; };
  if (std::ranges::none_of(defects, is_diagonal)) return;
  const std::vector<index_t> columns = l1.non_finite_outside();
  for (BlockDefect& d : defects)
    if (is_diagonal(d)) d.outside = columns[static_cast<std::size_t>(d.first_row + (-d.info - 1) / (d.size + 1))];
}

template <Scalar T>
std::vector<BlockDefect> find_defects(const BlockPartition& partition, const std::vector<int>& info,
                                      const std::vector<real_t<T>>& rcond) {
  std::vector<BlockDefect> defects;
  for (index_t b = 0; b < partition.blocks(); ++b) {
    const auto i = static_cast<std::size_t>(b);
    if (info[i] == 0) continue;
    const index_t n = partition.block_size(b);
    defects.push_back({b, partition.first_row(b), n, info[i], static_cast<double>(rcond[i])});
    defects.back().overflows = info[i] > n && rcond[i] >= detail::singular_threshold<real_t<T>>(n);
  }
  return defects;
}

constexpr Storage storage_of(detail::Format format) {
  switch (format) {
    case detail::Format::packed: return Storage::packed;
    case detail::Format::fp32: return Storage::fp32;
    case detail::Format::bf16: return Storage::bf16;
    case detail::Format::fp16: return Storage::fp16;
    case detail::Format::full: break;
  }
  return Storage::full;
}

template <Scalar T>
void add_storage(const detail::BlockJacobiImpl<T>& impl, BlockJacobiReport& report) {
  report.storage = impl.options.storage;
  if (!impl.stored) {
    if (report.blocks > 0) report.formats.emplace_back(Storage::full, report.blocks);
    report.inverse_bytes = static_cast<std::size_t>(impl.layout().size()) * sizeof(T);
    return;
  }
  for (const detail::StoredGroup& group : impl.stored->groups()) {
    const Storage storage = storage_of(group.format);
    if (report.formats.empty() || report.formats.back().first != storage) report.formats.emplace_back(storage, 0);
    report.formats.back().second += group.count;
  }
  report.inverse_bytes = impl.stored->inverse_bytes();
  const auto unsuited = impl.stored->unsuited();
  report.unsuited_blocks = unsuited.count;
  report.first_unsuited = unsuited.first;
}

}  // namespace

template <Scalar T>
template <Offset O>
BlockJacobi<T>::BlockJacobi(const Backend& backend, const CsrView<T, O>& matrix, const BlockPartition& partition,
                            const BlockJacobiOptions& options) {
  if (matrix.nnz > 0 && matrix.values == nullptr)
    throw InvalidArgument(detail::message("BlockJacobi: the matrix has {} entries but no values", matrix.nnz));
  impl_ = analyze_pattern(backend, matrix, partition, options);
  with_values(backend, matrix, [&](const T* values) { rebuild(values, matrix.nnz, backend.memory_space()); });
}

template <Scalar T>
BlockJacobi<T>::BlockJacobi(std::unique_ptr<detail::BlockJacobiImpl<T>> impl) noexcept : impl_(std::move(impl)) {}

template <Scalar T>
template <Offset O>
BlockJacobi<T> BlockJacobi<T>::analyze(const Backend& backend, const CsrView<T, O>& pattern,
                                       const BlockPartition& partition, const BlockJacobiOptions& options) {
  return BlockJacobi(analyze_pattern(backend, pattern, partition, options));
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
template <Offset O>
void BlockJacobi<T>::require_sizes(const char* function, const CsrView<T, O>& matrix) const {
  detail::require_arrays(function, matrix);
  if (matrix.rows != rows() || matrix.cols != rows())
    throw InvalidArgument(detail::message("{}: the matrix is {} x {}, the pattern {} x {}", function, matrix.rows,
                                          matrix.cols, rows(), rows()));
}

template <Scalar T>
void BlockJacobi<T>::refresh(const T* values, offset_t nnz, MemorySpace space) {
  require_values("BlockJacobi::refresh", values, nnz, space);
  impl_->setup(values);
}

template <Scalar T>
template <Offset O>
void BlockJacobi<T>::refresh(const CsrView<T, O>& matrix) {
  require_sizes("BlockJacobi::refresh", matrix);
  require_values("BlockJacobi::refresh", matrix.values, matrix.nnz, matrix.space);
  if (!impl_->options.check_pattern)
    throw InvalidArgument("BlockJacobi::refresh: check_pattern was off, there is nothing to compare the pattern with");
  if (detail::storage_ops<T>(impl_->backend).fingerprint(detail::pattern_of(matrix)) != impl_->fingerprint)
    throw InvalidArgument(
        "BlockJacobi::refresh: the pattern is not the one given at construction, though it has the "
        "same number of rows and entries");
  impl_->setup(matrix.values);
}

template <Scalar T>
void BlockJacobi<T>::rebuild(const T* values, offset_t nnz, MemorySpace space) {
  require_values("BlockJacobi::rebuild", values, nnz, space);
  if (impl_->options.profile)
    impl_->measured_rebuild(values);
  else
    impl_->rebuild(values);
  impl_->backend.synchronize();
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
  set_up("BlockJacobi::apply").apply(op, r.data, z.data);
}

template <Scalar T>
void BlockJacobi<T>::apply(T alpha, VectorView<const T> r, T beta, VectorView<T> z, Op op) const {
  require_vectors(r, z, op);
  set_up("BlockJacobi::apply").apply(op, alpha, {r.data, 1, 0, 1}, beta, {z.data, 1, 0, 1});
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
  if (R.cols > 0 && R.rows > 0) impl.apply(op, alpha, columns_of(R), beta, columns_of(Z));
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
BlockJacobiReport BlockJacobi<T>::report() const {
  const std::vector<int> info = this->info();
  const std::vector<real_t<T>> rcond = this->rcond();
  BlockJacobiReport report;
  report.rows = rows();
  report.blocks = partition().blocks();
  report.scalar = scalar_type<T>;
  report.policy = impl_->options.singular;
  if (impl_->options.profile) report.times = impl_->times;
  for (const BlockGroup& group : impl_->layout().groups()) report.sizes.emplace_back(group.size, group.count);
  report.bytes = bytes();
  report.entries_inside = nnz() > 0 ? static_cast<double>(impl_->entries) / static_cast<double>(nnz()) : 1.0;
  for (index_t b = 0; b < report.blocks; ++b) {
    const auto i = static_cast<std::size_t>(b);
    report.singular_blocks += info[i] > 0;
    report.non_finite_blocks += info[i] < 0;
    if (info[i] != 0 || (report.min_rcond_block >= 0 && rcond[i] >= report.min_rcond)) continue;
    report.min_rcond = static_cast<double>(rcond[i]);
    report.min_rcond_block = b;
  }
  report.defects = find_defects<T>(partition(), info, rcond);
  if (impl_->options.l1) find_causes_outside(impl_->l1, report.defects);
  add_storage(*impl_, report);
  return report;
}

template <Scalar T>
template <Offset O>
BlockJacobiReport BlockJacobi<T>::report(const CsrView<T, O>& matrix) {
  require_sizes("BlockJacobi::report", matrix);
  if (matrix.nnz != nnz() || (matrix.nnz > 0 && matrix.values == nullptr))
    throw InvalidArgument(detail::message("BlockJacobi::report: {} entries{}, the pattern has {}", matrix.nnz,
                                          matrix.values == nullptr ? " without values" : "", nnz()));
  BlockJacobiReport report = this->report();
  const CsrMatrix<T> host = copy_on_host("BlockJacobi::report", backend(), matrix);
  report.captured = detail::captured_weights(host, {&partition()}, detail::host_threads(backend()))[0];
  const auto growth =
      with_values(backend(), matrix, [&](const T* values) { return impl_->pivot_growth(values).to_host(); });
  for (index_t b = 0; b < report.blocks; ++b) {
    const auto own = static_cast<double>(growth[static_cast<std::size_t>(b)]);
    if (!(own > report.max_growth.value_or(0.0))) continue;
    report.max_growth = own;
    report.max_growth_block = b;
  }
  return report;
}

template <Scalar T>
BlockBatchView<const T> BlockJacobi<T>::inverse() const {
  if (impl_->stored)
    throw InvalidArgument(
        detail::message("BlockJacobi::inverse: the storage is {}, must be full", to_string(impl_->options.storage)));
  return std::as_const(impl_->inverse).view();
}

template <Scalar T>
std::vector<T> BlockJacobi<T>::inverse_block(index_t block) const {
  const auto& impl = set_up("BlockJacobi::inverse_block");
  if (block < 0 || block >= partition().blocks())
    throw InvalidArgument(
        detail::message("BlockJacobi::inverse_block: block is {}, there are {}", block, partition().blocks()));
  return impl.inverse_block(block);
}

template <Scalar T>
const Backend& BlockJacobi<T>::backend() const noexcept {
  return impl_->backend;
}

template <Scalar T>
const BlockPartition& BlockJacobi<T>::partition() const noexcept {
  return impl_->partition;
}

template <Scalar T>
index_t BlockJacobi<T>::rows() const noexcept {
  return impl_->partition.rows();
}

template <Scalar T>
offset_t BlockJacobi<T>::nnz() const noexcept {
  return impl_->nnz;
}

template <Scalar T>
std::size_t BlockJacobi<T>::bytes() const noexcept {
  return impl_->bytes();
}

template <Scalar T>
std::size_t BlockJacobi<T>::storage_bytes(const BlockPartition& partition, Storage storage) {
  detail::require_enumerator("BlockJacobi::storage_bytes", "storage", storage, Storage::adaptive);
  const BlockLayout layout(partition, sizeof(T));
  return detail::inverse_bytes_bound<T>(layout, detail::format_of<T>(storage));
}

namespace {

template <Scalar T, Offset O>
void require_host_pattern(const CsrView<T, O>& pattern, const BlockPartition& partition) {
  require_square_of(pattern, partition);
  if (pattern.space != MemorySpace::host)
    throw InvalidArgument("BlockJacobi::required_bytes: the pattern lies on the device, must be on the host");
  validate(pattern);
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
  require_host_pattern(pattern, partition);
  require_options(options);
  const BlockLayout layout(partition, sizeof(T));
  const int threads = omp_get_max_threads();
  const auto map =
      options.l1 ? detail::measure_position_map(detail::L1Pattern(detail::pattern_of(pattern)).view(), layout, threads)
                 : detail::measure_position_map(detail::pattern_of(pattern), layout, threads);
  return detail::required_bytes<T>(backend, layout, options, map, pattern.nnz);
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
  template BLOCKJACOBI_EXPORT BlockJacobiReport BlockJacobi<T>::report(const CsrView<T, O>&);                          \
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
