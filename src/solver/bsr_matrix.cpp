#include <blockjacobi/bsr_matrix.hpp>

#include "backend/host_pattern.hpp"
#include "core/block_pattern.hpp"
#include "core/csr_pattern.hpp"
#include "core/message.hpp"

#include <blockjacobi/array.hpp>

namespace blockjacobi {

namespace detail {

namespace {

template <Scalar T, Offset O>
BlockPattern analyze(const Backend& backend, const CsrView<T, O>& matrix, index_t block) {
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
  const auto pattern = pattern_of(host.view());
  require_valid("BsrMatrix", pattern);
  return block_pattern(pattern, block);
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
  using C = compute_t<T>;

 public:
  BsrMatrixImpl(const Backend& backend_, index_t rows_, offset_t nnz_, const BlockPattern& pattern)
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
  void apply(const C* x, C* y) const override { krylov_ops<T>(backend).bsr_product(view(), x, y); }
  bool residual(const C* b, const C* x, C* r) const override {
    return krylov_ops<T>(backend).bsr_residual(view(), b, x, r);
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
  BsrView<C> view() const {
    return {size_ / block, block, row_offsets.data(), columns.data(), compute_cast(elements.data())};
  }
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
