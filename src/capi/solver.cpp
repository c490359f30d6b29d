#include "capi/handles.hpp"
#include "capi/numbered_columns.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace blockjacobi;
using capi::guarded;
using capi::HeldOperator;
using capi::HeldPreconditioner;
using capi::HeldWorkspace;
using capi::required;

namespace {

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

/// M for a solve with A, in the numbering that both have.
template <Scalar T>
Preconditioner<T> preconditioner_of(const HeldOperator<T>& A, const bj_block_jacobi* M) {
  if (M == nullptr) return {};
  const auto* held = std::get_if<HeldPreconditioner<T>>(&M->value);
  if (held == nullptr)
    throw InvalidArgument(capi::message("the preconditioner has scalar {}, the operator {}",
                                        capi::scalar_name(M->value), to_char(scalar_type<T>)));
  const bool one_numbering = A.numbering && held->numbering
                                 ? A.numbering->permutation() == held->numbering->permutation()
                                 : !A.numbering && !held->numbering;
  if (!one_numbering)
    throw InvalidArgument(
        "A and M have different numberings: make A by bj_operator_create_numbered with the partition of M");
  return held->for_solvers();
}

bj_solve_options given_or_default(const bj_solve_options* options) {
  bj_solve_options given{};
  bj_solve_options_init(&given);
  return options != nullptr ? *options : given;
}

bj_solve_options checked(const bj_solve_options* options) {
  const bj_solve_options given = given_or_default(options);
  if (given.history != nullptr && given.history_capacity < 0)
    throw InvalidArgument(capi::message("history_capacity is {}, must be >= 0", given.history_capacity));
  return given;
}

/// What the caller's place for the history of column c has room for.
void copy_history(const SolveReport& found, const bj_solve_options& given, std::size_t c) {
  if (given.history == nullptr) return;
  const auto capacity = static_cast<std::size_t>(given.history_capacity);
  std::copy_n(found.history.begin(), std::min(found.history.size(), capacity), given.history + c * capacity);
}

// What calls the solvers takes them from a table: it is compiled once for each scalar.

enum class Solver { cg, fcg, minres, bicgstab, gmres, fgmres, richardson };
template <Scalar T>
using SolverFunction = SolveReport (*)(const LinearOperator<T>&, const std::type_identity_t<Preconditioner<T>>&,
                                       std::type_identity_t<VectorView<const T>>, std::type_identity_t<VectorView<T>>,
                                       const SolveOptions&);
template <Scalar T>
constexpr SolverFunction<T> solver_functions[]{&cg<T>,    &fcg<T>,    &minres<T>,    &bicgstab<T>,
                                               &gmres<T>, &fgmres<T>, &richardson<T>};

enum class ColumnsSolver { cg, gmres };
template <Scalar T>
using ColumnsFunction = std::vector<SolveReport> (*)(const LinearOperator<T>&,
                                                     const std::type_identity_t<Preconditioner<T>>&,
                                                     std::type_identity_t<MultiVectorView<const T>>,
                                                     std::type_identity_t<MultiVectorView<T>>, const SolveOptions&);
template <Scalar T>
constexpr ColumnsFunction<T> columns_functions[]{&cg_columns<T>, &gmres_columns<T>};

void run(Solver solver, const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
         bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  required(report, "report");
  const MemorySpace where = capi::space_of(space);
  const bj_solve_options given = checked(options);
  const SolveReport found = std::visit(
      [&]<class T>(const HeldOperator<T>& a) {
        const SolverFunction<T> solve = solver_functions<T>[static_cast<std::size_t>(solver)];
        const Preconditioner<T> m = preconditioner_of(a, M);
        const VectorView<const T> right{static_cast<const T*>(b), size, where};
        const VectorView<T> left{static_cast<T*>(x), size, where};
        if (!a.numbering) return solve(a.product, m, right, left, options_of(given));
        SolveReport of_blocks;
        a.numbering->solved(right, left, [&](VectorView<const T> c, VectorView<T> y) {
          of_blocks = solve(a.product, m, c, y, options_of(given));
        });
        return of_blocks;
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
void run_columns(ColumnsSolver solver, const bj_operator* A, const bj_block_jacobi* M, const void* b, std::int64_t ldb,
                 void* x, std::int64_t ldx, const ColumnsShape& shape, const bj_solve_options* options,
                 bj_solve_report* reports) {
  required(reports, "reports");
  const bj_solve_options given = checked(options);
  const std::vector<SolveReport> found = std::visit(
      [&]<class T>(const HeldOperator<T>& a) {
        const ColumnsFunction<T> solve = columns_functions<T>[static_cast<std::size_t>(solver)];
        const Preconditioner<T> m = preconditioner_of(a, M);
        const auto B = shape.view(static_cast<const T*>(b), ldb);
        const auto X = shape.view(static_cast<T*>(x), ldx);
        if (!a.numbering) return solve(a.product, m, B, X, options_of(given));
        capi::require_columns("B", B, *a.numbering);
        capi::require_columns("X", X, *a.numbering);
        const capi::NumberedColumns<T> right(B, *a.numbering), left(X, *a.numbering);
        const std::vector<SolveReport> of_blocks = solve(a.product, m, right.view(), left.view(), options_of(given));
        left.copy_to(X);
        return of_blocks;
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
      [&]<class T>(const HeldOperator<T>& a) {
        *place = new bj_workspace{HeldWorkspace<T>{
            Workspace<T>(a.product, preconditioner_of(a, M), options_of(given_or_default(options))), a.numbering}};
      },
      required(A, "A")->value);
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
  return guarded("bj_cg", [&] { run(Solver::cg, A, M, b, x, size, space, options, report); });
}

bj_status bj_fcg(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
                 bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  return guarded("bj_fcg", [&] { run(Solver::fcg, A, M, b, x, size, space, options, report); });
}

bj_status bj_minres(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
                    bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  return guarded("bj_minres", [&] { run(Solver::minres, A, M, b, x, size, space, options, report); });
}

bj_status bj_bicgstab(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
                      bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  return guarded("bj_bicgstab", [&] { run(Solver::bicgstab, A, M, b, x, size, space, options, report); });
}

bj_status bj_gmres(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
                   bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  return guarded("bj_gmres", [&] { run(Solver::gmres, A, M, b, x, size, space, options, report); });
}

bj_status bj_fgmres(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
                    bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  return guarded("bj_fgmres", [&] { run(Solver::fgmres, A, M, b, x, size, space, options, report); });
}

bj_status bj_richardson(const bj_operator* A, const bj_block_jacobi* M, const void* b, void* x, std::int32_t size,
                        bj_space space, const bj_solve_options* options, bj_solve_report* report) {
  return guarded("bj_richardson", [&] { run(Solver::richardson, A, M, b, x, size, space, options, report); });
}

bj_status bj_cg_columns(const bj_operator* A, const bj_block_jacobi* M, const void* b, std::int64_t ldb, void* x,
                        std::int64_t ldx, std::int32_t rows, std::int32_t columns, std::int32_t row_major,
                        bj_space space, const bj_solve_options* options, bj_solve_report* reports) {
  return guarded("bj_cg_columns", [&] {
    run_columns(ColumnsSolver::cg, A, M, b, ldb, x, ldx, {rows, columns, row_major, space}, options, reports);
  });
}

bj_status bj_gmres_columns(const bj_operator* A, const bj_block_jacobi* M, const void* b, std::int64_t ldb, void* x,
                           std::int64_t ldx, std::int32_t rows, std::int32_t columns, std::int32_t row_major,
                           bj_space space, const bj_solve_options* options, bj_solve_report* reports) {
  return guarded("bj_gmres_columns", [&] {
    run_columns(ColumnsSolver::gmres, A, M, b, ldb, x, ldx, {rows, columns, row_major, space}, options, reports);
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
        [&]<class T>(HeldWorkspace<T>& held) {
          const VectorView<const T> right{static_cast<const T*>(b), size, where};
          const VectorView<T> left{static_cast<T*>(x), size, where};
          const auto run = [&](VectorView<const T> c, VectorView<T> y) {
            std::visit([&](auto& w) { enqueue<T>(w, c, y, reinterpret_cast<SolveStatus*>(status)); }, held.solver);
          };
          if (!held.numbering) return run(right, left);
          capi::require_space("b", right, held.numbering->backend());
          capi::require_space("x", left, held.numbering->backend());
          held.numbering->solved(right, left, run);
        },
        required(workspace, "workspace")->value);
  });
}

const char* bj_stop_reason_name(bj_stop_reason reason) {
  if (reason < BJ_STOP_CONVERGED || reason > BJ_STOP_SINGULAR_BLOCK) return "unknown";
  return to_string(static_cast<StopReason>(reason));
}
