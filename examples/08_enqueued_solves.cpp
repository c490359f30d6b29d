// Example 8: solves that nobody waits for.
//
// Two substances diffuse on a grid and react with each other, in implicit Euler steps: a system with two unknowns a
// node whose pattern never changes and whose values do. Everything a step needs is allocated beforehand:
//   - BsrMatrix keeps the matrix in 2 x 2 node blocks, BlockJacobi its preconditioner; refresh() of either takes
//     the new values where they lie;
//   - cg_enqueue() solves with at most so many iterations and leaves the outcome in the backend's memory.
// So a step enqueues work and returns. On CUDA the body of step() may be recorded in a graph of yours
// (cudaStreamBeginCapture on the stream that was given to Backend::cuda) and replayed. The statuses are read once, at
// the end; the program returns nonzero if a step did not converge or lost substance.
//
// sample run: 08_enqueued_solves
// sample run: 08_enqueued_solves 40 host

#include <blockjacobi/blockjacobi.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <vector>

namespace {

using blockjacobi::Array;
using blockjacobi::Backend;
using blockjacobi::CsrMatrix;
using blockjacobi::index_t;

constexpr int steps = 12;

// I + dt (L + K) on an n x n grid with insulated borders: L diffuses each substance with its own speed, K = k [1 -1; -1
// 1] turns one into the other. Columns sum to 1, so no step loses substance.
CsrMatrix<double> reaction_step(index_t n, double dt, double k) {
  const double speed[2] = {1.0, 0.1};
  std::vector<blockjacobi::Triplet<double>> entries;
  for (index_t node = 0; node < n * n; ++node)
    for (index_t s = 0; s < 2; ++s) {
      const index_t row = 2 * node + s, i = node / n, j = node % n;
      double diagonal = 1.0 + dt * k;
      const auto neighbour = [&](bool exists, index_t other) {
        if (!exists) return;
        entries.push_back({row, 2 * other + s, -dt * speed[s]});
        diagonal += dt * speed[s];
      };
      neighbour(i > 0, node - n);
      neighbour(i + 1 < n, node + n);
      neighbour(j > 0, node - 1);
      neighbour(j + 1 < n, node + 1);
      entries.push_back({row, row, diagonal});
      entries.push_back({row, 2 * node + 1 - s, -dt * k});
    }
  return CsrMatrix<double>::from_triplets(2 * n * n, 2 * n * n, entries);
}

double sum(const std::vector<double>& v) {
  double total = 0.0;
  for (const double value : v) total += value;
  return total;
}

Backend chosen_backend(int argc, char** argv) {
  const bool host = argc > 2 ? std::strcmp(argv[2], "host") == 0 : !Backend::cuda_available();
  return host ? Backend::host() : Backend::cuda();
}

int run(index_t n, const Backend& backend) {
  const index_t size = 2 * n * n;

  // A slow and a fast reaction take turns; the values of both lie in the backend's memory.
  const CsrMatrix<double> slow = reaction_step(n, 0.5, 0.1), fast = reaction_step(n, 0.5, 8.0);
  const auto values_of = [&](const CsrMatrix<double>& matrix) {
    return Array<double>(backend, std::vector<double>(matrix.values().begin(), matrix.values().end()));
  };
  const Array<double> slow_values = values_of(slow), fast_values = values_of(fast);

  blockjacobi::BsrMatrix<double> matrix(backend, slow, 2);
  blockjacobi::BlockJacobi<double> M(backend, slow, blockjacobi::BlockPartition::uniform(size, 16));
  blockjacobi::SolveOptions options;
  options.rtol = 1e-10;
  options.max_iterations = 60;
  blockjacobi::CgWorkspace<double> workspace(blockjacobi::LinearOperator<double>(matrix), M, options);

  // One substance in the middle of the grid. Two vectors take turns as right-hand side and solution.
  std::vector<double> start(static_cast<std::size_t>(size));
  start[static_cast<std::size_t>(n * n + n) / 2 * 2] = 1000.0;
  Array<double> even(backend, start), odd(backend, start);
  Array<blockjacobi::SolveStatus> statuses(backend, steps);

  const auto step = [&](int t) {
    const Array<double>& values = t % 2 == 0 ? slow_values : fast_values;
    matrix.refresh(values.data(), slow.nnz(), backend.memory_space());
    M.refresh(values.data(), slow.nnz(), backend.memory_space());
    Array<double>& from = t % 2 == 0 ? even : odd;
    Array<double>& to = t % 2 == 0 ? odd : even;
    cg_enqueue(workspace, from.view(), to.view(), statuses.data() + t);
  };
  for (int t = 0; t < steps; ++t) step(t);

  // The first time that anything waits.
  int failures = 0;
  const std::vector<blockjacobi::SolveStatus> outcomes = statuses.to_host();
  for (int t = 0; t < steps; ++t) {
    const auto& outcome = outcomes[static_cast<std::size_t>(t)];
    std::printf("step %2d: %s after %d iterations, ||b - A x|| = %.2e of %.2e\n", t, to_string(outcome.reason),
                outcome.iterations, outcome.true_residual, outcome.target);
    failures += outcome.reason != blockjacobi::StopReason::converged;
  }
  const double total = sum((steps % 2 == 0 ? even : odd).to_host());
  std::printf("substance in the end: %.9f\n", total);
  failures += std::abs(total - 1000.0) > 1e-4;
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 24;
  if (n < 2 || n > 2000) {
    std::fprintf(stderr, "usage: %s [grid points a side, 2..2000] [host|cuda]\n", argv[0]);
    return EXIT_FAILURE;
  }
  try {
    return run(n, chosen_backend(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return EXIT_FAILURE;
  }
}
