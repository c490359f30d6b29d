#include "faults/solve_in_c.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace blockjacobi::test {

namespace {

using OwnedPartition = Owned<bj_partition, bj_partition_destroy>;
using OwnedBlockJacobi = Owned<bj_block_jacobi, bj_block_jacobi_destroy>;
using OwnedOperator = Owned<bj_operator, bj_operator_destroy>;
using OwnedWorkspace = Owned<bj_workspace, bj_workspace_destroy>;

bj_csr in_c(const System& system) {
  const auto rows = static_cast<std::int32_t>(system.offsets.size() - 1);
  return {rows,
          rows,
          static_cast<std::int64_t>(system.columns.size()),
          system.offsets.data(),
          system.columns.data(),
          system.values.data(),
          32,
          0,
          BJ_D,
          BJ_HOST};
}

/// Of ones on the host, from zero.
template <class Solver>
bj_status solve_by(Solver solver, const bj_operator* A, const bj_block_jacobi* M, std::int32_t rows) {
  const std::vector<double> b(static_cast<std::size_t>(rows), 1.0);
  std::vector<double> x(b.size());
  bj_solve_report report;
  return solver(A, M, b.data(), x.data(), rows, BJ_HOST, nullptr, &report);
}

bj_status solve_numbered_in_c(const bj_backend* backend, const bj_csr& matrix) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(matrix.rows));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 50);
  OwnedPartition partition;
  OwnedBlockJacobi M;
  OwnedOperator A;
  return in_turn(
      [&] { return bj_partition_create_labels(labels.data(), matrix.rows, partition.place()); },
      [&] { return bj_block_jacobi_create(backend, &matrix, partition, BJ_SINGULAR_SCALAR_JACOBI, M.place()); },
      [&] { return bj_operator_create_numbered(backend, &matrix, partition, A.place()); },
      [&] { return solve_by(bj_gmres, A, M, matrix.rows); });
}

}  // namespace

bj_status solve_in_c(const bj_backend* backend, const System& system) {
  const bj_csr matrix = in_c(system);
  OwnedPartition partition;
  OwnedBlockJacobi M;
  OwnedOperator A;
  OwnedWorkspace workspace;
  std::array<char, 4096> text;
  std::size_t length = 0;
  return in_turn([&] { return bj_partition_create_detect(backend, &matrix, 16, partition.place()); },
                 [&] { return bj_block_jacobi_create(backend, &matrix, partition, BJ_SINGULAR_FAIL, M.place()); },
                 [&] { return bj_operator_create_csr(backend, &matrix, A.place()); },
                 [&] { return solve_by(bj_gmres, A, M, matrix.rows); },
                 [&] { return bj_workspace_create_cg(A, M, nullptr, workspace.place()); },
                 [&] { return solve_numbered_in_c(backend, matrix); },
                 [&] { return bj_block_jacobi_json(M, text.data(), text.size(), &length); });
}

bj_status solve_on_levels_in_c(const bj_backend* backend, const System& system) {
  const bj_csr matrix = in_c(system);
  OwnedPartition partition;
  OwnedBlockJacobi two_level, multigrid;
  OwnedOperator A;
  bj_two_level_options coarse;
  bj_two_level_options_init(&coarse);
  coarse.size = 12;
  bj_multigrid_options levels;
  bj_multigrid_options_init(&levels);
  levels.coarsest = 10;
  return in_turn([&] { return bj_partition_create_uniform(matrix.rows, 8, partition.place()); },
                 [&] { return bj_operator_create_csr(backend, &matrix, A.place()); },
                 [&] { return bj_two_level_create(backend, &matrix, partition, nullptr, &coarse, two_level.place()); },
                 [&] { return solve_by(bj_cg, A, two_level, matrix.rows); },
                 [&] { return bj_multigrid_create(backend, &matrix, partition, nullptr, &levels, multigrid.place()); },
                 [&] { return solve_by(bj_cg, A, multigrid, matrix.rows); });
}

}  // namespace blockjacobi::test
