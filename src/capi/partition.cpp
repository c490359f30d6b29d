#include "capi/handles.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

using namespace blockjacobi;
using capi::guarded;
using capi::required;

namespace {

bj_partition* renumbered(PermutedPartition found) {
  return new bj_partition{std::move(found.blocks), std::move(found.permutation)};
}

}  // namespace

bj_status bj_partition_create_uniform(std::int32_t rows, std::int32_t block_size, bj_partition** partition) {
  return guarded("bj_partition_create_uniform", [&] {
    capi::hand_out(partition, "partition", [&] { return BlockPartition::uniform(rows, block_size); });
  });
}

bj_status bj_partition_create_offsets(const std::int32_t* offsets, std::int32_t blocks, bj_partition** partition) {
  return guarded("bj_partition_create_offsets", [&] {
    required(partition, "partition");
    required(offsets, "offsets");
    if (blocks < 0) throw InvalidArgument(capi::message("blocks is {}, must be >= 0", blocks));
    *partition = new bj_partition{BlockPartition::from_offsets({offsets, offsets + blocks + 1})};
  });
}

bj_status bj_partition_create_detect(const bj_backend* backend, const bj_csr* matrix, std::int32_t max_size,
                                     bj_partition** partition) {
  return guarded("bj_partition_create_detect", [&] {
    required(partition, "partition");
    const Backend& where = required(backend, "backend")->value;
    *partition = new bj_partition{
        capi::with_csr(matrix, [&](const auto& view) { return BlockPartition::detect(where, view, max_size); })};
  });
}

bj_status bj_partition_create_labels(const std::int32_t* labels, std::int32_t rows, bj_partition** partition) {
  return guarded("bj_partition_create_labels", [&] {
    required(partition, "partition");
    required(labels, "labels");
    if (rows < 0) throw InvalidArgument(capi::message("rows is {}, must be >= 0", rows));
    *partition = renumbered(BlockPartition::from_labels({labels, static_cast<std::size_t>(rows)}));
  });
}

bj_status bj_partition_create_clusters(const bj_csr* matrix, const bj_partition* nodes, std::int32_t max_size,
                                       bj_partition** partition) {
  return guarded("bj_partition_create_clusters", [&] {
    required(partition, "partition");
    if (nodes != nullptr && nodes->permutation) throw InvalidArgument("nodes has a numbering of its own");
    *partition = renumbered(capi::with_csr(matrix, [&](const auto& view) {
      return nodes == nullptr ? BlockPartition::clusters(view, max_size)
                              : BlockPartition::clusters(view, nodes->value, max_size);
    }));
  });
}

bj_status bj_partition_destroy(bj_partition* partition) {
  return guarded("bj_partition_destroy", [&] { delete partition; });
}

bj_status bj_partition_size(const bj_partition* partition, std::int32_t* rows, std::int32_t* blocks) {
  return guarded("bj_partition_size", [&] {
    const BlockPartition& p = required(partition, "partition")->value;
    required(rows, "rows");
    *required(blocks, "blocks") = p.blocks();
    *rows = p.rows();
  });
}

bj_status bj_partition_offsets(const bj_partition* partition, std::int32_t* offsets) {
  return guarded("bj_partition_offsets", [&] {
    std::ranges::copy(required(partition, "partition")->value.offsets(), required(offsets, "offsets"));
  });
}

bj_status bj_partition_order(const bj_partition* partition, std::int32_t* order) {
  return guarded("bj_partition_order", [&] {
    const bj_partition& p = *required(partition, "partition");
    required(order, "order");
    if (p.permutation)
      std::ranges::copy(p.permutation->order(), order);
    else
      std::iota(order, order + p.value.rows(), 0);
  });
}
