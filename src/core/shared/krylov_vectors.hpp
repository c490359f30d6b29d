#pragma once

#include "core/shared/bundles.hpp"

namespace blockjacobi::detail {

/// n-vectors of CG. Without a preconditioner z is r.
template <class C>
struct CgVectors {
  index_t n = 0;
  C* x = nullptr;
  C* r = nullptr;
  C* z = nullptr;
  C* p = nullptr;
  C* q = nullptr;
};

/// n-vectors of BiCGSTAB. Without a preconditioner y is p and z is r.
template <class C>
struct BicgstabVectors {
  index_t n = 0;
  C* x = nullptr;
  C* r = nullptr;       ///< r, and s between the steps
  C* shadow = nullptr;  ///< r~, constant
  C* p = nullptr;
  C* v = nullptr;  ///< A y
  C* t = nullptr;  ///< A z
  C* y = nullptr;  ///< M^-1 p
  C* z = nullptr;  ///< M^-1 s
};

/// n-vectors of GMRES: basis is n x (m + 1), column-major with leading dimension n; its column 0 takes the residual.
/// With a basis in S, the single precision of C, `low_basis` takes its place, w holds the vector to be made the next
/// column and v receives that column as it was rounded. Where S is C there is none.
template <class C, class S>
struct GmresArrays {
  index_t n = 0;
  C* basis = nullptr;
  C* u = nullptr;  ///< V y
  S* low_basis = nullptr;
  C* w = nullptr;
  C* v = nullptr;
};

/// Vectors of CG for several columns, each an array of shape.elements(). Without a preconditioner z is r.
template <class C>
struct BundleVectors {
  Bundles shape;
  C* x = nullptr;
  C* r = nullptr;
  C* z = nullptr;
  C* p = nullptr;
  C* q = nullptr;
};

}  // namespace blockjacobi::detail
