/// Krylov iterations on model problems against their byte floors and against cuSPARSE and cuBLAS, and whole solves of
/// given matrices, as records in JSON.
///
///   solve OUT.json [--systems "7-point 128^3","27-point 64^3 3-dof",...] [--cg FILE.mtx.gz ...] [--gmres FILE.mtx.gz
///         ...] [--products FILE.mtx.gz ...]
///
/// Time of an iteration: a whole solve of 90 iterations over these, median of the solves. Marginal: what 256 (GMRES:
/// 240, BiCGSTAB: 96) iterations more cost in one solve; of CG out of cuSPARSE and cuBLAS there is nothing else. The
/// floor is the bytes that an iteration must move at the speed of a copy: product 12 nnz + 20 n, application 8 sum N^2
/// + 16 n, the rest of CG 56 n, BiCGSTAB twice the same and 160 n, of GMRES(30) three times the basis of iteration j
/// = 1..30, on average, and 6 vectors. In block rows of order b ("bsr") the product has 8 b^2 + 4 bytes a block, a
/// basis in single precision ("fp32 basis") 4 an element. CG for "8 columns" reads matrix and blocks once for all of
/// them, and moves 88 n for each.
#include "solve/cusparse_peer.hpp"
#include "solve/model_system.hpp"
#include "solve/products.hpp"
#include "solve/record.hpp"
#include "solve/unfused_cg.hpp"
#include "solve/whole_solve.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <limits>
#include <span>

namespace {

using namespace bench;
using namespace blockjacobi;

/// Without loss first: what symmetric systems may always have.
constexpr Storage reduced_storages[] = {Storage::packed, Storage::fp32, Storage::bf16, Storage::fp16,
                                        Storage::adaptive};

struct Options {
  std::string out;
  std::vector<std::string> systems{"7-point 16^3",  "7-point 25^3",       "7-point 40^3",  "7-point 50^3",
                                   "7-point 64^3",  "7-point 80^3",       "7-point 100^3", "7-point 128^3",
                                   "7-point 256^3", "27-point 64^3 3-dof"};
  std::vector<std::string> cg, gmres, products;
  int repetitions = 5;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Seconds that `more` iterations cost beyond the first `few`; solve(iterations) returns the seconds of a solve.
template <class Solve>
double seconds_of(int few, int more, int repetitions, Solve solve) {
  std::vector<double> shorter, longer;
  for (int i = 0; i <= repetitions; ++i) {
    const double s = solve(few), l = solve(few + more);
    if (i == 0) continue;
    shorter.push_back(s);
    longer.push_back(l);
  }
  return (median(longer) - median(shorter)) / more;
}

/// Of a solve by whose time that of an iteration is told.
constexpr int whole_iterations = 90;

template <class Solve>
double median_seconds(int iterations, int repetitions, Solve solve) {
  std::vector<double> seconds;
  for (int i = 0; i <= repetitions; ++i) seconds.push_back(solve(iterations));
  seconds.erase(seconds.begin());
  return median(seconds);
}

class ModelBenchmark {
 public:
  ModelBenchmark(const Backend& backend, const Timer& timer, const ModelSystem& system, int repetitions)
      : backend_(backend),
        timer_(timer),
        system_(system),
        repetitions_(repetitions),
        matrix_(backend, matrices::stencil<double>(system.stencil)),
        A_(matrix_),
        b_(right_hand_side(A_, false)),
        x_(backend, b_.size()) {}

  void run(SolveReports& reports) {
    add_csr_products(reports, timer_, A_, matrix_, b_, x_, record("spmv", ""));
    for (const index_t block : system_.blocks) {
      const BlockPartition partition = BlockPartition::uniform(matrix_.rows(), block);
      const BlockJacobi<double> M(matrix_, partition);
      reports.add(iteration("cg", M));
      reports.add(solve("cg", M));
      reports.add(unfused(M));
      if (block == 32) reduced_storage(reports, partition, reduced_storages);
      if (block == 8) reduced_storage(reports, partition, std::span(reduced_storages).first<1>());
      if (block == 8) reports.add(columns_iteration(M));
      if (block != 8 || !system_.all_solvers) continue;
      reports.add(iteration("bicgstab", M));
      reports.add(solve("bicgstab", M));
      reports.add(iteration("gmres", M));
      reports.add(solve("gmres", M));
      low_basis_ = true;
      reports.add(iteration("gmres", M));
      reports.add(solve("gmres", M));
      low_basis_ = false;
    }
    if (system_.stencil.unknowns > 1) block_rows(reports);
  }

 private:
  double product_bytes() const {
    if (!bsr_) return csr_product_bytes(matrix_);
    const double block = bsr_->block();
    return static_cast<double>(bsr_->blocks()) * (8.0 * block * block + 4.0) + (4.0 / block + 16.0) * matrix_.rows();
  }
  double iteration_bytes(const std::string& solver, const BlockJacobi<double>& M) const {
    const double n = matrix_.rows();
    const double apply = static_cast<double>(M.report().inverse_bytes) + 16.0 * n;
    if (solver == "bicgstab") return 2.0 * (product_bytes() + apply) + 160.0 * n;
    return product_bytes() + apply +
           (solver == "cg" ? 56.0 * n : (low_basis_ ? 3.0 * 15.5 * 4.0 + 6.0 * 8.0 : (3.0 * 15.5 + 6.0) * 8.0) * n);
  }
  const LinearOperator<double>& A() const { return by_blocks_ ? *by_blocks_ : A_; }
  SolveRecord record(const std::string& operation, const std::string& implementation) const {
    SolveRecord r{operation, implementation, system_.name};
    r.rows = matrix_.rows();
    r.nnz = matrix_.nnz();
    if (implementation == "blockjacobi") r.storage = bsr_ ? "bsr" : low_basis_ ? "fp32 basis" : storage_;
    return r;
  }
  SolveRecord record(const std::string& operation, const std::string& implementation, const std::string& solver,
                     const BlockJacobi<double>& M) const {
    SolveRecord r = record(operation, implementation);
    r.partition = "uniform";
    r.solver = solver;
    r.block = M.partition().largest_block();
    return r;
  }

  /// CG with the inverses in reduced storages.
  void reduced_storage(SolveReports& reports, const BlockPartition& partition, std::span<const Storage> storages) {
    for (const Storage storage : storages) {
      const BlockJacobi<double> M(matrix_, partition, {.storage = storage});
      storage_ = to_string(storage);
      reports.add(iteration("cg", M));
      reports.add(solve("cg", M));
    }
    storage_ = to_string(Storage::full);
  }

  /// Products and CG with the operator in block rows of the unknowns of a node.
  void block_rows(SolveReports& reports) {
    bsr_.emplace(backend_, narrow_view(matrix_), system_.stencil.unknowns);
    by_blocks_.emplace(*bsr_);
    const auto& b = b_;
    SolveRecord product = record("spmv", "blockjacobi");
    product.floor_bytes = product_bytes();
    reports.add(product_record(timer_, product, backend_.stream(), [&] { by_blocks_->apply(b.view(), x_.view()); }));
    const BlockPartition partition = BlockPartition::uniform(matrix_.rows(), system_.blocks[1]);
    const BlockJacobi<double> M(matrix_, partition);
    reports.add(iteration("cg", M));
    reports.add(solve("cg", M));
    by_blocks_.reset();
    bsr_.reset();
  }

  SolveReport run_solver(const std::string& solver, const BlockJacobi<double>& M, const SolveOptions& options) {
    x_.zero();
    backend_.synchronize();
    const auto& b = b_;
    if (solver == "bicgstab") return bicgstab(A(), M, b.view(), x_.view(), options);
    return solver == "cg" ? cg(A(), M, b.view(), x_.view(), options) : gmres(A(), M, b.view(), x_.view(), options);
  }

  SolveRecord iteration(const std::string& solver, const BlockJacobi<double>& M) {
    SolveRecord r = record(solver + "_iteration", "blockjacobi", solver, M);
    const int few = solver == "cg" ? 64 : solver == "gmres" ? 60 : 32;
    r.iterations = solver == "cg" ? 256 : solver == "gmres" ? 240 : 96;
    r.floor_bytes = iteration_bytes(solver, M);
    SolveOptions options = options_of(solver);
    options.rtol = 0.0;
    options.history = false;
    measure(r, few, [&](int iterations) {
      options.max_iterations = iterations;
      const SolveReport report = run_solver(solver, M, options);
      // What ended early would look fast; the table refuses a row with a reason.
      if (report.iterations != iterations) r.reason = to_string(report.reason);
      return report.seconds;
    });
    return r;
  }

  /// Both times of an iteration; solve(iterations) returns the seconds of a solve.
  template <class Solve>
  void measure(SolveRecord& r, int few, Solve solve) const {
    r.marginal_ms = 1e3 * seconds_of(few, r.iterations, repetitions_, solve);
    r.time_ms = 1e3 * median_seconds(whole_iterations, 3 * repetitions_, solve) / whole_iterations;
  }

  /// CG for several columns at once.
  SolveRecord columns_iteration(const BlockJacobi<double>& M) {
    constexpr index_t columns = 8;
    const double n = matrix_.rows();
    SolveRecord r = record("cg_iteration", "blockjacobi", "cg", M);
    r.storage = "8 columns";
    r.iterations = 256;
    r.floor_bytes = product_bytes() - 16.0 * n + static_cast<double>(M.report().inverse_bytes) + columns * 88.0 * n;
    Array<double> B(backend_, columns * b_.size()), X(backend_, columns * b_.size());
    const auto view = [&](auto* data) {
      return MultiVectorView<std::remove_pointer_t<decltype(data)>>{
          data, matrix_.rows(), columns, matrix_.rows(), Layout::column_major, backend_.memory_space()};
    };
    const std::vector<double> b = b_.to_host();
    std::vector<double> all;
    for (index_t c = 0; c < columns; ++c) all.insert(all.end(), b.begin(), b.end());
    B.copy_from_host(all.data());
    SolveOptions options;
    options.rtol = 0.0;
    options.history = false;
    measure(r, 64, [&](int iterations) {
      options.max_iterations = iterations;
      X.zero();
      backend_.synchronize();
      const std::vector<SolveReport> found =
          cg_columns(A(), M, view(static_cast<const double*>(B.data())), view(X.data()), options);
      for (const SolveReport& report : found)
        if (report.iterations != iterations) r.reason = to_string(report.reason);
      return found.front().seconds;
    });
    return r;
  }

  SolveOptions options_of(const std::string& solver) const {
    SolveOptions options;
    if (solver == "gmres" && low_basis_) options.basis = BasisPrecision::single;
    return options;
  }

  /// To 1e-8, for what comes of it.
  SolveRecord solve(const std::string& solver, const BlockJacobi<double>& M) {
    SolveRecord r = record("krylov_solve", "blockjacobi", solver, M);
    const SolveReport report = run_solver(solver, M, options_of(solver));
    r.setup_ms = 0.0;
    r.solve_ms = r.time_ms = 1e3 * report.seconds;
    r.iterations = report.iterations;
    r.true_residual = report.relative_residual();
    r.reason = to_string(report.reason);
    return r;
  }

  /// With the faster of cuSPARSE's products; if neither works the row has a reason in place of a time.
  SolveRecord unfused(const BlockJacobi<double>& M) {
    SolveRecord r = record("cg_iteration", "cusparse + cublas", "cg", M);
    r.floor_bytes = iteration_bytes("cg", M);
    r.iterations = 64;
    r.time_ms = std::numeric_limits<double>::infinity();
    for (const cusparseSpMVAlg_t algorithm : {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2}) {
      try {
        const CusparseProduct product(narrow_view(matrix_), algorithm, backend_.stream());
        UnfusedCg peer(product, M);
        double residual = 0.0;
        const double seconds = seconds_of(16, r.iterations, repetitions_, [&](int iterations) {
          backend_.synchronize();
          const auto start = std::chrono::steady_clock::now();
          residual = peer.run(b_.data(), x_.data(), iterations);
          backend_.synchronize();
          return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        });
        if (1e3 * seconds >= r.time_ms) continue;
        r.time_ms = r.marginal_ms = 1e3 * seconds;
        r.true_residual = residual;
      } catch (const std::runtime_error& error) {
        r.reason = error.what();
      }
    }
    if (std::isfinite(r.time_ms))
      r.reason.clear();
    else
      r.time_ms = NAN;
    return r;
  }

  Backend backend_;
  const Timer& timer_;
  ModelSystem system_;
  int repetitions_;
  SparseMatrix<double> matrix_;
  LinearOperator<double> A_;
  Array<double> b_, x_;
  std::optional<BsrMatrix<double>> bsr_;  ///< while its rows are measured
  std::optional<LinearOperator<double>> by_blocks_;
  bool low_basis_ = false;
  std::string storage_ = to_string(Storage::full);  ///< of the inverses
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times Krylov solvers on the GPU.", "solve");
  app.add_option("OUT", options.out, "JSON file")->required();
  app.add_option("--systems", options.systems, "model problems; none: an empty name")->delimiter(',');
  app.add_option("--cg", options.cg, "Matrix Market files to solve with CG, b = A*ones");
  app.add_option("--gmres", options.gmres, "Matrix Market files to solve with GMRES(30), b = A*ones");
  app.add_option("--products", options.products, "Matrix Market files to time products with");
  app.add_option("--repetitions", options.repetitions, "solves of each kind")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    const Backend backend = Backend::cuda();
    const Timer timer;
    SolveReports reports(timer.copy_gbps);
    // Written after each system, so that a run that is cut short leaves what it has.
    const auto whole = [&](const std::vector<std::string>& paths, const std::string& solver) {
      for (const std::string& path : paths) {
        WholeSolve problem(backend, path, solver);
        for (const char* blocks : {"1", "8", "16", "32", "suggest"})
          reports.add(problem.measure(blocks, options.repetitions));
        if (solver == "cg")
          for (const Storage storage : reduced_storages)
            reports.add(problem.measure("32", options.repetitions, storage));
        reports.write(options.out);
      }
    };
    whole(options.cg, "cg");
    whole(options.gmres, "gmres");
    for (const std::string& path : options.products) add_products(reports, timer, backend, path);
    for (const std::string& name : options.systems) {
      if (name.empty()) continue;
      ModelBenchmark(backend, timer, model_system(name), options.repetitions).run(reports);
      reports.write(options.out);
    }
  } catch (const std::exception& error) {
    std::cerr << "solve: " << error.what() << '\n';
    return 1;
  }
}
