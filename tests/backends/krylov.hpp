#pragma once

#include "backends/systems.hpp"
#include "support/backends.hpp"

namespace blockjacobi::test {

/// The fixture of the tests of every solver.
template <class Case>
class KrylovOnBackend : public BackendTest<Case> {};

template <Scalar T>
struct Method {
  const char* name;
  SolveReport (*solve)(const LinearOperator<T>&, const Preconditioner<T>&, VectorView<const T>, VectorView<T>,
                       const SolveOptions&);
  bool hermitian;  ///< needs a Hermitian matrix, CG a positive definite one
};

template <Scalar T>
const std::vector<Method<T>>& methods() {
  static const std::vector<Method<T>> all{{"cg", &cg<T>, true},
                                          {"fcg", &fcg<T>, true},
                                          {"minres", &minres<T>, true},
                                          {"bicgstab", &bicgstab<T>, false},
                                          {"gmres", &gmres<T>, false},
                                          {"fgmres", &fgmres<T>, false},
                                          {"richardson", &richardson<T>, false}};
  return all;
}

}  // namespace blockjacobi::test
