// Eigen's conjugate gradients with BlockJacobi, as in the documentation of the adapter.
#include <blockjacobi/adapters/eigen.hpp>

#include <cstdio>
#include <vector>

int main() {
  const int n = 1000;
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(i, i, 2.0 + 1e-3);
    if (i > 0) entries.emplace_back(i, i - 1, -1.0);
    if (i + 1 < n) entries.emplace_back(i, i + 1, -1.0);
  }
  Eigen::SparseMatrix<double> A(n, n);
  A.setFromTriplets(entries.begin(), entries.end());
  const Eigen::VectorXd b = Eigen::VectorXd::Ones(n);

  Eigen::ConjugateGradient<Eigen::SparseMatrix<double>, Eigen::Lower | Eigen::Upper,
                           blockjacobi::EigenBlockJacobi<double>>
      cg;
  cg.preconditioner().setPartition(blockjacobi::BlockPartition::uniform(n, 16));
  cg.setTolerance(1e-10);
  cg.compute(A);
  const Eigen::VectorXd x = cg.solve(b);
  std::printf("%ld iterations\n", static_cast<long>(cg.iterations()));
  return cg.info() == Eigen::Success && (A * x - b).norm() <= 1e-8 * b.norm() ? 0 : 1;
}
