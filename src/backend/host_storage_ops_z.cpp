#include "backend/host_storage_ops_impl.hpp"

namespace blockjacobi::detail {

template class HostStorageOps<std::complex<double>>;

}  // namespace blockjacobi::detail
