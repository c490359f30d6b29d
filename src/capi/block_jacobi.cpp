#include "capi/handles.hpp"

#include <fmt/format.h>

#include <algorithm>

using namespace blockjacobi;
using capi::guarded;
using capi::required;

bj_status bj_block_jacobi_bytes(const bj_csr* pattern, const bj_partition* partition, std::size_t* bytes) {
  return guarded("bj_block_jacobi_bytes", [&] {
    required(bytes, "bytes");
    const BlockPartition& blocks = required(partition, "partition")->value;
    *bytes = capi::with_csr(pattern, [&]<class T, class O>(const CsrView<T, O>& view) {
      return BlockJacobi<T>::required_bytes(view, blocks);
    });
  });
}

bj_status bj_block_jacobi_create(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition,
                                 bj_singular singular, bj_block_jacobi** M) {
  return guarded("bj_block_jacobi_create", [&] {
    required(M, "M");
    const Backend& where = required(backend, "backend")->value;
    const BlockPartition& blocks = required(partition, "partition")->value;
    BlockJacobiOptions options;
    options.singular = capi::enumerator<SingularPolicy>(singular, 5, "singular");
    *M = capi::with_csr(matrix, [&]<class T, class O>(const CsrView<T, O>& view) {
      return new bj_block_jacobi{view.values == nullptr ? BlockJacobi<T>::analyze(where, view, blocks, options)
                                                        : BlockJacobi<T>(where, view, blocks, options)};
    });
  });
}

bj_status bj_block_jacobi_options_init(bj_block_jacobi_options* options) {
  return guarded("bj_block_jacobi_options_init", [&] {
    const BlockJacobiOptions defaults;
    *required(options, "options") = {defaults.accuracy, static_cast<bj_singular>(defaults.singular),
                                     static_cast<bj_storage>(defaults.storage), defaults.l1 ? 1 : 0, 0};
  });
}

bj_status bj_block_jacobi_create_with(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition,
                                      const bj_block_jacobi_options* wanted, bj_block_jacobi** M) {
  return guarded("bj_block_jacobi_create_with", [&] {
    required(M, "M");
    required(wanted, "options");
    const Backend& where = required(backend, "backend")->value;
    const BlockPartition& blocks = required(partition, "partition")->value;
    BlockJacobiOptions options;
    options.singular = capi::enumerator<SingularPolicy>(wanted->singular, 5, "singular");
    options.storage = capi::enumerator<Storage>(wanted->storage, 6, "storage");
    options.accuracy = wanted->accuracy;
    if (wanted->l1 != 0 && wanted->l1 != 1) throw InvalidArgument(fmt::format("l1 is {}, must be 0 or 1", wanted->l1));
    options.l1 = wanted->l1 == 1;
    *M = capi::with_csr(matrix, [&]<class T, class O>(const CsrView<T, O>& view) {
      return new bj_block_jacobi{view.values == nullptr ? BlockJacobi<T>::analyze(where, view, blocks, options)
                                                        : BlockJacobi<T>(where, view, blocks, options)};
    });
  });
}

bj_status bj_block_jacobi_destroy(bj_block_jacobi* M) {
  return guarded("bj_block_jacobi_destroy", [&] { delete M; });
}

bj_status bj_block_jacobi_refresh(bj_block_jacobi* M, const void* values, std::int64_t nnz, bj_space space) {
  return guarded("bj_block_jacobi_refresh", [&] {
    const MemorySpace where = capi::space_of(space);
    std::visit([&]<class T>(BlockJacobi<T>& m) { m.refresh(static_cast<const T*>(values), nnz, where); },
               required(M, "M")->value);
  });
}

bj_status bj_block_jacobi_apply(const bj_block_jacobi* M, bj_op op, const void* r, void* z, std::int32_t size,
                                bj_space space) {
  return guarded("bj_block_jacobi_apply", [&] {
    const MemorySpace where = capi::space_of(space);
    const Op operation = capi::enumerator<Op>(op, 3, "op");
    std::visit(
        [&]<class T>(const BlockJacobi<T>& m) {
          m.apply({static_cast<const T*>(r), size, where}, {static_cast<T*>(z), size, where}, operation);
        },
        required(M, "M")->value);
  });
}

bj_status bj_block_jacobi_apply_columns(const bj_block_jacobi* M, bj_op op, const void* alpha, const void* r,
                                        std::int64_t ldr, const void* beta, void* z, std::int64_t ldz,
                                        std::int32_t rows, std::int32_t columns, std::int32_t row_major,
                                        bj_space space) {
  return guarded("bj_block_jacobi_apply_columns", [&] {
    const MemorySpace where = capi::space_of(space);
    const Op operation = capi::enumerator<Op>(op, 3, "op");
    const Layout layout = capi::enumerator<Layout>(row_major, 2, "row_major");
    required(alpha, "alpha");
    required(beta, "beta");
    std::visit(
        [&]<class T>(const BlockJacobi<T>& m) {
          const MultiVectorView<const T> R{static_cast<const T*>(r), rows, columns, ldr, layout, where};
          const MultiVectorView<T> Z{static_cast<T*>(z), rows, columns, ldz, layout, where};
          m.apply(*static_cast<const T*>(alpha), R, *static_cast<const T*>(beta), Z, operation);
        },
        required(M, "M")->value);
  });
}

bj_status bj_block_jacobi_rebuild(bj_block_jacobi* M, const void* values, std::int64_t nnz, bj_space space) {
  return guarded("bj_block_jacobi_rebuild", [&] {
    const MemorySpace where = capi::space_of(space);
    std::visit([&]<class T>(BlockJacobi<T>& m) { m.rebuild(static_cast<const T*>(values), nnz, where); },
               required(M, "M")->value);
  });
}

bj_status bj_block_jacobi_info(const bj_block_jacobi* M, std::int32_t* info) {
  return guarded("bj_block_jacobi_info", [&] {
    required(info, "info");
    std::visit([&](const auto& m) { std::ranges::copy(m.info(), info); }, required(M, "M")->value);
  });
}

bj_status bj_block_jacobi_get_report(const bj_block_jacobi* M, bj_block_jacobi_report* report) {
  return guarded("bj_block_jacobi_get_report", [&] {
    required(report, "report");
    const BlockJacobiReport found = std::visit([](const auto& m) { return m.report(); }, required(M, "M")->value);
    bj_block_jacobi_report result{};
    result.bytes = static_cast<std::int64_t>(found.bytes);
    result.rows = found.rows;
    result.blocks = found.blocks;
    result.scalar = static_cast<bj_scalar>(found.scalar);
    result.singular = static_cast<bj_singular>(found.policy);
    result.singular_blocks = found.singular_blocks;
    result.non_finite_blocks = found.non_finite_blocks;
    result.min_rcond_block = found.min_rcond_block;
    result.unsuited_blocks = found.unsuited_blocks;
    result.min_rcond = found.min_rcond;
    result.entries_inside = found.entries_inside;
    *report = result;
  });
}

bj_status bj_block_jacobi_json(const bj_block_jacobi* M, char* buffer, std::size_t size, std::size_t* length) {
  return guarded("bj_block_jacobi_json", [&] {
    const std::string text = std::visit([](const auto& m) { return to_json(m.report()); }, required(M, "M")->value);
    capi::copy_text(text, buffer, size, length);
  });
}

bj_status bj_block_jacobi_text(const bj_block_jacobi* M, char* buffer, std::size_t size, std::size_t* length) {
  return guarded("bj_block_jacobi_text", [&] {
    const std::string text = std::visit([](const auto& m) { return to_text(m.report()); }, required(M, "M")->value);
    capi::copy_text(text, buffer, size, length);
  });
}
