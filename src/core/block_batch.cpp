#include "backend/backend_impl.hpp"
#include "core/layout_impl.hpp"
#include "core/message.hpp"

#include <blockjacobi/block_batch.hpp>

#include <algorithm>

namespace blockjacobi {

namespace {

BlockLayout required(BlockLayout layout, std::size_t scalar_bytes) {
  if (layout.scalar_bytes() != scalar_bytes)
    throw InvalidArgument(detail::message("BlockBatch: the layout is one of elements of {} bytes, the elements have {}",
                                          layout.scalar_bytes(), scalar_bytes));
  return layout;
}

}  // namespace

template <Scalar T>
BlockBatch<T>::BlockBatch(Backend backend, const BlockPartition& partition)
    : BlockBatch(std::move(backend), BlockLayout(partition, sizeof(T))) {}

template <Scalar T>
BlockBatch<T>::BlockBatch(Backend backend, BlockLayout layout)
    : layout_(required(std::move(layout), sizeof(T))),
      values_(backend, static_cast<std::size_t>(layout_.size())),
      slots_(detail::slots_in(backend, layout_)) {}

template <Scalar T>
BlockBatchView<T> BlockBatch<T>::view() noexcept {
  return {values_.data(),   slots_.data(),  layout_.groups(),
          layout_.blocks(), layout_.rows(), values_.backend().memory_space()};
}

template <Scalar T>
BlockBatchView<const T> BlockBatch<T>::view() const noexcept {
  return {values_.data(),   slots_.data(),  layout_.groups(),
          layout_.blocks(), layout_.rows(), values_.backend().memory_space()};
}

template <Scalar T>
std::vector<T> BlockBatch<T>::block(index_t block) const {
  if (block < 0 || block >= layout_.blocks())
    throw InvalidArgument(detail::message("BlockBatch::block: block is {}, there are {}", block, layout_.blocks()));
  const auto slot = std::ranges::find(layout_.slots(), block, &BlockSlot::block);
  std::vector<T> host(static_cast<std::size_t>(slot->size) * static_cast<std::size_t>(slot->size));
  values_.backend().impl().copy_to_host(host.data(), values_.data() + slot->start, host.size() * sizeof(T));
  return host;
}

template class BlockBatch<float>;
template class BlockBatch<double>;
template class BlockBatch<std::complex<float>>;
template class BlockBatch<std::complex<double>>;

}  // namespace blockjacobi
