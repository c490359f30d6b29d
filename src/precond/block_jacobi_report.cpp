#include "core/message.hpp"
#include "precond/block_jacobi_impl.hpp"
#include "suggest/captured.hpp"

#include <blockjacobi/block_jacobi.hpp>

#include <algorithm>

namespace blockjacobi {

namespace {

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
  int k = 0;
  while (detail::format_of<double>(static_cast<Storage>(k)) != format) ++k;
  return static_cast<Storage>(k);
}

template <Scalar T>
void add_storage(const detail::BlockJacobiImpl<T>& impl, BlockJacobiReport& report) {
  report.storage = impl.options.storage;
  for (const auto& [format, blocks] : impl.inverses.formats()) report.formats.emplace_back(storage_of(format), blocks);
  report.inverse_bytes = impl.inverses.element_bytes();
  const auto unsuited = impl.inverses.unsuited();
  report.unsuited_blocks = unsuited.count;
  report.first_unsuited = unsuited.first;
}

/// The weight inside the blocks.
template <Scalar T>
double captured(const SparseMatrix<T>& matrix, const BlockPartition& blocks) {
  const int threads = detail::host_threads(matrix.backend());
  const auto weight = [&](const auto& host) { return detail::captured_weights(host, {&blocks}, threads)[0]; };
  if (matrix.backend().memory_space() != MemorySpace::host) return weight(matrix.to_host().view());
  return std::visit(weight, matrix.view());
}

template <Scalar T>
void add_growth(const std::vector<real_t<T>>& growth, BlockJacobiReport& report) {
  for (index_t b = 0; b < report.blocks; ++b) {
    const auto own = static_cast<double>(growth[static_cast<std::size_t>(b)]);
    if (!(own > report.max_growth.value_or(0.0))) continue;
    report.max_growth = own;
    report.max_growth_block = b;
  }
}

}  // namespace

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
  detail::require_sizes("BlockJacobi::report", matrix, rows());
  if (matrix.nnz != nnz() || (matrix.nnz > 0 && matrix.values == nullptr))
    throw InvalidArgument(detail::message("BlockJacobi::report: {} entries{}, the pattern has {}", matrix.nnz,
                                          matrix.values == nullptr ? " without values" : "", nnz()));
  BlockJacobiReport report = this->report();
  const Backend where = matrix.space == backend().memory_space() ? backend() : Backend::host();
  report.captured = captured(SparseMatrix<T>::adopt(where, matrix), partition());
  add_growth<T>(
      detail::with_values(backend(), matrix, [&](const T* values) { return impl_->pivot_growth(values).to_host(); }),
      report);
  return report;
}

template <Scalar T>
BlockJacobiReport BlockJacobi<T>::report(const SparseMatrix<T>& matrix) {
  std::visit([&](const auto& view) { detail::require_sizes("BlockJacobi::report", view, rows()); }, matrix.view());
  require_values("BlockJacobi::report", matrix.values(), matrix.nnz(), matrix.backend().memory_space());
  BlockJacobiReport report = this->report();
  report.captured = captured(matrix, partition());
  add_growth<T>(impl_->pivot_growth(matrix.values()).to_host(), report);
  return report;
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                       \
  template BLOCKJACOBI_EXPORT BlockJacobiReport BlockJacobi<T>::report() const;                          \
  template BLOCKJACOBI_EXPORT BlockJacobiReport BlockJacobi<T>::report(const SparseMatrix<T>&);          \
  template BLOCKJACOBI_EXPORT BlockJacobiReport BlockJacobi<T>::report(const CsrView<T, std::int32_t>&); \
  template BLOCKJACOBI_EXPORT BlockJacobiReport BlockJacobi<T>::report(const CsrView<T, std::int64_t>&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
