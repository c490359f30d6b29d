#include "capi/coarse_system.hpp"

using namespace blockjacobi;
using capi::guarded;
using capi::required;

namespace {

MultigridReport multigrid_report_of(const bj_block_jacobi* M) {
  return std::visit([](const auto& held) { return held.multigrid().report(); }, required(M, "M")->value);
}

}  // namespace

std::unique_ptr<bj_block_jacobi> capi::make_multigrid(const Backend& backend, const bj_csr* matrix,
                                                      const bj_partition& partition, const BlockJacobiOptions& options,
                                                      const bj_multigrid_options& multigrid) {
  MultigridOptions wanted;
  wanted.coarsest = multigrid.coarsest;
  wanted.relaxed = multigrid.relaxed;
  return make_coarse<Multigrid>(make_coarse_system(backend, matrix, partition, options, NearKernelOptions(multigrid),
                                                   multigrid.symmetry_tolerance),
                                wanted);
}

bj_status bj_multigrid_options_init(bj_multigrid_options* options) {
  return guarded("bj_multigrid_options_init", [&] {
    bj_multigrid_options result{};
    result.coarsest = MultigridOptions{}.coarsest;
    result.unknowns = 1;
    *required(options, "options") = result;
  });
}

bj_status bj_multigrid_create(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition,
                              const bj_block_jacobi_options* blocks, const bj_multigrid_options* options,
                              bj_block_jacobi** M) {
  return guarded("bj_multigrid_create", [&] {
    required(M, "M");
    const Backend& where = required(backend, "backend")->value;
    required(partition, "partition");
    bj_block_jacobi_options given_blocks{};
    bj_multigrid_options given{};
    bj_block_jacobi_options_init(&given_blocks);
    bj_multigrid_options_init(&given);
    if (blocks != nullptr) given_blocks = *blocks;
    if (options != nullptr) given = *options;
    *M = capi::make_multigrid(where, matrix, *partition, capi::options_of(given_blocks), given).release();
  });
}

bj_status bj_multigrid_get_report(const bj_block_jacobi* M, bj_multigrid_report* report) {
  return guarded("bj_multigrid_get_report", [&] {
    required(report, "report");
    const MultigridReport found = multigrid_report_of(M);
    bj_multigrid_report result{};
    result.bytes = static_cast<std::int64_t>(found.bytes);
    result.rcond = found.rcond;
    result.levels = static_cast<std::int32_t>(found.levels.size());
    result.is_singular = found.is_singular ? 1 : 0;
    result.is_finite = found.is_finite ? 1 : 0;
    *report = result;
  });
}

bj_status bj_multigrid_levels(const bj_block_jacobi* M, bj_multigrid_level* levels) {
  return guarded("bj_multigrid_levels", [&] {
    required(levels, "levels");
    for (const MultigridLevel& level : multigrid_report_of(M).levels)
      *levels++ = {level.nnz, level.relaxation, level.rows, 0};
  });
}

bj_status bj_multigrid_text(const bj_block_jacobi* M, char* buffer, std::size_t size, std::size_t* length) {
  return guarded("bj_multigrid_text", [&] { capi::copy_text(to_text(multigrid_report_of(M)), buffer, size, length); });
}
