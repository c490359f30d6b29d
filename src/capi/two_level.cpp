#include "capi/handles.hpp"

#include <algorithm>
#include <vector>

using namespace blockjacobi;
using capi::guarded;
using capi::HeldPreconditioner;
using capi::required;

namespace {

static_assert(BJ_COARSE_ADDITIVE == static_cast<int>(CoarseMode::additive) + 1 &&
              BJ_COARSE_ADEF1 == static_cast<int>(CoarseMode::adef1) + 1 &&
              BJ_COARSE_ADEF2 == static_cast<int>(CoarseMode::adef2) + 1);

TwoLevelOptions options_of(const bj_two_level_options& wanted) {
  TwoLevelOptions options;
  const auto mode = capi::enumerator<int>(wanted.mode, 4, "mode");
  if (mode != BJ_COARSE_AUTOMATIC) options.mode = static_cast<CoarseMode>(mode - 1);
  options.size = wanted.size;
  options.relaxed = wanted.relaxed;
  return options;
}

/// Z's vectors where the matrix itself does not tell them, by columns in the numbering of the blocks: the user's, or
/// ones for each unknown of a node.
template <Scalar T>
NearKernel<T> vectors_of(const bj_two_level_options& wanted, index_t rows, const std::optional<Permutation>& order) {
  NearKernel<T> vectors{rows, wanted.vectors != nullptr ? wanted.vector_count : wanted.unknowns, {}};
  const auto n = static_cast<std::size_t>(rows);
  const auto count = static_cast<std::size_t>(vectors.cols);
  vectors.values.assign(n * count, T(0));
  if (wanted.vectors != nullptr) {
    const T* from = static_cast<const T*>(wanted.vectors);
    for (std::size_t j = 0; j < count; ++j)
      std::copy_n(from + static_cast<offset_t>(j) * wanted.ld, n,
                  vectors.values.begin() + static_cast<offset_t>(j * n));
  } else {
    for (std::size_t i = 0; i < n; ++i) vectors.values[i + i % count * n] = T(1);
  }
  return order ? vectors.to_permuted(*order) : vectors;
}

void require_vectors(const bj_two_level_options& wanted, index_t rows) {
  if (wanted.unknowns < 1 || wanted.unknowns > max_block_size || rows % wanted.unknowns != 0)
    throw InvalidArgument(capi::message("unknowns is {}, must be in 1..{} and divide the {} rows", wanted.unknowns,
                                        max_block_size, rows));
  if (wanted.vectors == nullptr) return;
  if (wanted.vector_count < 1 || wanted.vector_count > max_block_size)
    throw InvalidArgument(capi::message("vector_count is {}, must be in 1..{}", wanted.vector_count, max_block_size));
  if (wanted.ld < rows) throw InvalidArgument(capi::message("ld is {}, must be at least the {} rows", wanted.ld, rows));
}

template <Scalar T, Offset O>
HeldPreconditioner<T> make(const Backend& backend, const CsrView<T, O>& view, const bj_partition& partition,
                           const BlockJacobiOptions& options, const bj_two_level_options& wanted) {
  const TwoLevelOptions coarse = options_of(wanted);
  if (view.values == nullptr && view.nnz > 0)
    throw InvalidArgument(capi::message("the matrix has {} entries but no values", view.nnz));
  require_vectors(wanted, view.rows);
  const BlockPartition& blocks = partition.value;
  const std::optional<Permutation>& order = partition.permutation;
  HeldPreconditioner<T> held;
  std::optional<BlockJacobi<T>> jacobi;
  if (order) {
    const capi::Renumbered<T> system(backend, view, *order);
    held.numbering = system.numbering;
    held.matrix.emplace(backend, system.matrix.view());
    jacobi = capi::named_by_user_rows(
        *order, options, [&](const BlockJacobiOptions& o) { return BlockJacobi<T>(*held.matrix, blocks, o); });
  } else {
    held.matrix.emplace(backend, view);
    jacobi.emplace(*held.matrix, blocks, options);
  }
  if (wanted.vectors != nullptr || (wanted.relaxed == 0 && wanted.unknowns > 1)) {
    const NearKernel<T> vectors = vectors_of<T>(wanted, view.rows, order);
    held.two_level.emplace(*held.matrix, std::move(*jacobi), vectors.view(), coarse);
  } else {
    held.two_level.emplace(*held.matrix, std::move(*jacobi), coarse);
  }
  return held;
}

TwoLevelReport coarse_report_of(const bj_block_jacobi* M) {
  return std::visit([](const auto& held) { return held.coarse().report(); }, required(M, "M")->value);
}

}  // namespace

std::unique_ptr<bj_block_jacobi> capi::make_two_level(const Backend& backend, const bj_csr* matrix,
                                                      const bj_partition& partition, const BlockJacobiOptions& options,
                                                      const bj_two_level_options& coarse) {
  return with_csr(matrix, [&](const auto& view) {
    return std::unique_ptr<bj_block_jacobi>(new bj_block_jacobi{make(backend, view, partition, options, coarse)});
  });
}

bj_status bj_two_level_options_init(bj_two_level_options* options) {
  return guarded("bj_two_level_options_init", [&] {
    bj_two_level_options result{};
    result.mode = BJ_COARSE_AUTOMATIC;
    result.unknowns = 1;
    *required(options, "options") = result;
  });
}

bj_status bj_two_level_create(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition,
                              const bj_block_jacobi_options* blocks, const bj_two_level_options* coarse,
                              bj_block_jacobi** M) {
  return guarded("bj_two_level_create", [&] {
    required(M, "M");
    const Backend& where = required(backend, "backend")->value;
    required(partition, "partition");
    bj_block_jacobi_options default_blocks{};
    bj_two_level_options default_coarse{};
    bj_block_jacobi_options_init(&default_blocks);
    bj_two_level_options_init(&default_coarse);
    const BlockJacobiOptions options = capi::options_of(blocks != nullptr ? *blocks : default_blocks);
    *M = capi::make_two_level(where, matrix, *partition, options, coarse != nullptr ? *coarse : default_coarse)
             .release();
  });
}

bj_status bj_two_level_correct(const bj_block_jacobi* M, const void* r, void* u, std::int32_t size, bj_space space) {
  return guarded("bj_two_level_correct", [&] {
    const MemorySpace where = capi::space_of(space);
    std::visit(
        [&]<class T>(const HeldPreconditioner<T>& held) {
          const TwoLevel<T>& two_level = held.coarse();
          held.map({static_cast<const T*>(r), size, where}, {static_cast<T*>(u), size, where},
                   [&](VectorView<const T> in, VectorView<T> out) { two_level.correct(in, out); });
        },
        required(M, "M")->value);
  });
}

bj_status bj_two_level_get_report(const bj_block_jacobi* M, bj_two_level_report* report) {
  return guarded("bj_two_level_get_report", [&] {
    required(report, "report");
    const TwoLevelReport found = coarse_report_of(M);
    bj_two_level_report result{};
    result.bytes = static_cast<std::int64_t>(found.bytes);
    result.mode = static_cast<bj_coarse_mode>(found.mode) + 1;
    result.rows = found.rows;
    result.aggregates = found.aggregates;
    result.size = found.size;
    result.uncovered_rows = found.uncovered_rows;
    result.is_singular = found.is_singular ? 1 : 0;
    result.is_finite = found.is_finite ? 1 : 0;
    result.rcond = found.rcond;
    *report = result;
  });
}

bj_status bj_two_level_text(const bj_block_jacobi* M, char* buffer, std::size_t size, std::size_t* length) {
  return guarded("bj_two_level_text", [&] { capi::copy_text(to_text(coarse_report_of(M)), buffer, size, length); });
}
