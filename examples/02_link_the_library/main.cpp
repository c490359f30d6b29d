// Example 2: link the library.
//
// A whole project in two files: CMakeLists.txt finds the installed package and links blockjacobi::blockjacobi; this
// program builds a small system by hand, preconditions it with dense diagonal blocks and solves it. It returns 0 only
// if the solution is the one that was built in.
//
// sample run: link_the_library
// sample run: link_the_library 200
//
// We recommend example 3 next: your own solver loop around the preconditioner.

#include <blockjacobi/blockjacobi.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

namespace {

using blockjacobi::index_t;

// A chain of `nodes` nodes with two unknowns each (say, a displacement and a rotation). Within a node the two are
// coupled by a full 2 x 2 block; between neighbours the coupling is weak.
blockjacobi::CsrMatrix<double> chain(index_t nodes) {
  std::vector<blockjacobi::Triplet<double>> entries;
  for (index_t node = 0; node < nodes; ++node) {
    const index_t u = 2 * node;
    const index_t v = u + 1;
    entries.push_back({u, u, 4.0});
    entries.push_back({u, v, 1.5});
    entries.push_back({v, u, 1.5});
    entries.push_back({v, v, 1.0});
    if (node + 1 == nodes) continue;
    entries.push_back({u, u + 2, -0.2});
    entries.push_back({u + 2, u, -0.2});
    entries.push_back({v, v + 2, -0.1});
    entries.push_back({v + 2, v, -0.1});
  }
  return blockjacobi::CsrMatrix<double>::from_triplets(2 * nodes, 2 * nodes, entries);
}

int solve(index_t nodes) {
  // 1. Where to compute. Everything that follows takes the backend, and a program may use several.
  const auto backend =
      blockjacobi::Backend::cuda_available() ? blockjacobi::Backend::cuda() : blockjacobi::Backend::host();
  std::printf("backend: %s\n", backend.description().c_str());

  // 2. The system A x = b with a solution that we know: b = A x_known. The matrix goes to the backend once; product,
  //    blocks and preconditioner take it from there.
  const blockjacobi::SparseMatrix<double> matrix(backend, chain(nodes));
  const blockjacobi::LinearOperator<double> A(matrix);
  std::vector<double> known(static_cast<std::size_t>(matrix.rows()));
  for (std::size_t i = 0; i < known.size(); ++i) known[i] = std::sin(static_cast<double>(i));
  blockjacobi::Array<double> x_known(backend, known);
  blockjacobi::Array<double> b(backend, known.size());
  A.apply(x_known.view(), b.view());

  // 3. The diagonal blocks. Here we know that a node has two unknowns; BlockPartition::detect(matrix) finds blocks
  //    from the pattern instead.
  const auto partition = blockjacobi::BlockPartition::uniform(matrix.rows(), 2);

  // 4. Set-up: extract the blocks and invert them. The default policy throws SingularBlock if one has no inverse.
  const blockjacobi::BlockJacobi<double> M(matrix, partition);
  std::printf("%s\n", to_text(M.report()).c_str());

  // 5. Solve. x holds the initial guess, here zero, and receives the solution.
  blockjacobi::Array<double> x(backend, known.size());
  x.zero();
  blockjacobi::SolveOptions options;
  options.rtol = 1e-12;
  const auto report = cg(A, M, b.view(), x.view(), options);
  std::printf("%s\n", to_text(report).c_str());

  // 6. A solve that did not converge is a value, not an exception: look at the reason.
  if (!report.converged()) return EXIT_FAILURE;

  // 7. Take the solution back to the host and compare.
  const auto solution = x.to_host();
  double error = 0.0;
  for (std::size_t i = 0; i < known.size(); ++i) error = std::max(error, std::abs(solution[i] - known[i]));
  std::printf("largest error: %.1e\n", error);
  return error <= 1e-8 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 1000;
  if (nodes < 1) {
    std::fprintf(stderr, "usage: link_the_library [NODES]; NODES is positive\n");
    return 2;
  }
  try {
    return solve(nodes);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
