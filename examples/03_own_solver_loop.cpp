// Example 3: your own solver loop.
//
// Three ways in which the preconditioner meets code that is yours:
//   - a solver loop of your own, on your own host arrays, calls BlockJacobi::apply;
//   - new values of the same pattern (a time step, a Newton step) go in with refresh(), which allocates nothing;
//   - the library's cg() takes your matrix-free product as a function.
// Every result is checked; the program returns nonzero if one is wrong.
//
// sample run: 03_own_solver_loop
// sample run: 03_own_solver_loop 40

#include <blockjacobi/blockjacobi.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

namespace {

using blockjacobi::Backend;
using blockjacobi::BlockJacobi;
using blockjacobi::CsrMatrix;
using blockjacobi::index_t;
using blockjacobi::VectorView;
using Vector = std::vector<double>;

constexpr double tolerance = 1e-10;

// Implicit Euler for heat conduction in a square plate: I + dt L on an n x n grid, where L is the five-point Laplacian.
// The pattern does not depend on dt, the values do.
double diagonal(double dt) { return 1.0 + 4.0 * dt; }

CsrMatrix<double> heat_step(index_t n, double dt) {
  std::vector<blockjacobi::Triplet<double>> entries;
  for (index_t row = 0; row < n * n; ++row) {
    const index_t i = row / n;
    const index_t j = row % n;
    entries.push_back({row, row, diagonal(dt)});
    if (i > 0) entries.push_back({row, row - n, -dt});
    if (j > 0) entries.push_back({row, row - 1, -dt});
    if (j + 1 < n) entries.push_back({row, row + 1, -dt});
    if (i + 1 < n) entries.push_back({row, row + n, -dt});
  }
  return CsrMatrix<double>::from_triplets(n * n, n * n, entries);
}

// The same product without a matrix: y = (I + dt L) x.
void apply_heat_step(index_t n, double dt, const double* x, double* y) {
  for (index_t row = 0; row < n * n; ++row) {
    const index_t i = row / n;
    const index_t j = row % n;
    double neighbours = 0.0;
    if (i > 0) neighbours += x[row - n];
    if (j > 0) neighbours += x[row - 1];
    if (j + 1 < n) neighbours += x[row + 1];
    if (i + 1 < n) neighbours += x[row + n];
    y[row] = diagonal(dt) * x[row] - dt * neighbours;
  }
}

double norm(const Vector& v) {
  double sum = 0.0;
  for (const double value : v) sum += value * value;
  return std::sqrt(sum);
}

// r = b - A x with the matrix-free product.
Vector residual(index_t n, double dt, const Vector& b, const Vector& x) {
  Vector r(b.size());
  apply_heat_step(n, dt, x.data(), r.data());
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
  return r;
}

// Preconditioned Richardson, the shortest solver there is: x = x + M^-1 (b - A x). It converges here because A is an
// M-matrix, for which block Jacobi is a regular splitting. Returns the number of steps, or -1 after 1000.
int richardson(index_t n, double dt, const BlockJacobi<double>& M, const Vector& b, Vector& x) {
  Vector z(b.size());
  for (int step = 0; step < 1000; ++step) {
    const Vector r = residual(n, dt, b, x);
    if (norm(r) <= tolerance * norm(b)) return step;
    // A std::vector is a view of the host; r and z may be any contiguous memory of yours.
    M.apply(r, z);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += z[i];
  }
  return -1;
}

// Says what was measured and whether it is what it should be.
bool check(const char* what, bool right, double value) {
  std::printf("%-52s %10.3g  %s\n", what, value, right ? "right" : "WRONG");
  return right;
}

double relative_residual(index_t n, double dt, const Vector& b, const Vector& x) {
  return norm(residual(n, dt, b, x)) / norm(b);
}

int demonstrate(index_t n) {
  const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  bool right = true;

  // 1. Arrays of yours on the host ask for the host backend. (On CUDA the same calls take device memory.)
  const auto backend = Backend::host();

  // 2. The preconditioner of the first time step; one block is a part of a grid line.
  double dt = 0.1;
  const auto first = heat_step(n, dt);
  BlockJacobi<double> M(backend, first, blockjacobi::BlockPartition::uniform(n * n, 16));

  // 3. Your loop.
  const Vector b(size, 1.0);
  Vector x(size, 0.0);
  const int steps = richardson(n, dt, M, b, x);
  right &= check("own loop, dt = 0.1: steps", steps > 0, steps);
  right &= check("own loop, dt = 0.1: ||b - A x|| / ||b||", relative_residual(n, dt, b, x) <= tolerance,
                 relative_residual(n, dt, b, x));

  // 4. A larger time step has the same pattern: refresh() takes the new values in the order of the matrix given to the
  //    constructor. This is the whole cost of a new preconditioner; pattern analysis and memory stay.
  dt = 0.5;
  const auto second = heat_step(n, dt);
  M.refresh(second.values().data(), second.nnz(), blockjacobi::MemorySpace::host);

  // 5. The refreshed preconditioner is the one that a new construction would give, bit for bit.
  const BlockJacobi<double> anew(backend, second, blockjacobi::BlockPartition::uniform(n * n, 16));
  const index_t last = M.partition().blocks() - 1;
  right &= check("refreshed inverse of the last block = built anew", M.inverse_block(last) == anew.inverse_block(last),
                 M.inverse_block(last).front());

  // 6. Your loop again, starting from the first solution.
  const int more_steps = richardson(n, dt, M, b, x);
  right &= check("own loop, dt = 0.5: steps", more_steps > 0, more_steps);
  right &= check("own loop, dt = 0.5: ||b - A x|| / ||b||", relative_residual(n, dt, b, x) <= tolerance,
                 relative_residual(n, dt, b, x));

  // 7. Or let cg() run the loop and give it your product: no matrix is needed for A, only for the blocks of M.
  const blockjacobi::LinearOperator<double> product(
      backend, n * n,
      [n, dt](VectorView<const double> in, VectorView<double> out) { apply_heat_step(n, dt, in.data, out.data); });
  Vector y(size, 0.0);
  blockjacobi::SolveOptions options;
  options.rtol = tolerance;
  const auto report = cg(product, M, b, y, options);
  std::printf("%s\n", to_text(report).c_str());
  right &= check("cg with a user's product: iterations", report.converged(), report.iterations);
  right &= check("cg with a user's product: ||b - A x|| / ||b||", relative_residual(n, dt, b, y) <= 1.01 * tolerance,
                 relative_residual(n, dt, b, y));

  // 8. Krylov acceleration pays: far fewer applications of M than the plain loop.
  right &= check("cg needs fewer steps than the loop", report.iterations < more_steps, report.iterations);
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 64;
  if (n < 8 || n > 2000) {
    std::fprintf(stderr, "usage: 03_own_solver_loop [N]; the grid has N x N points, 8 <= N <= 2000\n");
    return 2;
  }
  try {
    return demonstrate(n);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
