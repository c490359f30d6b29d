#include <blockjacobi/block_jacobi.hpp>

#include "backend/require.hpp"
#include "precond/block_jacobi_impl.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <cmath>
#include <limits>

namespace blockjacobi {

namespace {

/// The arrays of a matrix that lies on the device, on the host.
template <Offset O>
struct HostPattern {
  std::vector<O> row_offsets;
  std::vector<index_t> columns;
};

template <Scalar T, Offset O>
HostPattern<O> download_pattern(const Backend& backend, const CsrView<T, O>& matrix) {
  HostPattern<O> host{std::vector<O>(static_cast<std::size_t>(matrix.rows) + 1),
                      std::vector<index_t>(static_cast<std::size_t>(matrix.nnz))};
  detail::BackendImpl& impl = backend.impl();
  impl.copy_to_host(host.row_offsets.data(), matrix.row_offsets, host.row_offsets.size() * sizeof(O));
  impl.copy_to_host(host.columns.data(), matrix.columns, host.columns.size() * sizeof(index_t));
  return host;
}

template <Scalar T, Offset O>
void require_square_of(const CsrView<T, O>& matrix, const BlockPartition& partition) {
  detail::require_arrays("BlockJacobi", matrix);
  if (matrix.rows != matrix.cols)
    throw InvalidArgument(fmt::format("BlockJacobi: the matrix is {} x {}, must be square", matrix.rows, matrix.cols));
  if (partition.rows() != matrix.rows)
    throw InvalidArgument(
        fmt::format("BlockJacobi: the partition has {} rows, the matrix {}", partition.rows(), matrix.rows));
}

template <Scalar T, Offset O>
CsrView<const void, O> pattern_of(const CsrView<T, O>& matrix) {
  return {matrix.rows, matrix.cols, matrix.nnz, matrix.row_offsets, matrix.columns, nullptr, matrix.base, matrix.space};
}

/// Validates a host pattern and builds the state; reads the values nowhere.
template <Scalar T, Offset O>
std::unique_ptr<detail::BlockJacobiImpl<T>> analyze_on_host(const Backend& backend, const CsrView<T, O>& matrix,
                                                            const BlockPartition& partition,
                                                            const BlockJacobiOptions& options) {
  validate(matrix);
  const int threads = backend.kind() == BackendKind::host ? backend.threads() : omp_get_max_threads();
  BlockBatch<T> inverse(backend, partition);
  const detail::PositionMap map = detail::build_position_map(pattern_of(matrix), inverse.layout(), threads);
  return std::make_unique<detail::BlockJacobiImpl<T>>(partition, options, matrix.nnz, map, std::move(inverse));
}

template <Scalar T, Offset O>
std::unique_ptr<detail::BlockJacobiImpl<T>> analyze_pattern(const Backend& backend, const CsrView<T, O>& matrix,
                                                            const BlockPartition& partition,
                                                            const BlockJacobiOptions& options) {
  require_square_of(matrix, partition);
  if (matrix.space == MemorySpace::host) return analyze_on_host(backend, matrix, partition, options);
  if (backend.memory_space() != MemorySpace::device)
    throw InvalidArgument(
        fmt::format("BlockJacobi: the matrix lies on the device, the backend is {}", backend.description()));
  const HostPattern<O> host = download_pattern(backend, matrix);
  CsrView<T, O> view = matrix;
  view.row_offsets = host.row_offsets.data();
  view.columns = host.columns.data();
  view.space = MemorySpace::host;
  return analyze_on_host(backend, view, partition, options);
}

template <Scalar T, Offset O>
std::unique_ptr<detail::BlockJacobiImpl<T>> construct(const Backend& backend, const CsrView<T, O>& matrix,
                                                      const BlockPartition& partition,
                                                      const BlockJacobiOptions& options) {
  if (matrix.nnz > 0 && matrix.values == nullptr)
    throw InvalidArgument(fmt::format("BlockJacobi: the matrix has {} entries but no values", matrix.nnz));
  auto impl = analyze_pattern(backend, matrix, partition, options);
  if (backend.memory_space() == matrix.space) {
    impl->setup(matrix.values);
    backend.synchronize();
  } else {
    Array<T> values(backend, static_cast<std::size_t>(matrix.nnz));
    values.copy_from_host(matrix.values);
    impl->setup(values.data());
    backend.synchronize();
  }
  return impl;
}

template <Scalar T>
std::vector<BlockDefect> find_defects(const BlockPartition& partition, const std::vector<int>& info,
                                      const std::vector<real_t<T>>& rcond) {
  std::vector<BlockDefect> defects;
  for (index_t b = 0; b < partition.blocks(); ++b) {
    const auto i = static_cast<std::size_t>(b);
    if (info[i] != 0)
      defects.push_back({b, partition.first_row(b), partition.block_size(b), info[i], static_cast<double>(rcond[i])});
  }
  return defects;
}

}  // namespace

template <Scalar T>
template <Offset O>
BlockJacobi<T>::BlockJacobi(const Backend& backend, const CsrView<T, O>& matrix, const BlockPartition& partition,
                            const BlockJacobiOptions& options)
    : impl_(construct(backend, matrix, partition, options)) {
  if (!impl_->failed()) return;
  const BlockJacobiReport found = report();
  const BlockDefect& first = found.defects.front();
  const std::size_t others = found.defects.size() - 1;
  throw SingularBlock(
      first.block, first.first_row, first.size, first.info,
      "BlockJacobi: " + describe(first) + (others > 0 ? fmt::format(" (and {} more blocks)", others) : std::string()));
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
  if (!impl_->is_set_up)
    throw InvalidArgument(
        fmt::format("{}: there are no inverses yet, refresh() comes first after BlockJacobi::analyze()", function));
  return *impl_;
}

template <Scalar T>
BlockJacobi<T>::BlockJacobi(BlockJacobi&&) noexcept = default;
template <Scalar T>
BlockJacobi<T>& BlockJacobi<T>::operator=(BlockJacobi&&) noexcept = default;
template <Scalar T>
BlockJacobi<T>::~BlockJacobi() = default;

template <Scalar T>
void BlockJacobi<T>::refresh(const T* values, offset_t nnz, MemorySpace space) {
  if (nnz != impl_->nnz)
    throw InvalidArgument(fmt::format("BlockJacobi::refresh: {} values, the pattern has {}", nnz, impl_->nnz));
  if (nnz > 0 && values == nullptr) throw InvalidArgument("BlockJacobi::refresh: values is a null pointer");
  if (space != impl_->backend.memory_space())
    throw InvalidArgument(fmt::format("BlockJacobi::refresh: the values lie on the {}, the backend is {}",
                                      to_string(space), impl_->backend.description()));
  impl_->setup(values);
}

template <Scalar T>
void BlockJacobi<T>::apply(VectorView<const T> r, VectorView<T> z, Op op) const {
  if (op != Op::none && op != Op::transpose && op != Op::conjugate_transpose)
    throw InvalidArgument(fmt::format("BlockJacobi::apply: op is {}, no enumerator", static_cast<int>(op)));
  detail::require_vector("BlockJacobi::apply: r", r, rows());
  detail::require_vector("BlockJacobi::apply: z", z, rows());
  detail::require_space("BlockJacobi::apply: r", r, impl_->backend);
  detail::require_space("BlockJacobi::apply: z", z, impl_->backend);
  detail::require_disjoint("BlockJacobi::apply", r, z);
  set_up("BlockJacobi::apply").apply(op, r.data, z.data);
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
index_t BlockJacobi<T>::defects() const {
  return set_up("BlockJacobi::defects").defects.to_host()[0];
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
  for (const BlockGroup& group : impl_->inverse.layout().groups()) report.sizes.emplace_back(group.size, group.count);
  report.bytes = bytes();
  report.captured = nnz() > 0 ? static_cast<double>(impl_->entries) / static_cast<double>(nnz()) : 1.0;
  for (index_t b = 0; b < report.blocks; ++b) {
    const auto i = static_cast<std::size_t>(b);
    report.singular_blocks += info[i] > 0;
    report.non_finite_blocks += info[i] < 0;
    if (info[i] != 0 || (report.min_rcond_block >= 0 && rcond[i] >= report.min_rcond)) continue;
    report.min_rcond = static_cast<double>(rcond[i]);
    report.min_rcond_block = b;
  }
  report.defects = find_defects<T>(partition(), info, rcond);
  return report;
}

template <Scalar T>
BlockBatchView<const T> BlockJacobi<T>::inverse() const noexcept {
  return std::as_const(impl_->inverse).view();
}

template <Scalar T>
std::vector<T> BlockJacobi<T>::inverse_block(index_t block) const {
  return set_up("BlockJacobi::inverse_block").inverse.block(block);
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
  return impl_->inverse.bytes() + impl_->map_slots.bytes() + impl_->map_narrow.bytes() + impl_->map_wide.bytes() +
         impl_->info.bytes() + impl_->rcond.bytes() + impl_->defects.bytes();
}

template <Scalar T>
std::size_t BlockJacobi<T>::storage_bytes(const BlockPartition& partition) {
  return static_cast<std::size_t>(BlockLayout(partition, sizeof(T)).size()) * sizeof(T);
}

template <Scalar T>
template <Offset O>
std::size_t BlockJacobi<T>::required_bytes(const CsrView<T, O>& pattern, const BlockPartition& partition) {
  require_square_of(pattern, partition);
  if (pattern.space != MemorySpace::host)
    throw InvalidArgument("BlockJacobi::required_bytes: the pattern lies on the device, must be on the host");
  validate(pattern);
  const BlockLayout layout(partition, sizeof(T));
  const auto map = detail::measure_position_map(pattern_of(pattern), layout, omp_get_max_threads());
  const auto blocks = static_cast<std::size_t>(layout.blocks());
  const auto words = static_cast<std::size_t>(map.words);
  return static_cast<std::size_t>(layout.size()) * sizeof(T) + blocks * sizeof(BlockSlot) +
         (blocks + 1) * sizeof(detail::MapSlot) + words * (map.narrow ? sizeof(std::uint32_t) : sizeof(std::uint64_t)) +
         blocks * (sizeof(int) + sizeof(real_t<T>)) + sizeof(int);
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
  template BLOCKJACOBI_EXPORT std::size_t BlockJacobi<T>::required_bytes(const CsrView<T, O>&, const BlockPartition&)
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
