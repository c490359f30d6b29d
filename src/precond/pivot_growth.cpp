#include "precond/pivot_growth.hpp"

#include "backend/storage_ops.hpp"
#include "precond/stored_blocks.hpp"

#include <algorithm>

namespace blockjacobi::detail {

template <Scalar T>
Array<real_t<T>> pivot_growth(const Backend& backend, const BlockLayout& layout, const PositionMapView& map,
                              const compute_t<T>* values) {
  const auto size = [](offset_t n) { return static_cast<std::size_t>(n); };
  const SetupChunks chunks = make_setup_chunks(layout, sizeof(T), storage_ops<T>(backend).chunk_bytes());
  offset_t most_rows = 0, most_blocks = 0;
  for (const auto& groups : chunks.groups)
    for (const BlockGroup& group : groups) {
      most_rows = std::max(most_rows, offset_t{group.count} * group.size);
      most_blocks = std::max<offset_t>(most_blocks, group.count);
    }
  const Array<BlockSlot> slots(backend, chunks.slots);
  const Array<T> work(backend, size(chunks.size));
  const Array<index_t> pivots(backend, size(most_rows));
  const Array<int> info(backend, size(most_blocks));
  Array<real_t<T>> growth(backend, size(layout.blocks()));
  for (const auto& groups : chunks.groups) {
    const BlockBatchView<compute_t<T>> batch{compute_cast(work.data()), slots.data(),  groups,
                                             layout.blocks(),           layout.rows(), backend.memory_space()};
    block_ops<T>(backend).pivot_growth(values, map, batch, pivots.data(), info.data(), growth.data());
  }
  return growth;
}

template Array<float> pivot_growth<float>(const Backend&, const BlockLayout&, const PositionMapView&, const float*);
template Array<double> pivot_growth<double>(const Backend&, const BlockLayout&, const PositionMapView&, const double*);
template Array<float> pivot_growth<std::complex<float>>(const Backend&, const BlockLayout&, const PositionMapView&,
                                                        const Complex<float>*);
template Array<double> pivot_growth<std::complex<double>>(const Backend&, const BlockLayout&, const PositionMapView&,
                                                          const Complex<double>*);

}  // namespace blockjacobi::detail
