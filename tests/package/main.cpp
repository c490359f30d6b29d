// What all consumers of the package build: it uses a piece of every part that drags a dependency in (zlib, OpenMP,
// Eigen, and CUDA where it is compiled in), and returns 0 only if all of it worked.
//
// usage: consumer VERSION

#include <blockjacobi/blockjacobi.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using blockjacobi::index_t;

/// tridiag(-1, 2.5, -1), written to a compressed file and read again.
blockjacobi::CsrMatrix<double> matrix_through_file(index_t rows) {
  std::vector<blockjacobi::Triplet<double>> entries;
  for (index_t row = 0; row < rows; ++row) {
    entries.push_back({row, row, 2.5});
    if (row + 1 < rows) {
      entries.push_back({row, row + 1, -1.0});
      entries.push_back({row + 1, row, -1.0});
    }
  }
  const std::filesystem::path path = "consumer.mtx.gz";
  blockjacobi::write_matrix_market(path, blockjacobi::CsrMatrix<double>::from_triplets(rows, rows, entries));
  return blockjacobi::read_matrix_market<double>(path);
}

bool solves(const blockjacobi::Backend& backend) {
  const blockjacobi::SparseMatrix<double> matrix(backend, matrix_through_file(1000));
  const blockjacobi::BlockJacobi<double> preconditioner(matrix, blockjacobi::BlockPartition::uniform(matrix.rows(), 7));
  const std::vector<double> b(static_cast<std::size_t>(matrix.rows()), 1.0);
  blockjacobi::Array<double> rhs(backend, b);
  blockjacobi::Array<double> x(backend, b.size());
  x.zero();
  const auto report = cg(matrix, preconditioner, rhs.view(), x.view());
  std::printf("%s: %s\n", backend.description().c_str(), to_text(report).c_str());
  return report.converged() && report.relative_residual() <= 1e-8;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::string(argv[1]) != blockjacobi::version) {
    std::fprintf(stderr, "headers are of version %s, not %s\n", blockjacobi::version, argc > 1 ? argv[1] : "(none)");
    return EXIT_FAILURE;
  }
  try {
    bool passed = solves(blockjacobi::Backend::host());
    if (blockjacobi::Backend::cuda_available()) passed = solves(blockjacobi::Backend::cuda()) && passed;
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
