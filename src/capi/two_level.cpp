#include "capi/coarse_system.hpp"

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

TwoLevelReport coarse_report_of(const bj_block_jacobi* M) {
  return std::visit([](const auto& held) { return held.two_level().report(); }, required(M, "M")->value);
}

}  // namespace

std::unique_ptr<bj_block_jacobi> capi::make_two_level(const Backend& backend, const bj_csr* matrix,
                                                      const bj_partition& partition, const BlockJacobiOptions& options,
                                                      const bj_two_level_options& coarse) {
  const TwoLevelOptions wanted = ::options_of(coarse);
  return make_coarse<TwoLevel>(make_coarse_system(backend, matrix, partition, options, NearKernelOptions(coarse)),
                               wanted);
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
          const TwoLevel<T>& two_level = held.two_level();
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
