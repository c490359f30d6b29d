#include "precond/inverse_storage.hpp"

#include <algorithm>

namespace blockjacobi::detail {

namespace {

template <Scalar T>
std::optional<StoredBlocks<T>> make_stored(const Backend& backend, const BlockLayout& layout,
                                           std::optional<Format> format, double accuracy) {
  if (format == Format::full) return std::nullopt;
  if (format) return StoredBlocks<T>(backend, layout, *format);
  return StoredBlocks<T>(backend, layout, accuracy);
}

}  // namespace

template <Scalar T>
InverseStorage<T>::InverseStorage(const Backend& backend, const BlockLayout& layout, std::optional<Format> format,
                                  double accuracy)
    : backend_(backend),
      full_(backend, format == Format::full ? layout : BlockLayout({}, sizeof(T))),
      stored_(make_stored<T>(backend, layout, format, accuracy)),
      prepared_(stored_ ? nullptr : storage_ops<T>(backend).prepare_apply(backend, layout)) {}

template <Scalar T>
void InverseStorage<T>::apply(Op op, const C* r, C* z) const {
  if (!stored_ && !prepared_) return block_ops<T>(backend_).apply(compute_view(full_.view()), op, r, z);
  apply(op, from_real<C>(real_t<T>(1)), {r}, C{}, {z});
}

template <Scalar T>
void InverseStorage<T>::apply(Op op, C alpha, const ColumnsView<const C>& r, C beta, const ColumnsView<C>& z) const {
  StorageOps<T>& ops = storage_ops<T>(backend_);
  if (stored_) return ops.apply(stored_->view(), op, alpha, r, beta, z);
  const BlockBatchView<const C> inverse = compute_view(full_.view());
  if (prepared_ && prepared_->apply(inverse, op, alpha, r, beta, z)) return;
  ops.apply(inverse, op, alpha, r, beta, z);
}

template <Scalar T>
InverseView<T> InverseStorage<T>::view() const {
  if (!stored_) return {compute_view(full_.view()), std::nullopt};
  return {stored_->full(), stored_->view()};
}

template <Scalar T>
std::optional<BlockBatchView<const T>> InverseStorage<T>::full() const {
  if (stored_) return std::nullopt;
  return full_.view();
}

template <Scalar T>
std::vector<T> InverseStorage<T>::block(index_t block) const {
  if (!stored_) return full_.block(block);
  const auto slots = layout().slots();
  return stored_->block(std::ranges::find(slots, block, &BlockSlot::block) - slots.begin());
}

template <Scalar T>
std::vector<std::pair<Format, index_t>> InverseStorage<T>::formats() const {
  std::vector<std::pair<Format, index_t>> found;
  if (!stored_ && layout().blocks() > 0) found.emplace_back(Format::full, layout().blocks());
  if (!stored_) return found;
  for (const StoredGroup& group : stored_->groups()) {
    if (found.empty() || found.back().first != group.format) found.emplace_back(group.format, 0);
    found.back().second += group.count;
  }
  return found;
}

template <Scalar T>
typename StoredBlocks<T>::Unsuited InverseStorage<T>::unsuited() const {
  return stored_ ? stored_->unsuited() : typename StoredBlocks<T>::Unsuited{};
}

template <Scalar T>
std::size_t InverseStorage<T>::element_bytes() const {
  return stored_ ? stored_->inverse_bytes() : static_cast<std::size_t>(layout().size()) * sizeof(T);
}

template <Scalar T>
std::size_t InverseStorage<T>::bytes() const {
  return full_.bytes() + (stored_ ? stored_->bytes() : 0) + (prepared_ ? prepared_->bytes() : 0);
}

template <Scalar T>
std::size_t InverseStorage<T>::required_bytes(const Backend& backend, const BlockLayout& layout,
                                              std::optional<Format> format) {
  if (format != Format::full) return StoredBlocks<T>::bytes_bound(backend, layout, format);
  return static_cast<std::size_t>(layout.size()) * sizeof(T) +
         static_cast<std::size_t>(layout.blocks()) * sizeof(BlockSlot) + storage_ops<T>(backend).prepared_bytes(layout);
}

template class InverseStorage<float>;
template class InverseStorage<double>;
template class InverseStorage<std::complex<float>>;
template class InverseStorage<std::complex<double>>;

}  // namespace blockjacobi::detail
