#include "solver.hpp"

#include "block_jacobi.hpp"
#include "coarse.hpp"

#include <blockjacobi/solver.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <exception>

namespace blockjacobi::python {

namespace {

template <Scalar T>
using Solver = SolveReport (*)(const LinearOperator<T>&, const std::type_identity_t<Preconditioner<T>>&,
                               std::type_identity_t<VectorView<const T>>, std::type_identity_t<VectorView<T>>,
                               const SolveOptions&);

template <Scalar T>
constexpr std::array<std::pair<const char*, Solver<T>>, 7> solvers{{{"cg", &cg<T>},
                                                                    {"fcg", &fcg<T>},
                                                                    {"minres", &minres<T>},
                                                                    {"bicgstab", &bicgstab<T>},
                                                                    {"gmres", &gmres<T>},
                                                                    {"fgmres", &fgmres<T>},
                                                                    {"richardson", &richardson<T>}}};

template <Scalar T>
using ColumnsSolver = std::vector<SolveReport> (*)(const LinearOperator<T>&,
                                                   const std::type_identity_t<Preconditioner<T>>&,
                                                   std::type_identity_t<MultiVectorView<const T>>,
                                                   std::type_identity_t<MultiVectorView<T>>, const SolveOptions&);

template <Scalar T>
constexpr std::array<std::pair<const char*, ColumnsSolver<T>>, 2> columns_solvers{
    {{"cg", &cg_columns<T>}, {"gmres", &gmres_columns<T>}}};

constexpr std::array<std::pair<const char*, RelativeTo>, 2> references{
    {{"rhs", RelativeTo::rhs}, {"initial_residual", RelativeTo::initial_residual}}};
constexpr std::array<std::pair<const char*, BasisPrecision>, 2> precisions{
    {{"working", BasisPrecision::working}, {"single", BasisPrecision::single}}};
constexpr std::array<std::pair<const char*, Resident>, 2> residences{
    {{"automatic", Resident::automatic}, {"never", Resident::never}}};

/// Solves the system in the numbering of the blocks. The matrix lies on the host, vectors in the backend's memory.
template <class Held, Scalar T, Offset O>
SolveReport solve_renumbered(Solver<T> solver, const Backend& backend, const CsrView<T, O>& matrix, const Held& M,
                             VectorView<const T> b, VectorView<T> x, const SolveOptions& options) {
  const Permutation& permutation = *M.permutation();
  const PermutedMatrix<T> renumbered(matrix, permutation);
  const LinearOperator<T> A(backend, renumbered.view());
  if (const DeviceNumbering<T>* numbering = M.numbering()) {
    Array<T> right(backend, static_cast<std::size_t>(b.size)), left(backend, static_cast<std::size_t>(x.size));
    numbering->to_permuted(b, right.view());
    numbering->to_permuted(x, left.view());
    const SolveReport report = solver(A, M.preconditioner(), right.view(), left.view(), options);
    numbering->to_original(left.view(), x);
    return report;
  }
  const std::vector<T> right = permutation.to_permuted(std::vector<T>(b.data, b.data + b.size));
  std::vector<T> left = permutation.to_permuted(std::vector<T>(x.data, x.data + x.size));
  SolveReport report = solver(A, M.preconditioner(), right, left, options);
  const std::vector<T> found = permutation.to_original(left);
  std::copy(found.begin(), found.end(), x.data);
  return report;
}

template <class Held, Scalar T, Offset O>
std::vector<SolveReport> solve_renumbered(ColumnsSolver<T> solver, const Backend& backend, const CsrView<T, O>& matrix,
                                          const Held& M, MultiVectorView<const T> B, MultiVectorView<T> X,
                                          const SolveOptions& options) {
  const Permutation& permutation = *M.permutation();
  const PermutedMatrix<T> renumbered(matrix, permutation);
  const LinearOperator<T> A(backend, renumbered.view());
  const index_t n = B.rows;
  if (const DeviceNumbering<T>* numbering = M.numbering()) {
    const auto elements = static_cast<std::size_t>(n) * static_cast<std::size_t>(B.cols);
    Array<T> right(backend, elements), left(backend, elements);
    const MultiVectorView<T> rights{right.data(), n, B.cols, n, Layout::column_major, MemorySpace::device};
    const MultiVectorView<T> lefts{left.data(), n, X.cols, n, Layout::column_major, MemorySpace::device};
    for (index_t c = 0; c < B.cols; ++c) {
      numbering->to_permuted(column_of(B, c, "solve: b"), column_of(rights, c, "solve: b"));
      numbering->to_permuted(column_of(X, c, "solve: x"), column_of(lefts, c, "solve: x"));
    }
    std::vector<SolveReport> reports = solver(A, M.preconditioner(), rights, lefts, options);
    for (index_t c = 0; c < X.cols; ++c)
      numbering->to_original(column_of(lefts, c, "solve: x"), column_of(X, c, "solve: x"));
    return reports;
  }
  const auto at = [](const auto& v, index_t i, index_t c) -> auto& {
    return v.data[v.layout == Layout::column_major ? i + c * v.ld : i * v.ld + c];
  };
  const auto permuted = [&](const auto& v) {
    std::vector<T> columns;
    for (index_t c = 0; c < v.cols; ++c) {
      std::vector<T> column;
      for (index_t i = 0; i < v.rows; ++i) column.push_back(at(v, i, c));
      column = permutation.to_permuted(column);
      columns.insert(columns.end(), column.begin(), column.end());
    }
    return columns;
  };
  const std::vector<T> right = permuted(B);
  std::vector<T> left = permuted(X);
  std::vector<SolveReport> reports = solver(A, M.preconditioner(), MultiVectorView<const T>{right.data(), n, B.cols, n},
                                            MultiVectorView<T>{left.data(), n, X.cols, n}, options);
  for (index_t c = 0; c < X.cols; ++c) {
    const auto first = left.begin() + static_cast<std::ptrdiff_t>(c) * n;
    const std::vector<T> found = permutation.to_original(std::vector<T>(first, first + n));
    for (index_t i = 0; i < n; ++i) at(X, i, c) = found[static_cast<std::size_t>(i)];
  }
  return reports;
}

/// The user's callback, and Ctrl-C, seen from a solver that runs without the GIL.
class Progress {
 public:
  explicit Progress(nb::object callback) : callback_(std::move(callback)) {}

  bool operator()(const SolveProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (callback_.is_none() && now - last_ < std::chrono::milliseconds(50)) return true;
    last_ = now;
    const nb::gil_scoped_acquire held;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (callback_.is_none()) return true;
      // Anything false ends the solve, NumPy's False too; a callback without a result goes on.
      const nb::object answer = callback_(progress);
      const int go_on = answer.is_none() ? 1 : PyObject_IsTrue(answer.ptr());
      if (go_on < 0) throw nb::python_error();
      return go_on != 0;
    } catch (...) {
      error_ = std::current_exception();
      return false;
    }
  }

  /// Throws what the callback raised. With the GIL.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  nb::object callback_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::exception_ptr error_;
};

/// A report, or of an array with columns a list of them. `Held` is what Python holds as the preconditioner.
template <class Held>
nb::object solve(const PythonBackend& backend, const SparseView& matrix, const Held* preconditioner,
                 const nb::object& b, const nb::object& x, const std::string& method, double rtol, double atol,
                 const std::string& relative_to, index_t max_iterations, index_t restart, const std::string& basis,
                 const std::string& resident, double relaxation, double max_seconds, bool history,
                 const nb::object& callback) {
  if (preconditioner != nullptr && preconditioner->scalar() != matrix.scalar())
    throw InvalidArgument(std::string("solve: A is of ") + numpy_name(matrix.scalar()) + ", M of " +
                          numpy_name(preconditioner->scalar()));
  Progress progress(callback);
  SolveOptions options;
  options.rtol = rtol;
  options.atol = atol;
  options.relative_to = enumerator("solve: relative_to", relative_to, references);
  options.max_iterations = max_iterations;
  options.restart = restart;
  options.basis = enumerator("solve: basis", basis, precisions);
  options.resident = enumerator("solve: resident", resident, residences);
  options.relaxation = relaxation;
  options.max_seconds = max_seconds;
  options.history = history;
  options.progress = [&progress](const SolveProgress& shown) { return progress(shown); };

  const ArrayView right(b, "solve: b", Access::read, backend), left(x, "solve: x", Access::write, backend);
  CallerStreams callers = matrix.streams();
  right.add_stream_to(callers);
  left.add_stream_to(callers);
  const auto run = [&]<class T>(Tag<T>, auto solver, const auto& from, const auto& to) {
    return matrix.visit_scalar<T>([&](const auto& view) {
      return backend.run(callers, [&] {
        if (preconditioner == nullptr)
          return solver(LinearOperator<T>(backend.value(), view), Preconditioner<T>(), from, to, options);
        const auto lock = preconditioner->lock();
        const auto& M = preconditioner->template held<T>();
        if (M.permutation()) return solve_renumbered(solver, backend.value(), view, M, from, to, options);
        return solver(LinearOperator<T>(backend.value(), view), M.preconditioner(), from, to, options);
      });
    });
  };
  std::vector<SolveReport> reports;
  with_scalar(matrix.scalar(), [&]<class T>(Tag<T> tag) {
    if (right.dimensions() == 2) {
      const auto solver = enumerator("solve: method for several columns", method, columns_solvers<T>);
      const auto from = right.multi_vector<const T>(matrix.rows(), backend);
      reports = run(tag, solver, from, left.multi_vector<T>(matrix.rows(), backend));
    } else {
      const auto solver = enumerator("solve: method", method, solvers<T>);
      const auto from = right.vector<const T>(matrix.rows(), backend);  // b is looked at before x, which follows it
      reports.push_back(run(tag, solver, from, left.vector<T>(matrix.rows(), backend)));
    }
  });
  progress.rethrow();
  if (right.dimensions() == 2) return nb::cast(std::move(reports));
  return nb::cast(std::move(reports.front()));
}

template <class Held>
void bind_solve_with(nb::module_& module) {
  module.def("solve", &solve<Held>, nb::arg("backend"), nb::arg("matrix"), nb::arg("preconditioner").none(),
             nb::arg("b"), nb::arg("x"), nb::arg("method"), nb::arg("rtol"), nb::arg("atol"), nb::arg("relative_to"),
             nb::arg("max_iterations"), nb::arg("restart"), nb::arg("basis"), nb::arg("resident"),
             nb::arg("relaxation"), nb::arg("max_seconds"), nb::arg("history"), nb::arg("progress").none());
}

}  // namespace

void bind_solver(nb::module_& module) {
  bind_solve_with<PythonBlockJacobi>(module);
  bind_solve_with<PythonTwoLevel>(module);
  bind_solve_with<PythonMultigrid>(module);
}

}  // namespace blockjacobi::python
