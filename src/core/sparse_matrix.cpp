#include <blockjacobi/sparse_matrix.hpp>

#include "backend/backend_impl.hpp"
#include "backend/host_pattern.hpp"
#include "backend/require.hpp"
#include "core/block_pattern.hpp"
#include "core/csr_pattern.hpp"
#include "core/message.hpp"
#include "core/sparse_matrix_impl.hpp"
#include "core/symmetry.hpp"

#include <blockjacobi/permuted_matrix.hpp>
#include <blockjacobi/renumbering.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

namespace blockjacobi {

namespace detail {

namespace {

/// A copy in the backend's memory of an array there or on the host.
template <class E>
Array<E> copy_of(const Backend& backend, const E* source, offset_t count, MemorySpace space) {
  Array<E> copy(backend, static_cast<std::size_t>(count));
  if (space == MemorySpace::host)
    copy.copy_from_host(source);
  else if (count > 0)
    backend.impl().copy(copy.data(), source, copy.bytes());
  return copy;
}

/// Whether offsets of 32 bits reach so many entries.
bool are_narrow(offset_t nnz, IndexBase base) {
  return nnz + static_cast<offset_t>(base) <= std::numeric_limits<std::int32_t>::max();
}

template <class O>
std::vector<O> offsets_on_host(const Backend& backend, const O* offsets, index_t rows, MemorySpace space) {
  std::vector<O> copy(static_cast<std::size_t>(rows) + 1);
  if (space == MemorySpace::host)
    std::copy_n(offsets, copy.size(), copy.begin());
  else
    backend.impl().copy_to_host(copy.data(), offsets, copy.size() * sizeof(O));
  return copy;
}

}  // namespace

template <Scalar T>
SparseMatrixImpl<T>::SparseMatrixImpl(const Backend& backend_, const SparseMatrixOptions& options)
    : backend(backend_), stated(options) {}

template <Scalar T>
template <class Owner>
auto* SparseMatrixImpl<T>::keep(Owner array) {
  auto owner = std::make_shared<Owner>(std::move(array));
  auto* const data = owner->data();
  bytes += owner->size() * sizeof(*data);
  arrays_.push_back(std::move(owner));
  return data;
}

template <Scalar T>
template <Offset O>
void SparseMatrixImpl<T>::refer_to(const CsrView<T, O>& matrix, std::shared_ptr<const void> owner) {
  view = matrix;
  given_nnz = matrix.nnz;
  is_adopted = true;
  if (owner) arrays_.push_back(std::move(owner));
}

template <Scalar T>
template <Offset O>
void SparseMatrixImpl<T>::set_view(const CsrView<T, O>& matrix, const O* offsets, const index_t* columns) {
  const std::span<const O> all(offsets, static_cast<std::size_t>(matrix.rows) + 1);
  const auto with = [&](auto wide_enough) {
    using Own = decltype(wide_enough);
    const Own* const own = keep(Array<Own>(backend, std::vector<Own>(all.begin(), all.end())));
    view = CsrView<T, Own>{matrix.rows, matrix.cols, matrix.nnz,  own,
                           columns,     own_values_, matrix.base, backend.memory_space()};
  };
  if (are_narrow(matrix.nnz, matrix.base))
    with(std::int32_t{});
  else
    with(std::int64_t{});
}

template <Scalar T>
template <Offset O>
void SparseMatrixImpl<T>::copy(const CsrView<T, O>& matrix) {
  given_nnz = matrix.nnz;
  const index_t* const columns = keep(copy_of(backend, matrix.columns, matrix.nnz, matrix.space));
  own_values_ = keep(copy_of(backend, matrix.values, matrix.nnz, matrix.space));
  if (matrix.space != MemorySpace::host && are_narrow(matrix.nnz, matrix.base) == std::is_same_v<O, std::int32_t>) {
    const O* const offsets = keep(copy_of(backend, matrix.row_offsets, offset_t{matrix.rows} + 1, matrix.space));
    view = CsrView<T, O>{matrix.rows, matrix.cols, matrix.nnz,  offsets,
                         columns,     own_values_, matrix.base, backend.memory_space()};
    return backend.synchronize();  // the given arrays may go
  }
  set_view(matrix, offsets_on_host(backend, matrix.row_offsets, matrix.rows, matrix.space).data(), columns);
}

template <Scalar T>
template <Offset O>
void SparseMatrixImpl<T>::copy_sorted(const CsrView<T, O>& matrix) {
  given_nnz = matrix.nnz;
  const HostPattern<T, O> host("SparseMatrix", backend, matrix);
  const BlockPattern pattern = block_pattern(pattern_of(host.view()), 1);
  const index_t* const columns = keep(Array<index_t>(backend, pattern.columns));
  own_values_ = keep(Array<T>(backend, pattern.columns.size()));
  sources_.emplace(Sources{Array<offset_t>(backend, pattern.first), Array<offset_t>(backend, pattern.next)});
  bytes += sources_->first.bytes() + sources_->next.bytes();
  const CsrView<T, offset_t> sorted{matrix.rows, matrix.cols, static_cast<offset_t>(pattern.columns.size()),
                                    nullptr,     nullptr,     nullptr};
  set_view(sorted, pattern.row_offsets.data(), columns);
  update_values(matrix.values, matrix.nnz, matrix.space);
  backend.synchronize();
}

template <Scalar T>
void SparseMatrixImpl<T>::take_over(CsrMatrix<T>&& matrix) {
  CsrMatrix<T> taken = std::move(matrix);
  const auto given = taken.view();
  given_nnz = given.nnz;
  const index_t* const columns = keep(std::move(taken.columns_));
  own_values_ = keep(std::move(taken.values_));
  set_view(given, given.row_offsets, columns);
}

template <Scalar T>
void SparseMatrixImpl<T>::renumber(const SparseMatrixImpl& given, const Permutation& permutation) {
  std::visit(
      [&](const auto& m) {
        given_nnz = m.nnz;
        auto found = backend.impl().partition_ops().renumber(backend, pattern_of(m), permutation);
        own_values_ = keep(Array<T>(backend, static_cast<std::size_t>(m.nnz)));
        if (found) {
          const std::int32_t* const offsets = keep(std::move(found->offsets));
          const index_t* const columns = keep(std::move(found->columns));
          sources_.emplace(Sources{std::move(found->source), Array<offset_t>(backend, 0)});
          view = CsrView<T, std::int32_t>{m.rows,  m.cols,      m.nnz,           offsets,
                                          columns, own_values_, IndexBase::zero, backend.memory_space()};
        } else {
          const CsrMatrix<T> copy = given.to_host();
          const PermutedMatrix<T> permuted(copy, permutation);
          const auto p = permuted.view();
          const index_t* const columns = keep(copy_of(backend, p.columns, p.nnz, MemorySpace::host));
          const auto map = permuted.value_map();
          sources_.emplace(Sources{Array<offset_t>(backend, std::vector<offset_t>(map.begin(), map.end())),
                                   Array<offset_t>(backend, 0)});
          set_view(p, p.row_offsets, columns);
        }
        bytes += sources_->first.bytes();
        if (m.nnz > 0) fill(m.values);
      },
      given.view);
}

template <Scalar T>
void SparseMatrixImpl<T>::fill(const T* given) {
  const BsrSources sources{static_cast<offset_t>(sources_->first.size()), sources_->first.data(),
                           sources_->next.size() == 0 ? nullptr : sources_->next.data()};
  krylov_ops<T>(backend).bsr_fill(sources, given, own_values_);
}

template <Scalar T>
void SparseMatrixImpl<T>::update_values(const T* values, offset_t count, MemorySpace space) {
  symmetry_.reset();
  if (is_adopted || count == 0) return;
  const std::size_t size = static_cast<std::size_t>(count) * sizeof(T);
  if (!sources_ && space == MemorySpace::host) return backend.impl().copy_from_host(own_values_, values, size);
  if (!sources_) return backend.impl().copy(own_values_, values, size);
  if (space == backend.memory_space()) return fill(values);
  const Array<T> given = copy_of(backend, values, count, space);
  fill(given.data());
  backend.synchronize();
}

template <Scalar T>
CsrMatrix<T> SparseMatrixImpl<T>::to_host() const {
  return std::visit(
      [this]<Offset O>(const CsrView<T, O>& m) {
        const auto base = static_cast<index_t>(m.base);
        const auto nnz = static_cast<std::size_t>(m.nnz);
        CsrMatrix<T> copy;
        copy.rows_ = m.rows;
        copy.cols_ = m.cols;
        std::vector<offset_t> offsets(static_cast<std::size_t>(m.rows) + 1);
        std::ranges::transform(offsets_on_host(backend, m.row_offsets, m.rows, m.space), offsets.begin(),
                               [base](O offset) { return static_cast<offset_t>(offset) - base; });
        copy.row_offsets_ = std::move(offsets);
        copy.columns_.resize(nnz);
        copy.values_.resize(nnz);
        if (nnz > 0) {
          backend.impl().copy_to_host(copy.columns_.data(), m.columns, nnz * sizeof(index_t));
          backend.impl().copy_to_host(copy.values_.data(), m.values, nnz * sizeof(T));
        }
        for (index_t& column : copy.columns_) column -= base;
        return copy;
      },
      view);
}

template <Scalar T>
const OperatorImpl<T>& SparseMatrixImpl<T>::product() {
  const std::lock_guard lock(mutex_);
  if (!product_) product_ = std::visit([&](const auto& m) { return krylov_ops<T>(backend).make_csr(m); }, view);
  return *product_;
}

template <Scalar T>
std::uint64_t SparseMatrixImpl<T>::fingerprint() {
  const std::lock_guard lock(mutex_);
  if (!fingerprint_)
    fingerprint_ =
        std::visit([&](const auto& m) { return backend.impl().partition_ops().fingerprint(pattern_of(m)); }, view);
  return *fingerprint_;
}

template <Scalar T>
Symmetry SparseMatrixImpl<T>::symmetry() {
  if (stated.symmetry) return *stated.symmetry;
  const std::lock_guard lock(mutex_);
  if (!symmetry_) symmetry_ = symmetry_within(stated.symmetry_tolerance);
  return *symmetry_;
}

template <Scalar T>
Symmetry SparseMatrixImpl<T>::symmetry_within(double tolerance) const {
  return std::visit(
      [&](const auto& m) {
        if (m.rows != m.cols) return Symmetry::none;
        if (const auto found = backend.impl().partition_ops().symmetry(untyped(m), scalar_type<T>, tolerance))
          return *found;
        return m.space == MemorySpace::host ? find_symmetry(m, tolerance) : find_symmetry(to_host().view(), tolerance);
      },
      view);
}

namespace {

template <Scalar T>
SparseMatrixOptions checked(index_t rows, index_t cols, SparseMatrixOptions options) {
  if (options.symmetry) {
    require_enumerator("SparseMatrix", "symmetry", *options.symmetry, Symmetry::hermitian);
    if (*options.symmetry != Symmetry::none && rows != cols)
      throw InvalidArgument(message("SparseMatrix: the matrix is {} x {}, cannot be {} as stated", rows, cols,
                                    *options.symmetry == Symmetry::symmetric ? "symmetric" : "Hermitian"));
    if (!is_complex<T> && options.symmetry == Symmetry::hermitian) options.symmetry = Symmetry::symmetric;
  }
  if (options.block_size) {
    const index_t size = *options.block_size;
    if (size < 1 || size > max_block_size)
      throw InvalidArgument(message("SparseMatrix: block size is {}, must be in 1..{}", size, max_block_size));
    if (rows % size != 0 || cols % size != 0)
      throw InvalidArgument(message("SparseMatrix: blocks of {} do not divide a matrix of {} x {}", size, rows, cols));
  }
  if (!(options.symmetry_tolerance >= 0.0))
    throw InvalidArgument(message("SparseMatrix: symmetry_tolerance is {}, must be >= 0", options.symmetry_tolerance));
  return options;
}

template <Scalar T>
std::shared_ptr<SparseMatrixImpl<T>> make(const Backend& backend, index_t rows, index_t cols,
                                          const SparseMatrixOptions& options) {
  return std::make_shared<SparseMatrixImpl<T>>(backend, checked<T>(rows, cols, options));
}

template <Scalar T, Offset O>
void require_view(const Backend& backend, const CsrView<T, O>& m) {
  require_arrays("SparseMatrix", m);
  if (m.nnz > 0 && m.values == nullptr)
    throw InvalidArgument(message("SparseMatrix: the matrix has {} entries but no values", m.nnz));
  if (m.space != MemorySpace::host && m.space != backend.memory_space())
    throw InvalidArgument(message("SparseMatrix: the matrix lies on the {}, the backend is {}", to_string(m.space),
                                  backend.description()));
}

/// Whether it is canonical; throws for a matrix that is not valid.
template <Scalar T, Offset O>
bool inspect(SparseMatrixImpl<T>& impl, const CsrView<T, O>& m) {
  if (m.space != MemorySpace::host) {
    const PatternCheck found = impl.backend.impl().partition_ops().inspect(pattern_of(m));
    if (found.is_valid && found.is_sorted) impl.set_fingerprint(found.fingerprint);
    if (found.is_valid) return found.is_sorted;
  }
  // why: the host has the words for what is wrong on a device
  const HostPattern<T, O> host("SparseMatrix", impl.backend, m);
  require_valid("SparseMatrix", pattern_of(host.view()));
  return is_canonical(host.view());
}

template <Scalar T, Offset O>
std::shared_ptr<SparseMatrixImpl<T>> make(const Backend& backend, const CsrView<T, O>& m,
                                          const SparseMatrixOptions& options, bool in_place,
                                          std::shared_ptr<const void> owner) {
  require_view(backend, m);
  auto impl = make<T>(backend, m.rows, m.cols, options);
  if (!inspect(*impl, m)) {
    impl->copy_sorted(m);
  } else if (in_place && m.space == backend.memory_space()) {
    impl->refer_to(m, std::move(owner));
  } else {
    impl->copy(m);
    backend.synchronize();
  }
  return impl;
}

}  // namespace

}  // namespace detail

template <Scalar T>
SparseMatrix<T>::SparseMatrix(const Backend& backend, const CsrMatrix<T>& matrix, const SparseMatrixOptions& options)
    : impl_(detail::make<T>(backend, matrix.rows(), matrix.cols(), options)) {
  impl_->copy(matrix.view());
}

template <Scalar T>
SparseMatrix<T>::SparseMatrix(const Backend& backend, CsrMatrix<T>&& matrix, const SparseMatrixOptions& options)
    : impl_(detail::make<T>(backend, matrix.rows(), matrix.cols(), options)) {
  if (backend.memory_space() == MemorySpace::host)
    impl_->take_over(std::move(matrix));
  else
    impl_->copy(matrix.view());
}

template <Scalar T>
template <Offset O>
SparseMatrix<T>::SparseMatrix(const Backend& backend, const CsrView<T, O>& matrix, const SparseMatrixOptions& options)
    : impl_(detail::make(backend, matrix, options, false, nullptr)) {}

template <Scalar T>
template <Offset O>
SparseMatrix<T> SparseMatrix<T>::adopt(const Backend& backend, const CsrView<T, O>& matrix,
                                       const SparseMatrixOptions& options, std::shared_ptr<const void> owner) {
  return SparseMatrix(detail::make(backend, matrix, options, true, std::move(owner)));
}

template <Scalar T>
SparseMatrix<T> SparseMatrix<T>::adopt(const Backend& backend, const CsrMatrix<T>& matrix,
                                       const SparseMatrixOptions& options) {
  if (backend.memory_space() != MemorySpace::host) return SparseMatrix(backend, matrix, options);
  auto impl = detail::make<T>(backend, matrix.rows(), matrix.cols(), options);
  impl->refer_to(matrix.view(), nullptr);
  return SparseMatrix(std::move(impl));
}

template <Scalar T>
void SparseMatrix<T>::update_values(const T* values, offset_t count, MemorySpace space) {
  if (count != given_nnz())
    throw InvalidArgument(detail::message("SparseMatrix::update_values: {} values, must be {}", count, given_nnz()));
  if (count > 0 && values == nullptr)
    throw InvalidArgument(detail::message("SparseMatrix::update_values: null pointer, {} values", count));
  if (space != MemorySpace::host && space != backend().memory_space())
    throw InvalidArgument(detail::message("SparseMatrix::update_values: the values lie on the {}, the backend is {}",
                                          to_string(space), backend().description()));
  if (is_adopted() && values != this->values())
    throw InvalidArgument(
        "SparseMatrix::update_values: the arrays are adopted; write the values there, and pass that array");
  impl_->update_values(values, count, space);
}

template <Scalar T>
const Backend& SparseMatrix<T>::backend() const noexcept {
  return impl_->backend;
}
template <Scalar T>
index_t SparseMatrix<T>::rows() const noexcept {
  return std::visit([](const auto& m) { return m.rows; }, impl_->view);
}
template <Scalar T>
index_t SparseMatrix<T>::cols() const noexcept {
  return std::visit([](const auto& m) { return m.cols; }, impl_->view);
}
template <Scalar T>
offset_t SparseMatrix<T>::nnz() const noexcept {
  return std::visit([](const auto& m) { return m.nnz; }, impl_->view);
}
template <Scalar T>
offset_t SparseMatrix<T>::given_nnz() const noexcept {
  return impl_->given_nnz;
}
template <Scalar T>
std::optional<index_t> SparseMatrix<T>::block_size() const noexcept {
  return impl_->stated.block_size;
}
template <Scalar T>
bool SparseMatrix<T>::is_adopted() const noexcept {
  return impl_->is_adopted;
}
template <Scalar T>
std::size_t SparseMatrix<T>::bytes() const noexcept {
  return impl_->bytes;
}
template <Scalar T>
Symmetry SparseMatrix<T>::symmetry() const {
  return impl_->symmetry();
}
template <Scalar T>
const AnyCsrView<T>& SparseMatrix<T>::view() const noexcept {
  return impl_->view;
}
template <Scalar T>
const T* SparseMatrix<T>::values() const noexcept {
  return std::visit([](const auto& m) { return m.values; }, impl_->view);
}
template <Scalar T>
CsrMatrix<T> SparseMatrix<T>::to_host() const {
  return impl_->to_host();
}

template <Scalar T>
SparseMatrix<T> SparseMatrix<T>::renumbered(const Permutation& permutation) const {
  if (rows() != cols())
    throw InvalidArgument(
        detail::message("SparseMatrix::renumbered: the matrix is {} x {}, must be square", rows(), cols()));
  if (rows() != permutation.size())
    throw InvalidArgument(detail::message("SparseMatrix::renumbered: the matrix has {} rows, the permutation {}",
                                          rows(), permutation.size()));
  SparseMatrixOptions stated = impl_->stated;
  if (stated.block_size && *stated.block_size > 1 && !keeps_nodes(permutation, *stated.block_size))
    stated.block_size.reset();
  auto impl = detail::make<T>(backend(), rows(), cols(), stated);
  impl->renumber(*impl_, permutation);
  return SparseMatrix(std::move(impl));
}

#define BLOCKJACOBI_INSTANTIATE_FOR(T, O)                                                         \
  template void detail::SparseMatrixImpl<T>::copy(const CsrView<T, O>&);                          \
  template BLOCKJACOBI_EXPORT SparseMatrix<T>::SparseMatrix(const Backend&, const CsrView<T, O>&, \
                                                            const SparseMatrixOptions&);          \
  template BLOCKJACOBI_EXPORT SparseMatrix<T> SparseMatrix<T>::adopt(                             \
      const Backend&, const CsrView<T, O>&, const SparseMatrixOptions&, std::shared_ptr<const void>)
#define BLOCKJACOBI_INSTANTIATE(T)              \
  template class detail::SparseMatrixImpl<T>;   \
  template class SparseMatrix<T>;               \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int32_t); \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int64_t)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE
#undef BLOCKJACOBI_INSTANTIATE_FOR

}  // namespace blockjacobi
