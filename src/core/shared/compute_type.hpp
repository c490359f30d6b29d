#pragma once

#include "core/shared/scalar.hpp"

#include <blockjacobi/types.hpp>

namespace blockjacobi::detail {

/// The type that shared host/device code computes with in place of the public scalar: std::complex<R> is Complex<R>
/// there (same bytes), because std::complex arithmetic is host code.
template <Scalar T>
struct ComputeType {
  using type = T;
};
template <class R>
struct ComputeType<std::complex<R>> {
  using type = Complex<R>;
};
template <Scalar T>
using compute_t = typename ComputeType<T>::type;

/// The scalar of single precision that goes with T.
template <Scalar T>
struct SingleType {
  using type = float;
};
template <class R>
struct SingleType<std::complex<R>> {
  using type = std::complex<float>;
};
template <Scalar T>
using single_t = typename SingleType<T>::type;

template <Scalar T>
inline compute_t<T>* compute_cast(T* p) {
  return reinterpret_cast<compute_t<T>*>(p);
}
template <Scalar T>
inline const compute_t<T>* compute_cast(const T* p) {
  return reinterpret_cast<const compute_t<T>*>(p);
}

}  // namespace blockjacobi::detail
