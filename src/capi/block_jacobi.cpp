#include "capi/handles.hpp"

#include <algorithm>
#include <limits>

using namespace blockjacobi;
using capi::guarded;
using capi::HeldPreconditioner;
using capi::required;

namespace {

BlockJacobiReport report_of(const bj_block_jacobi* M) {
  return std::visit([](const auto& held) { return held.in_user_rows(held.blocks().report()); },
                    required(M, "M")->value);
}

/// Calls f with what M holds and the view of a matrix of the same scalar.
template <class F>
decltype(auto) with_matrix(bj_block_jacobi* M, const bj_csr* matrix, F&& f) {
  required(M, "M");
  return capi::with_csr(matrix, [&]<class T, class O>(const CsrView<T, O>& view) {
    if (auto* held = std::get_if<HeldPreconditioner<T>>(&M->value)) return f(*held, view);
    throw InvalidArgument(
        capi::message("the matrix has scalar {}, M {}", to_char(scalar_type<T>), capi::scalar_name(M->value)));
  });
}

BlockJacobiReport report_with(bj_block_jacobi* M, const bj_csr* matrix) {
  return with_matrix(M, matrix, []<class T, class O>(HeldPreconditioner<T>& held, const CsrView<T, O>& view) {
    if (!held.numbering) return held.alone().report(view);
    const PermutedMatrix<T> renumbered(view, held.numbering->permutation());
    return held.in_user_rows(held.alone().report(renumbered.view()));
  });
}

template <Scalar T, Offset O>
HeldPreconditioner<T> make(const Backend& backend, const CsrView<T, O>& matrix, const bj_partition& partition,
                           const BlockJacobiOptions& options) {
  const BlockPartition& blocks = partition.value;
  if (partition.permutation) {
    const capi::Renumbered<T> system(backend, matrix, *partition.permutation);
    return {.kind = capi::named_by_user_rows(
                *partition.permutation, options,
                [&](const BlockJacobiOptions& o) { return BlockJacobi<T>(backend, system.matrix.view(), blocks, o); }),
            .numbering = system.numbering};
  }
  return {.kind = matrix.values == nullptr ? BlockJacobi<T>::analyze(backend, matrix, blocks, options)
                                           : BlockJacobi<T>(backend, matrix, blocks, options)};
}

bj_block_jacobi_report numbers_of(const BlockJacobiReport& found) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
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
  result.captured = found.captured.value_or(unknown);
  result.max_growth = found.max_growth.value_or(unknown);
  result.max_growth_block = found.max_growth_block;
  return result;
}

}  // namespace

BlockJacobiOptions capi::options_of(const bj_block_jacobi_options& wanted) {
  BlockJacobiOptions options;
  options.singular = enumerator<SingularPolicy>(wanted.singular, 5, "singular");
  options.storage = enumerator<Storage>(wanted.storage, storage_count, "storage");
  options.accuracy = wanted.accuracy;
  if (wanted.l1 != 0 && wanted.l1 != 1) throw InvalidArgument(capi::message("l1 is {}, must be 0 or 1", wanted.l1));
  options.l1 = wanted.l1 == 1;
  return options;
}

std::unique_ptr<bj_block_jacobi> capi::make_block_jacobi(const Backend& backend, const bj_csr* matrix,
                                                         const bj_partition& partition,
                                                         const BlockJacobiOptions& options) {
  return with_csr(matrix, [&](const auto& view) {
    return std::unique_ptr<bj_block_jacobi>(new bj_block_jacobi{make(backend, view, partition, options)});
  });
}

bj_status bj_block_jacobi_bytes(const bj_csr* pattern, const bj_partition* partition, std::size_t* bytes) {
  return guarded("bj_block_jacobi_bytes", [&] {
    required(bytes, "bytes");
    const BlockPartition& blocks = required(partition, "partition")->value;
    *bytes = capi::with_csr(pattern, [&]<class T, class O>(const CsrView<T, O>& view) {
      if (!partition->permutation) return BlockJacobi<T>::required_bytes(view, blocks);
      return BlockJacobi<T>::required_bytes(PermutedMatrix<T>(view, *partition->permutation).view(), blocks);
    });
  });
}

bj_status bj_block_jacobi_create(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition,
                                 bj_singular singular, bj_block_jacobi** M) {
  return guarded("bj_block_jacobi_create", [&] {
    required(M, "M");
    const Backend& where = required(backend, "backend")->value;
    required(partition, "partition");
    BlockJacobiOptions options;
    options.singular = capi::enumerator<SingularPolicy>(singular, 5, "singular");
    *M = capi::make_block_jacobi(where, matrix, *partition, options).release();
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
    required(partition, "partition");
    const BlockJacobiOptions options = capi::options_of(*wanted);
    *M = capi::make_block_jacobi(where, matrix, *partition, options).release();
  });
}

bj_status bj_block_jacobi_destroy(bj_block_jacobi* M) {
  return guarded("bj_block_jacobi_destroy", [&] { delete M; });
}

bj_status bj_block_jacobi_refresh(bj_block_jacobi* M, const void* values, std::int64_t nnz, bj_space space) {
  return guarded("bj_block_jacobi_refresh", [&] {
    const MemorySpace where = capi::space_of(space);
    std::visit(
        [&]<class T>(HeldPreconditioner<T>& held) {
          held.with_values(static_cast<const T*>(values), nnz, where,
                           [&](const T* own) { held.refresh(own, nnz, where); });
        },
        required(M, "M")->value);
  });
}

bj_status bj_block_jacobi_refresh_matrix(bj_block_jacobi* M, const bj_csr* matrix) {
  return guarded("bj_block_jacobi_refresh_matrix", [&] {
    with_matrix(M, matrix, [](auto& held, const auto& view) {
      if (held.numbering)
        throw InvalidArgument("the blocks of M have a numbering of their own: use bj_block_jacobi_refresh");
      held.alone().refresh(view);
    });
  });
}

bj_status bj_block_jacobi_apply(const bj_block_jacobi* M, bj_op op, const void* r, void* z, std::int32_t size,
                                bj_space space) {
  return guarded("bj_block_jacobi_apply", [&] {
    const MemorySpace where = capi::space_of(space);
    const Op operation = capi::enumerator<Op>(op, 3, "op");
    std::visit(
        [&]<class T>(const HeldPreconditioner<T>& held) {
          held.map({static_cast<const T*>(r), size, where}, {static_cast<T*>(z), size, where},
                   [&](VectorView<const T> in, VectorView<T> out) {
                     if (operation == Op::none) return held.apply(in, out);
                     held.alone().apply(in, out, operation);
                   });
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
        [&]<class T>(const HeldPreconditioner<T>& held) {
          if (held.numbering)
            throw InvalidArgument("the blocks of M have a numbering of their own: use bj_block_jacobi_apply");
          const MultiVectorView<const T> R{static_cast<const T*>(r), rows, columns, ldr, layout, where};
          const MultiVectorView<T> Z{static_cast<T*>(z), rows, columns, ldz, layout, where};
          held.alone().apply(*static_cast<const T*>(alpha), R, *static_cast<const T*>(beta), Z, operation);
        },
        required(M, "M")->value);
  });
}

bj_status bj_block_jacobi_rebuild(bj_block_jacobi* M, const void* values, std::int64_t nnz, bj_space space) {
  return guarded("bj_block_jacobi_rebuild", [&] {
    const MemorySpace where = capi::space_of(space);
    std::visit(
        [&]<class T>(HeldPreconditioner<T>& held) {
          BlockJacobi<T>& m = held.alone();
          held.with_values(static_cast<const T*>(values), nnz, where,
                           [&](const T* own) { m.rebuild(own, nnz, where); });
        },
        required(M, "M")->value);
  });
}

bj_status bj_block_jacobi_info(const bj_block_jacobi* M, std::int32_t* info) {
  return guarded("bj_block_jacobi_info", [&] {
    required(info, "info");
    std::visit([&](const auto& held) { std::ranges::copy(held.blocks().info(), info); }, required(M, "M")->value);
  });
}

bj_status bj_block_jacobi_rcond(const bj_block_jacobi* M, void* rcond) {
  return guarded("bj_block_jacobi_rcond", [&] {
    required(rcond, "rcond");
    std::visit(
        [&]<class T>(const HeldPreconditioner<T>& held) {
          std::ranges::copy(held.blocks().rcond(), static_cast<real_t<T>*>(rcond));
        },
        required(M, "M")->value);
  });
}

bj_status bj_block_jacobi_info_view(const bj_block_jacobi* M, const std::int32_t** info) {
  return guarded("bj_block_jacobi_info_view", [&] {
    required(info, "info");
    *info = std::visit([](const auto& held) { return held.blocks().info_view().data; }, required(M, "M")->value);
  });
}

bj_status bj_block_jacobi_rcond_view(const bj_block_jacobi* M, const void** rcond) {
  return guarded("bj_block_jacobi_rcond_view", [&] {
    required(rcond, "rcond");
    *rcond = std::visit([](const auto& held) -> const void* { return held.blocks().rcond_view().data; },
                        required(M, "M")->value);
  });
}

bj_status bj_block_jacobi_pivot_growth(bj_block_jacobi* M, const void* values, std::int64_t nnz, bj_space space,
                                       void* growth) {
  return guarded("bj_block_jacobi_pivot_growth", [&] {
    required(growth, "growth");
    const MemorySpace where = capi::space_of(space);
    std::visit(
        [&]<class T>(HeldPreconditioner<T>& held) {
          BlockJacobi<T>& m = held.alone();
          held.with_values(static_cast<const T*>(values), nnz, where, [&](const T* own) {
            std::ranges::copy(m.pivot_growth(own, nnz, where).to_host(), static_cast<real_t<T>*>(growth));
          });
        },
        required(M, "M")->value);
  });
}

bj_status bj_block_jacobi_get_report(const bj_block_jacobi* M, bj_block_jacobi_report* report) {
  return guarded("bj_block_jacobi_get_report", [&] { *required(report, "report") = numbers_of(report_of(M)); });
}

bj_status bj_block_jacobi_json(const bj_block_jacobi* M, char* buffer, std::size_t size, std::size_t* length) {
  return guarded("bj_block_jacobi_json", [&] { capi::copy_text(to_json(report_of(M)), buffer, size, length); });
}

bj_status bj_block_jacobi_text(const bj_block_jacobi* M, char* buffer, std::size_t size, std::size_t* length) {
  return guarded("bj_block_jacobi_text", [&] { capi::copy_text(to_text(report_of(M)), buffer, size, length); });
}

bj_status bj_block_jacobi_get_report_with(bj_block_jacobi* M, const bj_csr* matrix, bj_block_jacobi_report* report) {
  return guarded("bj_block_jacobi_get_report_with",
                 [&] { *required(report, "report") = numbers_of(report_with(M, matrix)); });
}

bj_status bj_block_jacobi_json_with(bj_block_jacobi* M, const bj_csr* matrix, char* buffer, std::size_t size,
                                    std::size_t* length) {
  return guarded("bj_block_jacobi_json_with",
                 [&] { capi::copy_text(to_json(report_with(M, matrix)), buffer, size, length); });
}

bj_status bj_block_jacobi_text_with(bj_block_jacobi* M, const bj_csr* matrix, char* buffer, std::size_t size,
                                    std::size_t* length) {
  return guarded("bj_block_jacobi_text_with",
                 [&] { capi::copy_text(to_text(report_with(M, matrix)), buffer, size, length); });
}
