#include "support/dense.hpp"

namespace blockjacobi::test {

template <Scalar T>
Dense<T> product(const Dense<T>& a, const Dense<T>& b) {
  return a * b;
}

template Dense<float> product(const Dense<float>&, const Dense<float>&);
template Dense<double> product(const Dense<double>&, const Dense<double>&);
template Dense<std::complex<float>> product(const Dense<std::complex<float>>&, const Dense<std::complex<float>>&);
template Dense<std::complex<double>> product(const Dense<std::complex<double>>&, const Dense<std::complex<double>>&);

}  // namespace blockjacobi::test
