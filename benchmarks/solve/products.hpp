#pragma once

#include "batched/timer.hpp"
#include "solve/cusparse_peer.hpp"
#include "solve/record.hpp"

#include <filesystem>
#include <functional>

namespace bench {

/// Of y = A x in CSR: values, columns, offsets, and both vectors.
inline double csr_product_bytes(const blockjacobi::SparseMatrix<double>& matrix) {
  return 12.0 * static_cast<double>(matrix.nnz()) + 20.0 * matrix.rows();
}

inline SolveRecord product_record(const Timer& timer, SolveRecord record, cudaStream_t stream,
                                  const std::function<void()>& product) {
  record.operation = "spmv";
  record.time_ms = timer
                       .time(
                           20, [] {}, product, stream)
                       .median;
  return record;
}

/// y = A x by the library and by cuSPARSE; `record` says of which matrix.
inline void add_csr_products(SolveReports& reports, const Timer& timer, const blockjacobi::LinearOperator<double>& A,
                             const blockjacobi::SparseMatrix<double>& matrix, const blockjacobi::Array<double>& x,
                             blockjacobi::Array<double>& y, SolveRecord record) {
  cudaStream_t stream = A.backend().stream();
  record.rows = matrix.rows();
  record.nnz = matrix.nnz();
  record.floor_bytes = csr_product_bytes(matrix);
  const auto add = [&](const char* implementation, const std::function<void()>& product) {
    record.implementation = implementation;
    reports.add(product_record(timer, record, stream, product));
  };
  add("blockjacobi", [&] { A.apply(x.view(), y.view()); });
  // A peer that fails has a row with its reason, without a time: what has to be moved is known all the same.
  const auto add_peer = [&](const char* implementation, cusparseSpMVAlg_t algorithm) {
    try {
      const CusparseProduct product(narrow_view(matrix), algorithm, stream);
      add(implementation, [&] { product(x.data(), y.data()); });
    } catch (const std::runtime_error& error) {
      record.implementation = implementation;
      record.reason = error.what();
      reports.add(record);
      record.reason.clear();
    }
  };
  add_peer("cusparse alg1", CUSPARSE_SPMV_CSR_ALG1);
  add_peer("cusparse alg2", CUSPARSE_SPMV_CSR_ALG2);
}

/// The same of a Matrix Market file.
inline void add_products(SolveReports& reports, const Timer& timer, const blockjacobi::Backend& backend,
                         const std::string& path) {
  const blockjacobi::SparseMatrix<double> matrix(backend, blockjacobi::read_matrix_market<double>(path));
  const blockjacobi::LinearOperator<double> A(matrix);
  const blockjacobi::Array<double> x = right_hand_side(A, false);
  blockjacobi::Array<double> y(backend, x.size());
  const std::string name = std::filesystem::path(path).filename().string();
  add_csr_products(reports, timer, A, matrix, x, y, {"spmv", "", name.substr(0, name.find('.'))});
}

}  // namespace bench
