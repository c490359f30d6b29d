#include "backend/host_batched_ops_impl.hpp"

namespace blockjacobi::detail {

template class HostBatchedOps<float>;

}  // namespace blockjacobi::detail
