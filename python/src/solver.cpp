#include "solver.hpp"

#include "block_jacobi.hpp"
#include "two_level.hpp"

#include <blockjacobi/solver.hpp>

#include <nanobind/stl/string.h>

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
constexpr std::array<std::pair<const char*, RelativeTo>, 2> references{
    {{"rhs", RelativeTo::rhs}, {"initial_residual", RelativeTo::initial_residual}}};
constexpr std::array<std::pair<const char*, BasisPrecision>, 2> precisions{
    {{"working", BasisPrecision::working}, {"single", BasisPrecision::single}}};

/// Solves the system in the numbering of the blocks.
template <Scalar T, Offset O>
SolveReport solve_renumbered(Solver<T> solver, const Backend& backend, const CsrView<T, O>& matrix,
                             const Permutation& permutation, const Preconditioner<T>& M, VectorView<const T> b,
                             VectorView<T> x, const SolveOptions& options) {
  const PermutedMatrix<T> renumbered(matrix, permutation);
  const LinearOperator<T> A(backend, renumbered.view());
  const std::vector<T> right = permutation.to_permuted(std::vector<T>(b.data, b.data + b.size));
  std::vector<T> left = permutation.to_permuted(std::vector<T>(x.data, x.data + x.size));
  SolveReport report = solver(A, M, right, left, options);
  const std::vector<T> found = permutation.to_original(left);
  std::copy(found.begin(), found.end(), x.data);
  return report;
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
      return callback_.is_none() || callback_(progress).ptr() != Py_False;
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

/// `Held` is what Python holds as the preconditioner.
template <class Held>
SolveReport solve(const PythonBackend& backend, const SparseView& matrix, const Held* preconditioner,
                  const nb::object& b, const nb::object& x, const std::string& method, double rtol, double atol,
                  const std::string& relative_to, index_t max_iterations, index_t restart, const std::string& basis,
                  double relaxation, double max_seconds, bool history, const nb::object& callback) {
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
  options.relaxation = relaxation;
  options.max_seconds = max_seconds;
  options.history = history;
  options.progress = [&progress](const SolveProgress& shown) { return progress(shown); };

  const ArrayView right(b, "solve: b", Access::read, backend), left(x, "solve: x", Access::write, backend);
  CallerStreams callers = matrix.streams();
  right.add_stream_to(callers);
  left.add_stream_to(callers);
  SolveReport report = with_scalar(matrix.scalar(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto solver = enumerator("solve: method", method, solvers<T>);
    const auto from = right.vector<const T>(matrix.rows(), backend);
    const auto to = left.vector<T>(matrix.rows(), backend);
    return matrix.visit_scalar<T>([&](const auto& view) {
      return backend.run(callers, [&] {
        if (preconditioner == nullptr)
          return solver(LinearOperator<T>(backend.value(), view), Preconditioner<T>(), from, to, options);
        const auto lock = preconditioner->lock();
        const auto& M = preconditioner->template held<T>();
        if (M.permutation())
          return solve_renumbered<T>(solver, backend.value(), view, *M.permutation(), M.preconditioner(), from, to,
                                     options);
        return solver(LinearOperator<T>(backend.value(), view), M.preconditioner(), from, to, options);
      });
    });
  });
  progress.rethrow();
  return report;
}

template <class Held>
void bind_solve_with(nb::module_& module) {
  module.def("solve", &solve<Held>, nb::arg("backend"), nb::arg("matrix"), nb::arg("preconditioner").none(),
             nb::arg("b"), nb::arg("x"), nb::arg("method"), nb::arg("rtol"), nb::arg("atol"), nb::arg("relative_to"),
             nb::arg("max_iterations"), nb::arg("restart"), nb::arg("basis"), nb::arg("relaxation"),
             nb::arg("max_seconds"), nb::arg("history"), nb::arg("progress").none());
}

}  // namespace

void bind_solver(nb::module_& module) {
  bind_solve_with<PythonBlockJacobi>(module);
  bind_solve_with<PythonTwoLevel>(module);
}

}  // namespace blockjacobi::python
