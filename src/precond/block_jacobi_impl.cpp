#include "precond/block_jacobi_impl.hpp"

namespace blockjacobi::detail {

template <Scalar T>
BlockJacobiImpl<T>::BlockJacobiImpl(const BlockPartition& partition_, const BlockJacobiOptions& options_, offset_t nnz_,
                                    const PositionMap& map, BlockBatch<T> inverse_)
    : backend(inverse_.backend()),
      partition(partition_),
      options(options_),
      nnz(nnz_),
      entries(map.entries),
      inverse(std::move(inverse_)),
      map_slots(backend, map.slots),
      map_narrow(backend, map.narrow),
      map_wide(backend, map.wide),
      map_duplicates(map.duplicates),
      info(backend, static_cast<std::size_t>(partition_.blocks())),
      rcond(backend, static_cast<std::size_t>(partition_.blocks())),
      defects(backend, 1) {
  defects.zero();
}

template <Scalar T>
void BlockJacobiImpl<T>::setup(const T* values) {
  const Fallback fallback =
      options.singular == SingularPolicy::scalar_jacobi ? Fallback::scalar_jacobi : Fallback::identity;
  const PositionMapView map{map_slots.data(), map_wide.size() == 0 ? map_narrow.data() : nullptr, map_wide.data(),
                            map_duplicates};
  block_ops<T>(backend).setup(values, map, inverse.view(), fallback, {info.data(), rcond.data(), defects.data()});
  is_set_up = true;
}

template <Scalar T>
void BlockJacobiImpl<T>::apply(Op op, const T* r, T* z) const {
  block_ops<T>(backend).apply(inverse.view(), op, r, z);
}

template <Scalar T>
bool BlockJacobiImpl<T>::failed() const {
  return options.singular == SingularPolicy::fail && defects.to_host()[0] != 0;
}

template class BlockJacobiImpl<float>;
template class BlockJacobiImpl<double>;
template class BlockJacobiImpl<std::complex<float>>;
template class BlockJacobiImpl<std::complex<double>>;

}  // namespace blockjacobi::detail
