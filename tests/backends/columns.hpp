#pragma once

#include "backends/systems.hpp"
#include "support/backends.hpp"

#include <algorithm>
#include <cstring>

namespace blockjacobi::test {

/// The fixture of the tests of solvers for several columns.
template <class Case>
class ColumnsOnBackend : public BackendTest<Case> {};

/// How columns lie in memory.
struct ColumnsForm {
  Layout layout = Layout::column_major;
  offset_t padding = 0;  ///< leading dimension less what it has to be
  bool on_host = false;  ///< and not in the memory of the backend
};

inline const std::vector<ColumnsForm> columns_forms{
    {},
    {Layout::column_major, 3, true},
    {Layout::row_major, 0, true},
    {Layout::row_major, 5, false},
};

/// Columns in a form, between elements that are all bits set and must not change.
template <Scalar T>
class TestColumns {
 public:
  TestColumns(const Backend& backend, const std::vector<std::vector<T>>& columns, const ColumnsForm& form)
      : form_(form),
        rows_(static_cast<index_t>(columns.empty() ? 0 : columns[0].size())),
        cols_(static_cast<index_t>(columns.size())),
        host_(lines() * static_cast<std::size_t>(ld())),
        device_(backend, host_.size()) {
    if (!host_.empty()) std::memset(static_cast<void*>(host_.data()), 0xFF, host_.size() * sizeof(T));
    for (std::size_t c = 0; c < columns.size(); ++c)
      for (std::size_t i = 0; i < columns[c].size(); ++i) host_[place(i, c)] = columns[c][i];
    device_.copy_from_host(host_.data());
  }

  MultiVectorView<T> view() {
    const bool on_host = form_.on_host;
    return {on_host ? host_.data() : device_.data(),
            rows_,
            cols_,
            ld(),
            form_.layout,
            on_host ? MemorySpace::host : device_.backend().memory_space()};
  }
  std::vector<std::vector<T>> columns() const {
    const std::vector<T> all = elements();
    std::vector<std::vector<T>> columns(static_cast<std::size_t>(cols_));
    for (std::size_t c = 0; c < columns.size(); ++c)
      for (std::size_t i = 0; i < static_cast<std::size_t>(rows_); ++i) columns[c].push_back(all[place(i, c)]);
    return columns;
  }
  bool padding_untouched() const {
    std::vector<T> all = elements();
    for (std::size_t c = 0; c < static_cast<std::size_t>(cols_); ++c)
      for (std::size_t i = 0; i < static_cast<std::size_t>(rows_); ++i)
        std::memset(static_cast<void*>(&all[place(i, c)]), 0xFF, sizeof(T));
    const auto* bytes = reinterpret_cast<const unsigned char*>(all.data());
    return std::all_of(bytes, bytes + all.size() * sizeof(T), [](unsigned char byte) { return byte == 0xFF; });
  }

 private:
  bool by_columns() const { return form_.layout == Layout::column_major; }
  offset_t ld() const { return std::max<offset_t>(1, by_columns() ? rows_ : cols_) + form_.padding; }
  std::size_t lines() const { return static_cast<std::size_t>(by_columns() ? cols_ : rows_); }
  std::size_t place(std::size_t i, std::size_t c) const {
    return by_columns() ? c * static_cast<std::size_t>(ld()) + i : i * static_cast<std::size_t>(ld()) + c;
  }
  std::vector<T> elements() const { return form_.on_host ? host_ : device_.to_host(); }

  ColumnsForm form_;
  index_t rows_, cols_;
  std::vector<T> host_;
  Array<T> device_;
};

/// A solver of several columns and the same of one.
template <Scalar T>
struct ColumnsMethod {
  const char* name;
  std::vector<SolveReport> (*solve)(const LinearOperator<T>&, const Preconditioner<T>&, MultiVectorView<const T>,
                                    MultiVectorView<T>, const SolveOptions&);
  SolveReport (*solve_one)(const LinearOperator<T>&, const Preconditioner<T>&, VectorView<const T>, VectorView<T>,
                           const SolveOptions&);
  double wind;  ///< of grid_matrix()
};

template <Scalar T>
const std::vector<ColumnsMethod<T>>& columns_methods() {
  static const std::vector<ColumnsMethod<T>> all{{"cg_columns", &cg_columns<T>, &cg<T>, 0.0},
                                                 {"gmres_columns", &gmres_columns<T>, &gmres<T>, 0.4}};
  return all;
}

/// What came of a solve.
template <Scalar T>
struct ColumnsSolution {
  std::vector<std::vector<T>> x;
  std::vector<SolveReport> reports;
};

/// From x0, or zeros, in a form.
template <Scalar T>
ColumnsSolution<T> solve_columns(const ColumnsMethod<T>& method, const LinearOperator<T>& A, const Preconditioner<T>& M,
                                 const std::vector<std::vector<T>>& b, const std::vector<std::vector<T>>& x0,
                                 const SolveOptions& options, const ColumnsForm& form = {}) {
  TestColumns<T> B(A.backend(), b, form), X(A.backend(), x0, form);
  ColumnsSolution<T> solution;
  solution.reports = method.solve(A, M, B.view(), X.view(), options);
  solution.x = X.columns();
  EXPECT_TRUE(X.padding_untouched());
  EXPECT_EQ(solution.reports.size(), b.size());
  return solution;
}

template <Scalar T>
std::vector<std::vector<T>> random_columns(index_t n, index_t k, std::uint64_t seed) {
  std::vector<std::vector<T>> columns;
  for (index_t c = 0; c < k; ++c) columns.push_back(random_vector<T>(n, seed + static_cast<std::uint64_t>(c)));
  return columns;
}

template <Scalar T>
std::vector<std::vector<T>> zero_columns(index_t n, index_t k) {
  return std::vector<std::vector<T>>(static_cast<std::size_t>(k), std::vector<T>(static_cast<std::size_t>(n)));
}

/// Iterations within 2 % or 2 of those of a column that is solved alone, and the same reason.
inline void expect_like_alone(const SolveReport& report, const SolveReport& alone) {
  EXPECT_EQ(report.reason, alone.reason) << to_text(report) << " alone: " << to_text(alone);
  EXPECT_NEAR(report.iterations, alone.iterations, std::max(2.0, 0.02 * alone.iterations));
}

}  // namespace blockjacobi::test
