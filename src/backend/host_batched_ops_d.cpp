#include "backend/host_batched_ops_impl.hpp"

namespace blockjacobi::detail {

template class HostBatchedOps<double>;

}  // namespace blockjacobi::detail
