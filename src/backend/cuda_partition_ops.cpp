#include "backend/cuda_partition_ops.hpp"

#include "backend/cuda_check.hpp"
#include "partition/supervariables.hpp"

namespace blockjacobi::detail {

namespace {

template <class V>
std::vector<V> download(CudaContext& context, const V* source, std::size_t count) {
  std::vector<V> host(count);
  if (count == 0) return host;
  const DeviceGuard guard(context.device());
  check(cudaMemcpyAsync(host.data(), source, count * sizeof(V), cudaMemcpyDeviceToHost, context.stream()),
        "cudaMemcpyAsync");
  context.synchronize();
  return host;
}

template <Offset O>
std::vector<index_t> partition_on_host(CudaContext& context, const CsrView<const void, O>& pattern, index_t max_size,
                                       double tolerance) {
  const auto offsets = download(context, pattern.row_offsets, static_cast<std::size_t>(pattern.rows) + 1);
  const auto columns = download(context, pattern.columns, static_cast<std::size_t>(pattern.nnz));
  CsrView<const void, O> host = pattern;
  host.row_offsets = offsets.data();
  host.columns = columns.data();
  host.space = MemorySpace::host;
  return detail::supervariables(host, max_size, tolerance);
}

}  // namespace

std::vector<index_t> CudaPartitionOps::supervariables(const CsrView<const void, std::int32_t>& pattern,
                                                      index_t max_size, double tolerance) {
  return partition_on_host(context_, pattern, max_size, tolerance);
}

std::vector<index_t> CudaPartitionOps::supervariables(const CsrView<const void, std::int64_t>& pattern,
                                                      index_t max_size, double tolerance) {
  return partition_on_host(context_, pattern, max_size, tolerance);
}

}  // namespace blockjacobi::detail
