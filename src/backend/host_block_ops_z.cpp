#include "backend/host_block_ops_impl.hpp"

namespace blockjacobi::detail {

template class HostBlockOps<std::complex<double>>;

}  // namespace blockjacobi::detail
