#include "capi/handles.hpp"

#include <algorithm>

using namespace blockjacobi;
using capi::guarded;
using capi::required;

bj_status bj_partition_create_uniform(std::int32_t rows, std::int32_t block_size, bj_partition** partition) {
  return guarded("bj_partition_create_uniform", [&] {
    capi::hand_out(partition, "partition", [&] { return BlockPartition::uniform(rows, block_size); });
  });
}

bj_status bj_partition_create_offsets(const std::int32_t* offsets, std::int32_t blocks, bj_partition** partition) {
  return guarded("bj_partition_create_offsets", [&] {
    required(partition, "partition");
    required(offsets, "offsets");
    if (blocks < 0) throw InvalidArgument(fmt::format("blocks is {}, must be >= 0", blocks));
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
