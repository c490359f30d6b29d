#include "backend/host_storage_ops_impl.hpp"

namespace blockjacobi::detail {

template class HostStorageOps<float>;

}  // namespace blockjacobi::detail
