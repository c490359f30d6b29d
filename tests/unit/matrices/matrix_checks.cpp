#include "matrix_checks.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/SVD>

namespace matrix_checks {

namespace {

template <class M>
double ratio_of_singular_values(const M& d) {
  const auto values = d.jacobiSvd().singularValues().eval();
  return values(values.size() - 1) / values(0);
}

}  // namespace

double smallest_over_largest(const Eigen::MatrixXd& d) { return ratio_of_singular_values(d); }
double smallest_over_largest(const Eigen::MatrixXcd& d) { return ratio_of_singular_values(d); }
bool has_cholesky(const Eigen::MatrixXd& d) { return d.llt().info() == Eigen::Success; }
bool has_cholesky(const Eigen::MatrixXcd& d) { return d.llt().info() == Eigen::Success; }
Eigen::Index rank_of(const Eigen::MatrixXd& d) { return d.fullPivLu().rank(); }
Eigen::Index rank_of(const Eigen::MatrixXcd& d) { return d.fullPivLu().rank(); }
Eigen::VectorXd eigenvalues_of(const Eigen::MatrixXd& symmetric) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(symmetric, Eigen::EigenvaluesOnly).eigenvalues();
}

}  // namespace matrix_checks
