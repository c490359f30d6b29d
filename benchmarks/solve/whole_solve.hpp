#pragma once

#include "right_hand_side.hpp"
#include "solve/record.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

namespace bench {

/// A solve as a user has it, CSR on the device to x on the device, b = A*ones: partition, set-up, operator, solve.
class WholeSolve {
 public:
  WholeSolve(const blockjacobi::Backend& backend, const std::string& path, const std::string& solver)
      : backend_(backend),
        name_(std::filesystem::path(path).filename().string()),
        solver_(solver),
        host_(blockjacobi::read_matrix_market<double>(path)),
        matrix_(backend, host_),
        b_(right_hand_side(blockjacobi::LinearOperator<double>(matrix_), true)) {
    name_ = name_.substr(0, name_.find('.'));
    if (solver != "cg" && solver != "gmres") throw std::runtime_error("no such solver: " + solver);
  }

  /// The median of `repetitions` solves; `blocks` is 1, 8, 16, 32 or "suggest".
  SolveRecord measure(const std::string& blocks, int repetitions,
                      blockjacobi::Storage storage = blockjacobi::Storage::full) {
    std::vector<SolveRecord> records;
    for (int i = 0; i <= repetitions; ++i) {
      const SolveRecord record = run(blocks, storage);
      if (i > 0) records.push_back(record);  // the first one loads the kernels
      if (records.size() == 1 && record.solve_ms > 1000.0) break;
    }
    std::ranges::sort(records, {}, [](const SolveRecord& r) { return r.setup_ms + r.solve_ms; });
    return records[records.size() / 2];
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }

  blockjacobi::BlockPartition partition(const blockjacobi::SparseMatrix<double>& A, const std::string& blocks) const {
    using blockjacobi::BlockPartition;
    if (blocks == "suggest") {
      blockjacobi::SuggestOptions options;
      options.method = solver_ == "cg" ? blockjacobi::Method::cg : blockjacobi::Method::gmres;
      options.renumber = options.coarse = false;
      return blockjacobi::suggest(backend_, host_, options).best().blocks;
    }
    if (blocks == "1") return BlockPartition::uniform(A.rows(), 1);
    return BlockPartition::detect(A, std::stoi(blocks));
  }

  SolveRecord run(const std::string& blocks, blockjacobi::Storage storage) {
    using namespace blockjacobi;
    backend_.synchronize();
    const auto start = Clock::now();
    // why: made anew, as every solve pays for the check of its pattern and the preparation of its product
    const auto matrix = SparseMatrix<double>::adopt(backend_, narrow_view(matrix_));
    const BlockPartition found = partition(matrix, blocks);
    const BlockJacobi<double> M(matrix, found, {.storage = storage});
    const LinearOperator<double> A(matrix);
    SolveRecord record{"krylov_solve", "blockjacobi", name_, blocks, solver_, A.rows(), matrix.nnz()};
    record.storage = to_string(storage);
    record.setup_ms = ms_since(start);
    const auto begin = Clock::now();
    Array<double> x(backend_, b_.size());
    x.zero();
    SolveOptions options;
    options.max_iterations = 20000;
    const auto& b = b_;
    const SolveReport report =
        solver_ == "cg" ? cg(A, M, b.view(), x.view(), options) : gmres(A, M, b.view(), x.view(), options);
    record.solve_ms = ms_since(begin);
    record.time_ms = record.setup_ms + record.solve_ms;
    record.block = found.largest_block();
    record.iterations = report.iterations;
    record.true_residual = report.relative_residual();
    record.reason = to_string(report.reason);
    return record;
  }

  blockjacobi::Backend backend_;
  std::string name_, solver_;
  blockjacobi::CsrMatrix<double> host_;
  blockjacobi::SparseMatrix<double> matrix_;
  blockjacobi::Array<double> b_;
};

}  // namespace bench
