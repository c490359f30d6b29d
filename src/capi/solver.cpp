#include "capi/handles.hpp"

#include <algorithm>

using namespace blockjacobi;
using capi::guarded;
using capi::required;

namespace {

/// The caller's function as the library's.
template <Scalar T>
VectorFunction<T> wrapped(bj_product product, void* context) {
  return [product, context](VectorView<const T> x, VectorView<T> y) {
    const std::int32_t result = product(context, x.data, y.data);
    if (result != 0) throw capi::CallbackFailed(fmt::format("the caller's product returned {}", result));
  };
}

SolveOptions options_of(const bj_solve_options& o) {
  SolveOptions options;
  options.rtol = o.rtol;
  options.atol = o.atol;
  options.max_iterations = o.max_iterations;
  options.restart = o.restart;
  options.max_seconds = o.max_seconds;
  if (o.progress != nullptr)
    options.progress = [progress = o.progress, context = o.context](const SolveProgress& p) {
      return progress(context, p.iteration, p.residual, p.target) == 0;
    };
  return options;
}

bj_solve_report report_of(const SolveReport& r) {
  bj_solve_report report{};
  report.rhs_norm = r.rhs_norm;
  report.initial_residual = r.initial_residual;
  report.recurrence_residual = r.recurrence_residual;
  report.true_residual = r.true_residual;
  report.seconds = r.seconds;
  report.reason = static_cast<bj_stop_reason>(r.reason);
  report.iterations = r.iterations;
  report.history_size = static_cast<std::int32_t>(r.history.size());
  return report;
}

template <Scalar T>
Preconditioner<T> preconditioner_of(const bj_block_jacobi* M) {
  if (M == nullptr) return {};
  if (const auto* m = std::get_if<BlockJacobi<T>>(&M->value)) return *m;
  const char other = std::visit([]<class U>(const BlockJacobi<U>&) { return to_char(scalar_type<U>); }, M->value);
  throw InvalidArgument(
      fmt::format("the preconditioner has scalar {}, the operator {}", other, to_char(scalar_type<T>)));
}

/// `solve(A, M, b, x, options)` is cg or gmres.
template <class Solve>
void run(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size, bj_space space,
         const bj_solve_options* options, bj_solve_report* report, Solve solve) {
  required(report, "report");
  const MemorySpace where = capi::space_of(space);
  bj_solve_options given{};
  bj_solve_options_init(&given);
  if (options != nullptr) given = *options;
  if (given.history != nullptr && given.history_capacity < 0)
    throw InvalidArgument(fmt::format("history_capacity is {}, must be >= 0", given.history_capacity));
  const SolveReport found = std::visit(
      [&]<class T>(const LinearOperator<T>& a) {
        return solve(a, preconditioner_of<T>(M), VectorView<const T>(static_cast<const T*>(b), size, where),
                     VectorView<T>(static_cast<T*>(x), size, where), options_of(given));
      },
      required(A, "A")->value);
  if (given.history != nullptr)
    std::copy_n(found.history.begin(), std::min(found.history.size(), static_cast<std::size_t>(given.history_capacity)),
                given.history);
  *report = report_of(found);
}

}  // namespace

bj_status bj_operator_create_csr(const bj_backend* backend, const bj_csr* matrix, bj_operator** A) {
  return guarded("bj_operator_create_csr", [&] {
    required(A, "A");
    const Backend& where = required(backend, "backend")->value;
    *A = capi::with_csr(matrix, [&]<class T, class O>(const CsrView<T, O>& view) {
      return new bj_operator{LinearOperator<T>(where, view)};
    });
  });
}

bj_status bj_operator_create_function(const bj_backend* backend, std::int32_t rows, bj_scalar scalar,
                                      bj_product product, void* context, bj_operator** A) {
  return guarded("bj_operator_create_function", [&] {
    required(A, "A");
    if (product == nullptr) throw InvalidArgument("product is a null pointer");
    const Backend& where = required(backend, "backend")->value;
    *A = capi::with_scalar(scalar, [&](auto tag) {
      using T = typename decltype(tag)::type;
      return new bj_operator{LinearOperator<T>(where, rows, wrapped<T>(product, context))};
    });
  });
}

bj_status bj_operator_destroy(bj_operator* A) {
  return guarded("bj_operator_destroy", [&] { delete A; });
}

bj_status bj_operator_apply(const bj_operator* A, const void* x, void* y, std::int32_t size, bj_space space) {
  return guarded("bj_operator_apply", [&] {
    const MemorySpace where = capi::space_of(space);
    std::visit(
        [&]<class T>(const LinearOperator<T>& a) {
          a.apply({static_cast<const T*>(x), size, where}, {static_cast<T*>(y), size, where});
        },
        required(A, "A")->value);
  });
}

bj_status bj_solve_options_init(bj_solve_options* options) {
  return guarded("bj_solve_options_init", [&] {
    const SolveOptions defaults;
    bj_solve_options result{};
    result.rtol = defaults.rtol;
    result.atol = defaults.atol;
    result.max_seconds = defaults.max_seconds;
    result.max_iterations = defaults.max_iterations;
    result.restart = defaults.restart;
    *required(options, "options") = result;
  });
}

bj_status bj_cg(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
                bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  return guarded("bj_cg", [&] {
    run(A, M, b, x, size, space, options, report,
        [](const auto& a, const auto& m, auto rhs, auto solution, const SolveOptions& o) {
          return cg(a, m, rhs, solution, o);
        });
  });
}

bj_status bj_gmres(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
                   bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  return guarded("bj_gmres", [&] {
    run(A, M, b, x, size, space, options, report,
        [](const auto& a, const auto& m, auto rhs, auto solution, const SolveOptions& o) {
          return gmres(a, m, rhs, solution, o);
        });
  });
}

const char* bj_stop_reason_name(bj_stop_reason reason) {
  if (reason < BJ_STOP_CONVERGED || reason > BJ_STOP_SINGULAR_BLOCK) return "unknown";
  return to_string(static_cast<StopReason>(reason));
}
