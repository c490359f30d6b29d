#include "capi/handles.hpp"

using namespace blockjacobi;
using capi::guarded;
using capi::required;

namespace {

static_assert(BJ_METHOD_CG == static_cast<int>(Method::cg) && BJ_METHOD_GMRES == static_cast<int>(Method::gmres));

bool flag(std::int32_t value, const char* name) {
  if (value != 0 && value != 1) throw InvalidArgument(capi::message("{} is {}, must be 0 or 1", name, value));
  return value == 1;
}

SuggestOptions options_of(const bj_suggest_options& wanted) {
  SuggestOptions options;
  options.method = capi::enumerator<Method>(wanted.method, 2, "method");
  options.rtol = wanted.rtol;
  options.restart = wanted.restart;
  options.singular = capi::enumerator<SingularPolicy>(wanted.singular, 5, "singular");
  options.probe_share = wanted.probe_share;
  options.bandwidth = wanted.bandwidth;
  options.latency = wanted.latency;
  options.renumber = flag(wanted.renumber, "renumber");
  options.coarse = flag(wanted.coarse, "coarse");
  return options;
}

bj_partition partition_of(const BlockCandidate& candidate) {
  if (candidate.permutation.is_identity()) return {candidate.blocks};
  return {candidate.blocks, candidate.permutation};
}

bj_two_level_options options_of(const TwoLevelOptions& coarse, std::int32_t unknowns) {
  bj_two_level_options options{};
  bj_two_level_options_init(&options);
  options.mode = coarse.mode ? static_cast<bj_coarse_mode>(*coarse.mode) + 1 : BJ_COARSE_AUTOMATIC;
  options.size = coarse.size;
  options.relaxed = coarse.relaxed;
  options.unknowns = unknowns;
  return options;
}

bj_multigrid_options options_of(const MultigridOptions& multigrid, std::int32_t unknowns) {
  bj_multigrid_options options{};
  bj_multigrid_options_init(&options);
  options.coarsest = multigrid.coarsest;
  options.relaxed = multigrid.relaxed;
  options.unknowns = unknowns;
  return options;
}

std::unique_ptr<bj_block_jacobi> make_candidate(const Backend& backend, const bj_csr* matrix,
                                                const BlockCandidate& chosen, std::int32_t unknowns,
                                                const bj_partition& partition, const BlockJacobiOptions& options) {
  if (chosen.multigrid)
    return capi::make_multigrid(backend, matrix, partition, options, options_of(*chosen.multigrid, unknowns));
  if (chosen.coarse)
    return capi::make_two_level(backend, matrix, partition, options, options_of(*chosen.coarse, unknowns));
  return capi::make_block_jacobi(backend, matrix, partition, options);
}

}  // namespace

bj_status bj_suggest_options_init(bj_suggest_options* options) {
  return guarded("bj_suggest_options_init", [&] {
    const SuggestOptions defaults;
    bj_suggest_options result{};
    result.rtol = defaults.rtol;
    result.probe_share = defaults.probe_share;
    result.method = static_cast<bj_method>(defaults.method);
    result.restart = defaults.restart;
    result.singular = static_cast<bj_singular>(defaults.singular);
    result.unknowns = 1;
    result.renumber = defaults.renumber ? 1 : 0;
    result.coarse = defaults.coarse ? 1 : 0;
    *required(options, "options") = result;
  });
}

bj_status bj_suggest(const bj_backend* backend, const bj_csr* matrix, const bj_suggest_options* options,
                     bj_suggestion** suggestion) {
  return guarded("bj_suggest", [&] {
    required(suggestion, "suggestion");
    const Backend& where = required(backend, "backend")->value;
    bj_suggest_options given{};
    bj_suggest_options_init(&given);
    if (options != nullptr) given = *options;
    const SuggestOptions wanted = options_of(given);
    *suggestion = capi::with_csr(matrix, [&]<class T, class O>(const CsrView<T, O>& view) {
      if (view.values == nullptr && view.nnz > 0)
        throw InvalidArgument(capi::message("the matrix has {} entries but no values", view.nnz));
      SparseMatrixOptions stated;
      if (given.unknowns != 1) stated.block_size = given.unknowns;
      return new bj_suggestion{suggest(SparseMatrix<T>(where, view, stated), wanted), given.unknowns};
    });
  });
}

bj_status bj_suggestion_destroy(bj_suggestion* suggestion) {
  return guarded("bj_suggestion_destroy", [&] { delete suggestion; });
}

bj_status bj_suggestion_size(const bj_suggestion* suggestion, std::int32_t* candidates, std::int32_t* recommended) {
  return guarded("bj_suggestion_size", [&] {
    const Suggestion& s = required(suggestion, "suggestion")->value;
    required(candidates, "candidates");
    *required(recommended, "recommended") = static_cast<std::int32_t>(s.recommended);
    *candidates = static_cast<std::int32_t>(s.candidates.size());
  });
}

bj_status bj_suggestion_text(const bj_suggestion* suggestion, char* buffer, std::size_t size, std::size_t* length) {
  return guarded("bj_suggestion_text",
                 [&] { capi::copy_text(to_text(required(suggestion, "suggestion")->value), buffer, size, length); });
}

bj_status bj_suggestion_json(const bj_suggestion* suggestion, char* buffer, std::size_t size, std::size_t* length) {
  return guarded("bj_suggestion_json",
                 [&] { capi::copy_text(to_json(required(suggestion, "suggestion")->value), buffer, size, length); });
}

bj_status bj_suggestion_make(const bj_suggestion* suggestion, std::int32_t candidate, const bj_backend* backend,
                             const bj_csr* matrix, const bj_block_jacobi_options* blocks, bj_operator** A,
                             bj_block_jacobi** M) {
  return guarded("bj_suggestion_make", [&] {
    required(A, "A");
    required(M, "M");
    const auto& candidates = required(suggestion, "suggestion")->value.candidates;
    const Backend& where = required(backend, "backend")->value;
    if (candidate < 0 || candidate >= static_cast<std::int64_t>(candidates.size()))
      throw InvalidArgument(capi::message("candidate is {}, must be in 0..{}", candidate, candidates.size() - 1));
    const BlockCandidate& chosen = candidates[static_cast<std::size_t>(candidate)];
    const BlockJacobiOptions options =
        blocks != nullptr ? capi::options_of(*blocks) : BlockJacobiOptions{SingularPolicy::scalar_jacobi};
    const bj_partition partition = partition_of(chosen);
    auto a = capi::make_numbered_operator(where, matrix, partition);
    *M = make_candidate(where, matrix, chosen, suggestion->unknowns, partition, options).release();
    *A = a.release();
  });
}
