// Writes a generated matrix as .mtx and .mtx.gz, reads both back and prints megabytes of text per second of processor
// time (one core; the best of three). The matrix is a 7-point stencil on GRID^3 points with random values of full
// length, the slowest to parse and to pack.

#include <blockjacobi/matrix_market.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using blockjacobi::CsrMatrix;
using blockjacobi::index_t;
using blockjacobi::offset_t;

CsrMatrix<double> random_stencil(index_t grid) {
  std::mt19937_64 engine(1);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const index_t plane = grid * grid;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t i = 0; i < plane * grid; ++i) {
    const index_t x = i % grid, y = i / grid % grid, z = i / plane;
    const auto couple = [&](bool inside, index_t j) {
      if (!inside) return;
      columns.push_back(j);
      values.push_back(uniform(engine));
    };
    couple(z > 0, i - plane);
    couple(y > 0, i - grid);
    couple(x > 0, i - 1);
    couple(true, i);
    couple(x + 1 < grid, i + 1);
    couple(y + 1 < grid, i + grid);
    couple(z + 1 < grid, i + plane);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return {plane * grid, plane * grid, std::move(offsets), std::move(columns), std::move(values)};
}

template <class F>
double seconds(F&& f) {
  double best = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < 3; ++repeat) {
    const std::clock_t start = std::clock();
    f();
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

void measure(const std::filesystem::path& path, const CsrMatrix<double>& matrix, double& text_megabytes) {
  const double write = seconds([&] { blockjacobi::write_matrix_market(path, matrix); });
  const double megabytes = static_cast<double>(std::filesystem::file_size(path)) * 1e-6;
  if (path.extension() != ".gz") text_megabytes = megabytes;
  offset_t nnz = 0;
  const double read = seconds([&] { nnz = blockjacobi::read_matrix_market<double>(path).nnz(); });
  std::cout << path.filename().string() << ": " << nnz << " entries, " << megabytes << " MB on disk, " << text_megabytes
            << " MB of text; write " << text_megabytes / write << " MB/s, read " << text_megabytes / read << " MB/s\n";
  std::filesystem::remove(path);
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Times the reader and the writer of Matrix Market files, plain and packed.", "matrix_market_throughput");
  index_t grid = 64;
  std::filesystem::path folder = std::filesystem::temp_directory_path();
  app.add_option("grid", grid, "the matrix has grid^3 rows")->check(CLI::Range(1, 500))->capture_default_str();
  app.add_option("folder", folder, "of the files, which are removed")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const CsrMatrix<double> matrix = random_stencil(grid);
  double text_megabytes = 0.0;
  measure(folder / "blockjacobi_throughput.mtx", matrix, text_megabytes);
  measure(folder / "blockjacobi_throughput.mtx.gz", matrix, text_megabytes);
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::cerr << "matrix_market_throughput: " << error.what() << '\n';
  return 2;
}
