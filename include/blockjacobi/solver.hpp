#pragma once

#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/linear_operator.hpp>
#include <blockjacobi/solve_status.hpp>
#include <blockjacobi/stop_reason.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace blockjacobi {

namespace detail {
template <Scalar T>
class EnqueuedCg;
template <Scalar T>
class EnqueuedGmres;
}  // namespace detail

template <Scalar T>
class Multigrid;
template <Scalar T>
class TwoLevel;

/// Shown to the progress callback.
struct SolveProgress {
  index_t iteration = 0;
  double residual = 0.0;  ///< ||r|| of the recurrence, 2-norm
  double target = 0.0;    ///< ||r|| that ends the solve
};

/// What SolveOptions::rtol is relative to.
enum class RelativeTo {
  rhs,              ///< ||b||
  initial_residual  ///< ||b - A x0||
};

/// Precision of the stored Krylov basis of GMRES; all arithmetic is in the working precision.
enum class BasisPrecision { working, single };

/// Whether CG, BiCGSTAB and GMRES may take a whole CUDA device for many iterations in one launch, which is what is
/// fastest for systems that live in its caches (about 135 000 rows on an H200, blocks of up to 32 rows, coarse levels
/// of up to 2048 vectors, complex<double> 1024, with CG and GMRES). Such a launch starts once every multiprocessor has
/// room for it: it waits behind any long kernel of any stream, and whatever is launched meanwhile waits for its end.
/// Where the device is shared with other work, `never` has the phases of an iteration in launches of their own. Other
/// systems, backends and solvers have these in any case.
enum class Resident { automatic, never };

struct SolveOptions {
  double rtol = 1e-8;  ///< relative to ||b||, or to ||b - A x0||
  double atol = 0.0;   ///< absolute; the larger of rtol times the reference and atol counts
  RelativeTo relative_to = RelativeTo::rhs;
  index_t max_iterations = 10000;  ///< of BiCGSTAB with two products each, of GMRES and FGMRES inner ones
  index_t restart = 30;            ///< m of GMRES(m) and FGMRES(m)
  BasisPrecision basis = BasisPrecision::working;  ///< of GMRES
  Resident resident = Resident::automatic;         ///< of CG, BiCGSTAB and GMRES on CUDA
  double relaxation = 1.0;                         ///< omega of Richardson iteration
  double max_seconds = 0.0;  ///< wall time, looked at between batches of iterations; 0 for no limit
  bool history = true;       ///< fill SolveReport::history
  /// Called between batches of iterations (each on the host and, but for GMRES, with a Multigrid); false stops.
  std::function<bool(const SolveProgress&)> progress;
};

struct SolveReport {
  StopReason reason = StopReason::max_iterations;
  index_t iterations = 0;
  double rhs_norm = 0.0;             ///< ||b||
  double initial_residual = 0.0;     ///< ||b - A x0||
  double recurrence_residual = 0.0;  ///< ||r|| as the recurrence has it at the end
  /// ||b - A x||, recomputed at the end, which is what StopReason::converged goes by. Products and sums with a matrix
  /// are taken in double, also for float: but for that rounding it is the residual of x. A user's product has the
  /// working precision: then ||b - A x|| in exact arithmetic may be larger, by about eps (k + 1) || |b| + |A| |x| ||
  /// for rows of k entries.
  double true_residual = 0.0;
  double seconds = 0.0;         ///< wall time of the call
  std::vector<double> history;  ///< ||r|| of the recurrence before and after each iteration: iterations + 1 values;
                                ///< empty if the solve ended before the first residual (b = 0, singular_block)

  bool converged() const noexcept { return reason == StopReason::converged; }
  /// How far rounding has driven the recurrence from the residual: | ||b - A x|| - ||r|| | / ||b||.
  double residual_gap() const noexcept {
    const double gap =
        true_residual > recurrence_residual ? true_residual - recurrence_residual : recurrence_residual - true_residual;
    return rhs_norm > 0.0 ? gap / rhs_norm : gap;
  }
  /// ||b - A x|| / ||b||; the absolute residual if b = 0.
  double relative_residual() const noexcept { return rhs_norm > 0.0 ? true_residual / rhs_norm : true_residual; }
};

/// One line: reason, iterations, residuals and their gap, time.
[[nodiscard]] BLOCKJACOBI_EXPORT std::string to_text(const SolveReport& report);

/// z = M^-1 r for the solvers: a BlockJacobi, TwoLevel or Multigrid (referred to, so that it must outlive this object),
/// a user's function, or nothing. Copies share the function, and so do objects that were moved from. Thread safety: on
/// a host backend several threads may solve with it at once, provided that a user's function allows that, but with a
/// TwoLevel or Multigrid one at a time, as on CUDA. A refresh() excludes every solve.
template <Scalar T>
class BLOCKJACOBI_EXPORT Preconditioner {
 public:
  /// M = I.
  Preconditioner() = default;
  Preconditioner(const BlockJacobi<T>& block_jacobi);
  Preconditioner(const TwoLevel<T>& two_level);
  Preconditioner(const Multigrid<T>& multigrid);
  /// Throws InvalidArgument for rows < 0 or an empty function.
  Preconditioner(const Backend& backend, index_t rows, VectorFunction<T> solve, Capture capture = Capture::no);

  /// A move copies: what was moved from must not pass for M = I.
  Preconditioner(const Preconditioner&) = default;
  Preconditioner& operator=(const Preconditioner&) = default;
  ~Preconditioner() = default;

  /// nullptr for M = I.
  const detail::PreconditionerImpl<T>* impl() const noexcept { return impl_.get(); }
  /// None for M = I.
  const std::optional<Backend>& backend() const noexcept { return backend_; }

 private:
  std::optional<Backend> backend_;
  std::shared_ptr<const detail::PreconditionerImpl<T>> impl_;
};

/// Preconditioned conjugate gradients (Hestenes and Stiefel, 1952) for Hermitian positive definite A and M.
///
/// x holds the initial guess and receives the solution. b and x are A.rows() long and lie in the backend's space or
/// on the host (then they are copied). Blocks until the solve ended. Scalars stay on the device; the stop flag is read
/// once a batch of iterations (up to 64 of a small system on CUDA), without draining the stream, and steps after the
/// stop change nothing. The recurrence residual is replaced by b - A x where it claims convergence that the recomputed
/// residual does not show. For b = 0 the result is x = 0. Norms are sums of squares in double, so ||b|| must lie within
/// 1e-140 .. 1e140 (or be 0): other systems end with nan_or_inf, scale them first. Ends with indefinite_matrix for p^H
/// A p < 0, indefinite_preconditioner for r^H M^-1 r < 0, breakdown where one of them is 0. With nan_or_inf x is the
/// last iterate that was finite. Memory: 4 vectors (3 without M, 8 where the system is taken in one launch, see
/// Resident; with a coarse level 12 there, and 10 scalars for each vector of it). Two runs on one device give the same
/// bits. Throws InvalidArgument for lengths, spaces, backends or options that do not fit, before any launch, and
/// CudaError for an error that an earlier CUDA call left to be found by cudaGetLastError(), but for cudaErrorNotReady;
/// either is forgotten then.
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT SolveReport cg(const LinearOperator<T>& A,
                                                const std::type_identity_t<Preconditioner<T>>& M,
                                                std::type_identity_t<VectorView<const T>> b,
                                                std::type_identity_t<VectorView<T>> x,
                                                const SolveOptions& options = {});

/// Flexible conjugate gradients (FCG(1) of Notay, 2000; beta of Polak and Ribiere): cg() for a preconditioner that
/// changes from one application to the next, at the price of two more dots. Otherwise as cg().
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT SolveReport fcg(const LinearOperator<T>& A,
                                                 const std::type_identity_t<Preconditioner<T>>& M,
                                                 std::type_identity_t<VectorView<const T>> b,
                                                 std::type_identity_t<VectorView<T>> x,
                                                 const SolveOptions& options = {});

/// Preconditioned MINRES (Paige and Saunders, 1975) for Hermitian A, indefinite or singular as it may be, and Hermitian
/// positive definite M; an iteration has one product and one preconditioner application. Iteration k minimizes the norm
/// of b - A x in M^-1, sqrt(r^H M^-1 r), over x0 + K_k(M^-1 A, M^-1 r0).
///
/// With M = I that is ||b - A x||, which never grows. With another M it is not, and ||b - A x|| may grow on the way; it
/// is ||b - A x|| all the same that history and progress show and that the target is for: the residual itself is kept,
/// r = s^2 r - c eta v / rho, by a recurrence of its own from the Lanczos vectors and rotations, at the price of one
/// vector and a dot. Like CG's it is replaced by b - A x where it claims convergence that the recomputed residual does
/// not show.
///
/// For singular A and b in its range x is a solution. For b outside of its range x comes near a least-squares solution;
/// the solve ends with stagnation where A r is 0 but for rounding, and else x grows until max_iterations. Ends with
/// indefinite_preconditioner for v^H M^-1 v < 0, breakdown where a denominator is 0. That A and M are Hermitian is not
/// checked; if they are not, r drifts from b - A x. BlockJacobi of an indefinite A is indefinite as a rule: take the
/// blocks of a definite matrix near A. Memory: 7 vectors (6 without M). Otherwise as cg().
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT SolveReport minres(const LinearOperator<T>& A,
                                                    const std::type_identity_t<Preconditioner<T>>& M,
                                                    std::type_identity_t<VectorView<const T>> b,
                                                    std::type_identity_t<VectorView<T>> x,
                                                    const SolveOptions& options = {});

/// cg() for the columns of B and X, each a system of its own: B and X are A.rows() x k, of any layout, in the backend's
/// space or on the host. An iteration reads matrix, blocks and pattern once for all columns (of a user's product or
/// preconditioner, a BsrMatrix, a TwoLevel, a Multigrid or, on CUDA, a matrix with rows of very different lengths, it
/// takes one column after the other). Each column has its own scalars, stop and report, as if it were solved alone but
/// for the order of sums, and changes no more once it has stopped; what it claims is looked at, and followed up, when
/// no other runs any more. SolveReport::seconds is the time of the call; the progress callback is shown the column that
/// runs and is furthest from its target; clock and callback stop all columns.
///
/// The columns are solved interleaved by rows, eight side by side, so that every view is converted twice; row-major
/// views are so in the fewest sectors. More than 64 columns are solved 64 at a time, for which max_seconds counts anew.
/// A single column that is contiguous is solved by cg(). Memory, with k rounded up to a multiple of 8: 5 n k (4 n k
/// without M) and 3 n. Two runs on one device give the same bits. Throws InvalidArgument as cg() does, for numbers of
/// columns that differ, and for a leading dimension that is too small.
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT std::vector<SolveReport> cg_columns(const LinearOperator<T>& A,
                                                                     const std::type_identity_t<Preconditioner<T>>& M,
                                                                     std::type_identity_t<MultiVectorView<const T>> B,
                                                                     std::type_identity_t<MultiVectorView<T>> X,
                                                                     const SolveOptions& options = {});

/// Right-preconditioned BiCGSTAB (van der Vorst, 1992) for general A; an iteration has two products and two
/// preconditioner applications. Its residual is b - A x, whatever M is, and need not fall monotonically. Where a
/// denominator vanishes the recurrence begins anew from b - A x as long as that halves the residual, else the solve
/// ends with breakdown. Memory: 7 vectors (5 without M, 11 in one launch). Otherwise as cg().
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT SolveReport bicgstab(const LinearOperator<T>& A,
                                                      const std::type_identity_t<Preconditioner<T>>& M,
                                                      std::type_identity_t<VectorView<const T>> b,
                                                      std::type_identity_t<VectorView<T>> x,
                                                      const SolveOptions& options = {});

/// Damped Richardson iteration x += relaxation M^-1 (b - A x), a smoother and a test of M: it converges if every
/// eigenvalue of I - relaxation M^-1 A lies within the unit circle. r is b - A x in every iteration, never a
/// recurrence; divergence ends with max_iterations or nan_or_inf, and then x may not be finite. Memory: 2 vectors (1
/// without M). Otherwise as cg(). Throws also unless relaxation > 0 is finite.
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT SolveReport richardson(const LinearOperator<T>& A,
                                                        const std::type_identity_t<Preconditioner<T>>& M,
                                                        std::type_identity_t<VectorView<const T>> b,
                                                        std::type_identity_t<VectorView<T>> x,
                                                        const SolveOptions& options = {});

/// Right-preconditioned restarted GMRES(m) (Saad and Schultz, 1986) for general A: minimizes ||b - A x|| over
/// x0 + M^-1 K_m(A M^-1, r0), with twice-applied classical Gram-Schmidt. Otherwise as cg(), but the stop flag is read,
/// and with that the stream waited for, as every cycle begins and after every 16 inner iterations on CUDA: three times
/// a cycle for m = 30. Where the system is taken in one launch (see Resident; m <= 64, basis in the working precision),
/// that is as many whole cycles as fit into 64 inner iterations, and the stop flag is read as of CG. iterations counts
/// inner iterations. x changes at the end of a cycle, and not at all where the correction is not finite. Memory: m + 3
/// vectors (m + 5 in one launch, with a coarse level m + 9, and 10 scalars for each vector of it) and m^2 + 5 m
/// scalars, m = min(restart, max_iterations, rows). Throws also for restart < 1.
///
/// With BasisPrecision::single and a working precision of double, the basis is stored in single precision (Aliaga,
/// Anzt, Gruetzmacher, Quintana-Orti and Tomas, 2022), which halves most of the memory and of its traffic. A cycle then
/// reduces the residual by at most about 1e6; it ends there, and the next one begins from b - A x in double.
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT SolveReport gmres(const LinearOperator<T>& A,
                                                   const std::type_identity_t<Preconditioner<T>>& M,
                                                   std::type_identity_t<VectorView<const T>> b,
                                                   std::type_identity_t<VectorView<T>> x,
                                                   const SolveOptions& options = {});

/// gmres() for the columns of B and X, as cg_columns(): products and preconditioner take all of them at
/// once, but each is orthogonalized for itself, with a launch for every phase and column. Cycles of all columns begin
/// together; a column whose cycle ends early waits for the others. Memory: k (m + 2) n, 3 n k with k rounded up to a
/// multiple of 8, 3 n, and for each column m^2 + 5 m scalars. Throws also for restart < 1.
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT std::vector<SolveReport> gmres_columns(
    const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
    std::type_identity_t<MultiVectorView<const T>> B, std::type_identity_t<MultiVectorView<T>> X,
    const SolveOptions& options = {});

/// Flexible GMRES(m) (Saad, 1993): gmres() for a preconditioner that changes from one application to the next. It keeps
/// the vectors M^-1 v_j, m more of them. Otherwise as gmres(); throws also for BasisPrecision::single.
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT SolveReport fgmres(const LinearOperator<T>& A,
                                                    const std::type_identity_t<Preconditioner<T>>& M,
                                                    std::type_identity_t<VectorView<const T>> b,
                                                    std::type_identity_t<VectorView<T>> x,
                                                    const SolveOptions& options = {});

namespace detail {
template <class Matrix>
struct ScalarOf;
template <Scalar T>
struct ScalarOf<SparseMatrix<T>> {
  using type = T;
};
template <class Matrix>
using scalar_of = typename ScalarOf<Matrix>::type;
}  // namespace detail

/// All of them for a SparseMatrix, as for a LinearOperator of it.
template <class Matrix, Scalar T = detail::scalar_of<Matrix>>
[[nodiscard]] SolveReport cg(const Matrix& A, const std::type_identity_t<Preconditioner<T>>& M,
                             std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
                             const SolveOptions& options = {}) {
  return cg(LinearOperator<T>(A), M, b, x, options);
}
template <class Matrix, Scalar T = detail::scalar_of<Matrix>>
[[nodiscard]] SolveReport fcg(const Matrix& A, const std::type_identity_t<Preconditioner<T>>& M,
                              std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
                              const SolveOptions& options = {}) {
  return fcg(LinearOperator<T>(A), M, b, x, options);
}
template <class Matrix, Scalar T = detail::scalar_of<Matrix>>
[[nodiscard]] SolveReport minres(const Matrix& A, const std::type_identity_t<Preconditioner<T>>& M,
                                 std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
                                 const SolveOptions& options = {}) {
  return minres(LinearOperator<T>(A), M, b, x, options);
}
template <class Matrix, Scalar T = detail::scalar_of<Matrix>>
[[nodiscard]] SolveReport bicgstab(const Matrix& A, const std::type_identity_t<Preconditioner<T>>& M,
                                   std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
                                   const SolveOptions& options = {}) {
  return bicgstab(LinearOperator<T>(A), M, b, x, options);
}
template <class Matrix, Scalar T = detail::scalar_of<Matrix>>
[[nodiscard]] SolveReport richardson(const Matrix& A, const std::type_identity_t<Preconditioner<T>>& M,
                                     std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
                                     const SolveOptions& options = {}) {
  return richardson(LinearOperator<T>(A), M, b, x, options);
}
template <class Matrix, Scalar T = detail::scalar_of<Matrix>>
[[nodiscard]] SolveReport gmres(const Matrix& A, const std::type_identity_t<Preconditioner<T>>& M,
                                std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
                                const SolveOptions& options = {}) {
  return gmres(LinearOperator<T>(A), M, b, x, options);
}
template <class Matrix, Scalar T = detail::scalar_of<Matrix>>
[[nodiscard]] SolveReport fgmres(const Matrix& A, const std::type_identity_t<Preconditioner<T>>& M,
                                 std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
                                 const SolveOptions& options = {}) {
  return fgmres(LinearOperator<T>(A), M, b, x, options);
}

template <class Matrix, Scalar T = detail::scalar_of<Matrix>>
[[nodiscard]] std::vector<SolveReport> cg_columns(const Matrix& A, const std::type_identity_t<Preconditioner<T>>& M,
                                                  std::type_identity_t<MultiVectorView<const T>> B,
                                                  std::type_identity_t<MultiVectorView<T>> X,
                                                  const SolveOptions& options = {}) {
  return cg_columns(LinearOperator<T>(A), M, B, X, options);
}
template <class Matrix, Scalar T = detail::scalar_of<Matrix>>
[[nodiscard]] std::vector<SolveReport> gmres_columns(const Matrix& A, const std::type_identity_t<Preconditioner<T>>& M,
                                                     std::type_identity_t<MultiVectorView<const T>> B,
                                                     std::type_identity_t<MultiVectorView<T>> X,
                                                     const SolveOptions& options = {}) {
  return gmres_columns(LinearOperator<T>(A), M, B, X, options);
}

/// All that cg_enqueue() needs, allocated beforehand: vectors, scalars, and the decision about every launch. Holds A
/// and M; a BlockJacobi or a matrix that they refer to must outlive it. One solve at a time; solves with different
/// workspaces may run at the same time, see cg_enqueue(). One that was moved from may be assigned to and destroyed; a
/// solve with it throws InvalidArgument.
template <Scalar T>
class BLOCKJACOBI_EXPORT CgWorkspace {
 public:
  /// Of the options rtol, atol, relative_to, max_iterations and resident count. Waits. Throws InvalidArgument for what
  /// does not fit as cg(), for user functions with Capture::no, and for max_seconds or progress, which no host sees.
  CgWorkspace(const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
              const SolveOptions& options = {});
  /// A temporary would be gone before the first solve.
  CgWorkspace(const LinearOperator<T>& A, BlockJacobi<T>&& M, const SolveOptions& options = {}) = delete;
  CgWorkspace(CgWorkspace&&) noexcept;
  CgWorkspace& operator=(CgWorkspace&&) noexcept;
  ~CgWorkspace();

  detail::EnqueuedCg<T>& impl() { return *impl_; }

 private:
  detail::SoleOwner<detail::EnqueuedCg<T>> impl_;
};

/// All that gmres_enqueue() needs; restart and basis count as well. Otherwise as CgWorkspace. Throws also as gmres().
template <Scalar T>
class BLOCKJACOBI_EXPORT GmresWorkspace {
 public:
  GmresWorkspace(const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
                 const SolveOptions& options = {});
  GmresWorkspace(const LinearOperator<T>& A, BlockJacobi<T>&& M, const SolveOptions& options = {}) = delete;
  GmresWorkspace(GmresWorkspace&&) noexcept;
  GmresWorkspace& operator=(GmresWorkspace&&) noexcept;
  ~GmresWorkspace();

  detail::EnqueuedGmres<T>& impl() { return *impl_; }

 private:
  detail::SoleOwner<detail::EnqueuedGmres<T>> impl_;
};

/// cg() without a look at the outcome: enqueues max_iterations iterations on the backend's stream, of which those after
/// the stop change nothing, and writes the outcome to *status. Allocates nothing and waits for nothing, so that it can
/// be recorded in a CUDA graph, also after BlockJacobi::refresh() in the same graph, and replayed with new values of
/// the matrix, of b and of x; on the host backend it solves at once. b, x and status lie in the backend's memory and
/// are read and written when the work runs. All scratch of the solve belongs to its workspace, so that graphs with
/// solves recorded on one backend may be launched in several streams at the same time; what they share must only be
/// read then, which is so of a BlockJacobi and of a matrix, unless cuSPARSE multiplies with it (rows much longer than
/// the mean), but not of a TwoLevel or Multigrid.
///
/// The recurrence goes on to 0.9 of the target, since its claim of convergence cannot be followed up: if the recomputed
/// residual does not show it, the reason is stagnation. singular_block stands for a refresh under SingularPolicy::fail
/// that met one; x is as it was then. Throws InvalidArgument for lengths and spaces that do not fit, overlapping b and
/// x, or a null status, and CudaError as cg() for an earlier error.
template <Scalar T>
BLOCKJACOBI_EXPORT void cg_enqueue(CgWorkspace<T>& workspace, std::type_identity_t<VectorView<const T>> b,
                                   std::type_identity_t<VectorView<T>> x, SolveStatus* status);

/// The same for gmres(): as many cycles as max_iterations inner iterations take.
template <Scalar T>
BLOCKJACOBI_EXPORT void gmres_enqueue(GmresWorkspace<T>& workspace, std::type_identity_t<VectorView<const T>> b,
                                      std::type_identity_t<VectorView<T>> x, SolveStatus* status);

}  // namespace blockjacobi
