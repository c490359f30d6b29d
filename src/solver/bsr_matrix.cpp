#include <blockjacobi/bsr_matrix.hpp>

#include "backend/host_pattern.hpp"
#include "core/message.hpp"

#include <blockjacobi/array.hpp>

#include <algorithm>

namespace blockjacobi {

namespace detail {

namespace {

/// Which blocks there are, and where their elements come from; see BsrView and BsrSources.
struct BsrPattern {
  index_t block = 0;
  std::vector<offset_t> row_offsets{0};
  std::vector<index_t> columns;
  std::vector<offset_t> first;
  std::vector<offset_t> next;  ///< empty without duplicates
};

/// The block columns of every block row, ascending.
template <Scalar T, Offset O>
void find_blocks(const CsrView<T, O>& m, BsrPattern& p) {
  const O base = static_cast<O>(m.base);
  const index_t block_rows = m.rows / p.block;
  std::vector<index_t> last_seen(static_cast<std::size_t>(block_rows), -1);
  for (index_t row = 0; row < block_rows; ++row) {
    const std::size_t begin = p.columns.size();
    const O end = m.row_offsets[static_cast<std::size_t>(row + 1) * static_cast<std::size_t>(p.block)] - base;
    for (O k = m.row_offsets[static_cast<std::size_t>(row) * static_cast<std::size_t>(p.block)] - base; k < end; ++k) {
      const index_t column = (m.columns[k] - static_cast<index_t>(base)) / p.block;
      index_t& seen = last_seen[static_cast<std::size_t>(column)];
      if (seen == row) continue;
      seen = row;
      p.columns.push_back(column);
    }
    std::sort(p.columns.begin() + static_cast<std::ptrdiff_t>(begin), p.columns.end());
    p.row_offsets.push_back(static_cast<offset_t>(p.columns.size()));
  }
}

/// The chains of sources, in the order of the entries.
template <Scalar T, Offset O>
void find_sources(const CsrView<T, O>& m, BsrPattern& p) {
  const O base = static_cast<O>(m.base);
  const auto b = static_cast<offset_t>(p.block);
  p.first.assign(p.columns.size() * static_cast<std::size_t>(b * b), -1);
  std::vector<offset_t> place(static_cast<std::size_t>(m.rows / p.block));  // of a block column in the block row
  for (index_t row = 0; row < m.rows / p.block; ++row) {
    for (offset_t k = p.row_offsets[static_cast<std::size_t>(row)];
         k < p.row_offsets[static_cast<std::size_t>(row) + 1]; ++k)
      place[static_cast<std::size_t>(p.columns[static_cast<std::size_t>(k)])] = k;
    for (offset_t i = 0; i < b; ++i) {
      const O* offsets = m.row_offsets + row * b + i;
      // Backwards, so that each entry goes before the later ones of its element.
      for (O k = offsets[1] - base; k-- > offsets[0] - base;) {
        const index_t column = m.columns[k] - static_cast<index_t>(base);
        const offset_t block = place[static_cast<std::size_t>(column / p.block)];
        offset_t& source = p.first[static_cast<std::size_t>((block * b + column % p.block) * b + i)];
        if (source >= 0) {
          if (p.next.empty()) p.next.assign(static_cast<std::size_t>(m.nnz), -1);
          p.next[static_cast<std::size_t>(k)] = source;
        }
        source = k;
      }
    }
  }
}

template <Scalar T, Offset O>
BsrPattern analyze(const Backend& backend, const CsrView<T, O>& matrix, index_t block) {
  require_arrays("BsrMatrix", matrix);
  if (matrix.rows != matrix.cols)
    throw InvalidArgument(
        detail::message("BsrMatrix: the matrix is {} x {}, must be square", matrix.rows, matrix.cols));
  if (block < 1 || block > max_bsr_block)
    throw InvalidArgument(detail::message("BsrMatrix: block is {}, must be in 1..{}", block, max_bsr_block));
  if (matrix.rows % block != 0)
    throw InvalidArgument(detail::message("BsrMatrix: blocks of {} do not divide {} rows", block, matrix.rows));
  if (matrix.nnz > 0 && matrix.values == nullptr)
    throw InvalidArgument(detail::message("BsrMatrix: the matrix has {} entries but no values", matrix.nnz));
  const HostPattern<T, O> host("BsrMatrix", backend, matrix);
  validate(host.view());
  BsrPattern pattern;
  pattern.block = block;
  find_blocks(host.view(), pattern);
  find_sources(host.view(), pattern);
  return pattern;
}

index_t uniform_size(const BlockPartition& partition, index_t rows) {
  if (partition.rows() != rows)
    throw InvalidArgument(
        detail::message("BsrMatrix: the partition has {} rows, the matrix {}", partition.rows(), rows));
  if (partition.blocks() == 0) return 1;
  const index_t size = partition.block_size(0);
  for (index_t b = 1; b < partition.blocks(); ++b)
    if (partition.block_size(b) != size)
      throw InvalidArgument(detail::message("BsrMatrix: block {} of the partition has {} rows, block 0 has {}", b,
                                            partition.block_size(b), size));
  return size;
}

}  // namespace

/// The arrays of a BsrMatrix in backend memory.
template <Scalar T>
class BsrMatrixImpl final : public OperatorImpl<T> {
 public:
  BsrMatrixImpl(const Backend& backend_, index_t rows_, offset_t nnz_, const BsrPattern& pattern)
      : backend(backend_),
        block(pattern.block),
        nnz(nnz_),
        row_offsets(backend_, pattern.row_offsets),
        columns(backend_, pattern.columns),
        first(backend_, pattern.first),
        next(backend_, pattern.next),
        elements(backend_, pattern.first.size()),
        size_(rows_) {}

  index_t rows() const override { return size_; }
  bool capturable() const override { return true; }
  void apply(const T* x, T* y) const override {
    const BsrView<T> view{size_ / block, block, row_offsets.data(), columns.data(), elements.data()};
    krylov_ops<T>(backend).bsr_product(view, x, y);
  }
  void fill(const T* values) {
    const BsrSources sources{static_cast<offset_t>(first.size()), first.data(),
                             next.size() == 0 ? nullptr : next.data()};
    krylov_ops<T>(backend).bsr_fill(sources, values, elements.data());
  }

  Backend backend;
  index_t block;
  offset_t nnz;
  Array<offset_t> row_offsets;
  Array<index_t> columns;
  Array<offset_t> first, next;
  Array<T> elements;

 private:
  index_t size_;
};

namespace {

template <Scalar T, Offset O>
std::shared_ptr<BsrMatrixImpl<T>> make_bsr(const Backend& backend, const CsrView<T, O>& matrix, index_t block) {
  auto impl = std::make_shared<BsrMatrixImpl<T>>(backend, matrix.rows, matrix.nnz, analyze(backend, matrix, block));
  if (matrix.space == backend.memory_space()) {
    impl->fill(matrix.values);
    backend.synchronize();
  } else {
    Array<T> values(backend, static_cast<std::size_t>(matrix.nnz));
    values.copy_from_host(matrix.values);
    impl->fill(values.data());
    backend.synchronize();
  }
  return impl;
}

}  // namespace

}  // namespace detail

template <Scalar T>
template <Offset O>
BsrMatrix<T>::BsrMatrix(const Backend& backend, const CsrView<T, O>& matrix, index_t block)
    : impl_(detail::make_bsr(backend, matrix, block)) {
  static_assert(max_block == detail::max_bsr_block);
}

template <Scalar T>
template <Offset O>
BsrMatrix<T>::BsrMatrix(const Backend& backend, const CsrView<T, O>& matrix, const BlockPartition& partition)
    : BsrMatrix(backend, matrix, detail::uniform_size(partition, matrix.rows)) {}

template <Scalar T>
void BsrMatrix<T>::refresh(const T* values, offset_t nnz, MemorySpace space) {
  if (nnz != impl_->nnz)
    throw InvalidArgument(detail::message("BsrMatrix::refresh: {} values, must be {}", nnz, impl_->nnz));
  if (nnz > 0 && values == nullptr)
    throw InvalidArgument(detail::message("BsrMatrix::refresh: null pointer, {} values", nnz));
  if (space != impl_->backend.memory_space())
    throw InvalidArgument(
        detail::message("BsrMatrix::refresh: the values lie on the {}, the backend ({}) computes on the {}",
                        to_string(space), impl_->backend.description(), to_string(impl_->backend.memory_space())));
  impl_->fill(values);
}

template <Scalar T>
const Backend& BsrMatrix<T>::backend() const noexcept {
  return impl_->backend;
}
template <Scalar T>
index_t BsrMatrix<T>::rows() const noexcept {
  return impl_->rows();
}
template <Scalar T>
index_t BsrMatrix<T>::block() const noexcept {
  return impl_->block;
}
template <Scalar T>
offset_t BsrMatrix<T>::blocks() const noexcept {
  return static_cast<offset_t>(impl_->columns.size());
}
template <Scalar T>
offset_t BsrMatrix<T>::nnz() const noexcept {
  return impl_->nnz;
}
template <Scalar T>
double BsrMatrix<T>::fill() const noexcept {
  const std::size_t stored = impl_->elements.size();
  return stored == 0 ? 1.0 : static_cast<double>(impl_->nnz) / static_cast<double>(stored);
}
template <Scalar T>
std::size_t BsrMatrix<T>::bytes() const noexcept {
  const auto& m = *impl_;
  return m.row_offsets.bytes() + m.columns.bytes() + m.first.bytes() + m.next.bytes() + m.elements.bytes();
}
template <Scalar T>
std::shared_ptr<const detail::OperatorImpl<T>> BsrMatrix<T>::impl() const noexcept {
  return impl_;
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                               \
  template class BsrMatrix<T>;                                                                                   \
  template BLOCKJACOBI_EXPORT BsrMatrix<T>::BsrMatrix(const Backend&, const CsrView<T, std::int32_t>&, index_t); \
  template BLOCKJACOBI_EXPORT BsrMatrix<T>::BsrMatrix(const Backend&, const CsrView<T, std::int64_t>&, index_t); \
  template BLOCKJACOBI_EXPORT BsrMatrix<T>::BsrMatrix(const Backend&, const CsrView<T, std::int32_t>&,           \
                                                      const BlockPartition&);                                    \
  template BLOCKJACOBI_EXPORT BsrMatrix<T>::BsrMatrix(const Backend&, const CsrView<T, std::int64_t>&,           \
                                                      const BlockPartition&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
