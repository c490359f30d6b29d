#include "capi/handles.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

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
  options.relaxation = o.relaxation;
  options.relative_to = capi::enumerator<RelativeTo>(o.relative_to, 2, "relative_to");
  options.basis = capi::enumerator<BasisPrecision>(o.basis, 2, "basis");
  options.resident = capi::enumerator<Resident>(o.resident, 2, "resident");
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

bj_solve_options given_or_default(const bj_solve_options* options) {
  bj_solve_options given{};
  bj_solve_options_init(&given);
  return options != nullptr ? *options : given;
}

bj_solve_options checked(const bj_solve_options* options) {
  const bj_solve_options given = given_or_default(options);
  if (given.history != nullptr && given.history_capacity < 0)
    throw InvalidArgument(fmt::format("history_capacity is {}, must be >= 0", given.history_capacity));
  return given;
}

/// What the caller's place for the history of column c has room for.
void copy_history(const SolveReport& found, const bj_solve_options& given, std::size_t c) {
  if (given.history == nullptr) return;
  const auto capacity = static_cast<std::size_t>(given.history_capacity);
  std::copy_n(found.history.begin(), std::min(found.history.size(), capacity), given.history + c * capacity);
}

/// `solve(A, M, b, x, options)` is one of the solvers.
template <class Solve>
void run(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size, bj_space space,
         const bj_solve_options* options, bj_solve_report* report, Solve solve) {
  required(report, "report");
  const MemorySpace where = capi::space_of(space);
  const bj_solve_options given = checked(options);
  const SolveReport found = std::visit(
      [&]<class T>(const LinearOperator<T>& a) {
        return solve(a, preconditioner_of<T>(M), VectorView<const T>(static_cast<const T*>(b), size, where),
                     VectorView<T>(static_cast<T*>(x), size, where), options_of(given));
      },
      required(A, "A")->value);
  copy_history(found, given, 0);
  *report = report_of(found);
}

/// Columns as the caller describes them.
struct ColumnsShape {
  std::int32_t rows, columns, row_major;
  bj_space space;

  template <class T>
  MultiVectorView<T> view(T* data, std::int64_t ld) const {
    return {data, rows, columns, ld, capi::enumerator<Layout>(row_major, 2, "row_major"), capi::space_of(space)};
  }
};

/// The same for solvers of several columns.
template <class Solve>
void run_columns(const bj_operator* A, const bj_block_jacobi* M, const void* b, std::int64_t ldb, void* x,
                 std::int64_t ldx, const ColumnsShape& shape, const bj_solve_options* options, bj_solve_report* reports,
                 Solve solve) {
  required(reports, "reports");
  const bj_solve_options given = checked(options);
  const std::vector<SolveReport> found = std::visit(
      [&]<class T>(const LinearOperator<T>& a) {
        return solve(a, preconditioner_of<T>(M), shape.view(static_cast<const T*>(b), ldb),
                     shape.view(static_cast<T*>(x), ldx), options_of(given));
      },
      required(A, "A")->value);
  for (std::size_t c = 0; c < found.size(); ++c) {
    copy_history(found[c], given, c);
    reports[c] = report_of(found[c]);
  }
}

/// A workspace of the given kind for A, M and options, made only if there is a place for it.
template <template <class> class Workspace>
void make_workspace(const bj_operator* A, const bj_block_jacobi* M, const bj_solve_options* options,
                    bj_workspace** place) {
  std::visit(
      [&]<class T>(const LinearOperator<T>& a) {
        *place = new bj_workspace{Workspace<T>(a, preconditioner_of<T>(M), options_of(given_or_default(options)))};
      },
      required(A, "A")->value);
}

template <Scalar T>
void refresh(BsrMatrix<T>& matrix, const void* values, std::int64_t nnz, MemorySpace space) {
  matrix.refresh(static_cast<const T*>(values), nnz, space);
}

template <Scalar T>
void enqueue(CgWorkspace<T>& workspace, VectorView<const T> b, VectorView<T> x, SolveStatus* status) {
  cg_enqueue(workspace, b, x, status);
}
template <Scalar T>
void enqueue(GmresWorkspace<T>& workspace, VectorView<const T> b, VectorView<T> x, SolveStatus* status) {
  gmres_enqueue(workspace, b, x, status);
}

static_assert(sizeof(bj_solve_status) == sizeof(SolveStatus) &&
              offsetof(bj_solve_status, iterations) == offsetof(SolveStatus, iterations) &&
              offsetof(bj_solve_status, target) == offsetof(SolveStatus, target) &&
              offsetof(bj_solve_status, true_residual) == offsetof(SolveStatus, true_residual));

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

bj_status bj_operator_create_bsr(const bj_backend* backend, const bj_csr* matrix, std::int32_t block, bj_operator** A) {
  return guarded("bj_operator_create_bsr", [&] {
    required(A, "A");
    const Backend& where = required(backend, "backend")->value;
    *A = capi::with_csr(matrix, [&]<class T, class O>(const CsrView<T, O>& view) {
      BsrMatrix<T> bsr(where, view, block);
      return new bj_operator{LinearOperator<T>(bsr), std::move(bsr)};
    });
  });
}

bj_status bj_operator_refresh(bj_operator* A, const void* values, std::int64_t nnz, bj_space space) {
  return guarded("bj_operator_refresh", [&] {
    const MemorySpace where = capi::space_of(space);
    std::visit(
        [&]<class M>(M& matrix) {
          if constexpr (std::is_same_v<M, std::monostate>)
            throw InvalidArgument("A was not made by bj_operator_create_bsr");
          else
            refresh(matrix, values, nnz, where);
        },
        required(A, "A")->bsr);
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
    result.relaxation = defaults.relaxation;
    result.max_iterations = defaults.max_iterations;
    result.restart = defaults.restart;
    *required(options, "options") = result;
  });
}

bj_status bj_cg(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
                bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  return guarded("bj_cg", [&] {
    run(A, M, b, x, size, space, options, report, [](auto&&... arguments) { return cg(arguments...); });
  });
}

bj_status bj_fcg(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
                 bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  return guarded("bj_fcg", [&] {
    run(A, M, b, x, size, space, options, report, [](auto&&... arguments) { return fcg(arguments...); });
  });
}

bj_status bj_minres(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
                    bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  return guarded("bj_minres", [&] {
    run(A, M, b, x, size, space, options, report, [](auto&&... arguments) { return minres(arguments...); });
  });
}

bj_status bj_bicgstab(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
                      bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  return guarded("bj_bicgstab", [&] {
    run(A, M, b, x, size, space, options, report, [](auto&&... arguments) { return bicgstab(arguments...); });
  });
}

bj_status bj_gmres(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
                   bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  return guarded("bj_gmres", [&] {
    run(A, M, b, x, size, space, options, report, [](auto&&... arguments) { return gmres(arguments...); });
  });
}

bj_status bj_fgmres(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
                    bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  return guarded("bj_fgmres", [&] {
    run(A, M, b, x, size, space, options, report, [](auto&&... arguments) { return fgmres(arguments...); });
  });
}

bj_status bj_richardson(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
                        bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  return guarded("bj_richardson", [&] {
    run(A, M, b, x, size, space, options, report, [](auto&&... arguments) { return richardson(arguments...); });
  });
}

bj_status bj_cg_columns(const bj_operator* A, const bj_block_jacobi* M, const void* b, std::int64_t ldb, void* x,
                        std::int64_t ldx, std::int32_t rows, std::int32_t columns, std::int32_t row_major,
                        bj_space space, const bj_solve_options* options, bj_solve_report* reports) {
  return guarded("bj_cg_columns", [&] {
    run_columns(A, M, b, ldb, x, ldx, {rows, columns, row_major, space}, options, reports,
                [](auto&&... arguments) { return cg_columns(arguments...); });
  });
}

bj_status bj_gmres_columns(const bj_operator* A, const bj_block_jacobi* M, const void* b, std::int64_t ldb, void* x,
                           std::int64_t ldx, std::int32_t rows, std::int32_t columns, std::int32_t row_major,
                           bj_space space, const bj_solve_options* options, bj_solve_report* reports) {
  return guarded("bj_gmres_columns", [&] {
    run_columns(A, M, b, ldb, x, ldx, {rows, columns, row_major, space}, options, reports,
                [](auto&&... arguments) { return gmres_columns(arguments...); });
  });
}

bj_status bj_workspace_create_cg(const bj_operator* A, const bj_block_jacobi* M, const bj_solve_options* options,
                                 bj_workspace** workspace) {
  return guarded("bj_workspace_create_cg",
                 [&] { make_workspace<CgWorkspace>(A, M, options, required(workspace, "workspace")); });
}

bj_status bj_workspace_create_gmres(const bj_operator* A, const bj_block_jacobi* M, const bj_solve_options* options,
                                    bj_workspace** workspace) {
  return guarded("bj_workspace_create_gmres",
                 [&] { make_workspace<GmresWorkspace>(A, M, options, required(workspace, "workspace")); });
}

bj_status bj_workspace_destroy(bj_workspace* workspace) {
  return guarded("bj_workspace_destroy", [&] { delete workspace; });
}

bj_status bj_enqueue(bj_workspace* workspace, const void* b, void* x, std::int32_t size, bj_space space,
                     bj_solve_status* status) {
  return guarded("bj_enqueue", [&] {
    const MemorySpace where = capi::space_of(space);
    std::visit(
        [&]<template <class> class W, class T>(W<T>& w) {
          enqueue<T>(w, {static_cast<const T*>(b), size, where}, {static_cast<T*>(x), size, where},
                     reinterpret_cast<SolveStatus*>(status));
        },
        required(workspace, "workspace")->value);
  });
}

const char* bj_stop_reason_name(bj_stop_reason reason) {
  if (reason < BJ_STOP_CONVERGED || reason > BJ_STOP_SINGULAR_BLOCK) return "unknown";
  return to_string(static_cast<StopReason>(reason));
}
