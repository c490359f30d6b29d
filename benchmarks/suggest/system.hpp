#pragma once

#include "right_hand_side.hpp"
#include "suggest/choice.hpp"
#include "suggest/manifest.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <ctime>
#include <memory>
#include <ostream>
#include <random>

namespace bench {

/// How long a choice is worked on.
struct Effort {
  int repetitions = 3;
  double solve_seconds = 1.5;
  /// Runs that converge are repeated while all of them took less.
  double enough_seconds = 0.15;
};

/// A system whose files were read.
class PreparedSystem {
 public:
  virtual ~PreparedSystem() = default;
  virtual const std::string& name() const = 0;
  /// A line for what suggest() recommends and one for each choice.
  virtual void solve_all(const blockjacobi::Backend& backend, const Effort& effort, std::ostream& out) const = 0;
};

template <class T>
class System final : public PreparedSystem {
  using Json = nlohmann::ordered_json;
  using Matrix = blockjacobi::SparseMatrix<T>;

 public:
  System(const ManifestRow& row, blockjacobi::CsrMatrix<T> matrix)
      : row_(row), matrix_(std::move(matrix)), b_(random_right_hand_side(matrix_)) {}

  const std::string& name() const override { return row_.name; }

  void solve_all(const blockjacobi::Backend& backend, const Effort& effort, std::ostream& out) const override {
    const Matrix A(backend, matrix_);
    blockjacobi::Suggestion suggestion;
    Json asked = measure(backend, effort, A, [&](const Matrix& fresh) {
      suggestion = suggest(fresh, {.method = method()});
      return suggestion.best();
    });
    asked["suggestion"] = Json::parse(to_json(suggestion));  // what its cost model and probes said
    write(out, "suggest", asked);
    for (const Choice& choice : all_choices(backend.kind() == blockjacobi::BackendKind::host, method()))
      write(out, choice.name(),
            measure(backend, effort, A, [&](const Matrix& fresh) { return choice.of(fresh, method()); }));
  }

 private:
  /// On one thread of the host the time of the processor, which other programs do not lengthen.
  static double ms_now(const blockjacobi::Backend& backend) {
    if (backend.kind() == blockjacobi::BackendKind::host && backend.threads() == 1)
      return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  static std::vector<T> random_right_hand_side(const blockjacobi::CsrMatrix<T>& A) {
    std::mt19937_64 engine(1);
    const auto next = [&engine] { return static_cast<double>(engine() >> 11) * 0x1p-52 - 1.0; };
    std::vector<T> x(static_cast<std::size_t>(A.rows())), b(x.size());
    for (T& element : x) {
      const double real = next();
      if constexpr (blockjacobi::is_complex<T>)
        element = T(real, next());
      else
        element = real;
    }
    for (std::size_t i = 0; i < b.size(); ++i)
      for (auto k = static_cast<std::size_t>(A.row_offsets()[i]); k < static_cast<std::size_t>(A.row_offsets()[i + 1]);
           ++k)
        b[i] += A.values()[k] * x[static_cast<std::size_t>(A.columns()[k])];
    return b;
  }

  blockjacobi::Method method() const { return row_.definite ? blockjacobi::Method::cg : blockjacobi::Method::gmres; }

  /// Milliseconds until blocks are known, of the set-up, and of the solve.
  struct Solve {
    double choice_ms = 0, setup_ms = 0, solve_ms = 0;
    std::string candidate;
    blockjacobi::SolveReport report;
    double all_ms() const { return choice_ms + setup_ms + solve_ms; }
  };

  template <class Choose>
  Solve solve(const Matrix& matrix, const blockjacobi::Array<T>& b, const blockjacobi::SolveOptions& options,
              const Choose& choose) const {
    const blockjacobi::Backend& backend = matrix.backend();
    Solve result;
    blockjacobi::Array<T> x(backend, b.size());
    x.zero();
    backend.synchronize();
    double start = ms_now(backend);
    // why: made anew, as every solve pays for the check of its pattern and the preparation of its product
    const auto fresh = Matrix::adopt(backend, narrow_view(matrix));
    const blockjacobi::BlockCandidate candidate = choose(fresh);
    backend.synchronize();
    result.choice_ms = ms_now(backend) - start;
    start = ms_now(backend);
    const blockjacobi::SuggestedSystem<T> system(fresh, candidate);
    backend.synchronize();
    result.setup_ms = ms_now(backend) - start;
    start = ms_now(backend);
    result.report = system.solve(method(), b.view(), x.view(), options);
    result.solve_ms = ms_now(backend) - start;
    result.candidate = candidate.name;
    return result;
  }

  /// The fastest of some runs, after one that loads kernels.
  template <class Choose>
  Json measure(const blockjacobi::Backend& backend, const Effort& effort, const Matrix& matrix,
               const Choose& choose) const {
    const blockjacobi::Array<T> b(backend, b_);
    blockjacobi::SolveOptions options;
    options.max_iterations = 70;
    try {
      (void)solve(matrix, b, options, choose);
      options.max_iterations = 5000;
      options.max_seconds = effort.solve_seconds;
      const double start = ms_now(backend);
      Solve best = solve(matrix, b, options, choose);
      const int repetitions = best.report.converged() ? effort.repetitions : 1;
      for (int i = 1; i < repetitions && ms_now(backend) - start < 1e3 * effort.enough_seconds; ++i) {
        Solve other = solve(matrix, b, options, choose);
        if (other.all_ms() < best.all_ms()) best = std::move(other);
      }
      return {{"candidate", best.candidate},
              {"reason", to_string(best.report.reason)},
              {"iterations", best.report.iterations},
              {"true_residual", best.report.relative_residual()},
              {"choice_ms", best.choice_ms},
              {"setup_ms", best.setup_ms},
              {"solve_ms", best.solve_ms}};
    } catch (const blockjacobi::InvalidArgument& error) {  // a coarse level may have no room for so many entries
      return {{"reason", error.what()}};
    }
  }

  void write(std::ostream& out, const std::string& choice, const Json& report) const {
    Json line{{"system", row_.name},
              {"rows", matrix_.rows()},
              {"nnz", matrix_.nnz()},
              {"solver", row_.definite ? "cg" : "gmres"},
              {"choice", choice}};
    line.update(report);
    out << line.dump() << '\n';
  }

  ManifestRow row_;
  blockjacobi::CsrMatrix<T> matrix_;
  std::vector<T> b_;
};

inline std::unique_ptr<PreparedSystem> prepare(const ManifestRow& row) {
  const std::filesystem::path path = row.folder / (row.name + ".mtx.gz");
  if (blockjacobi::read_matrix_market_header(path).field == blockjacobi::MatrixMarketField::complex)
    return std::make_unique<System<std::complex<double>>>(row,
                                                          blockjacobi::read_matrix_market<std::complex<double>>(path));
  return std::make_unique<System<double>>(row, blockjacobi::read_matrix_market<double>(path));
}

}  // namespace bench
