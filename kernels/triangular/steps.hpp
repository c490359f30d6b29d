#pragma once

#include "kernels/triangular/factor.cuh"

namespace blockjacobi::kernels {

/// The two triangles of a factorization in the order in which they are solved for, a lower one first.
struct SolveSteps {
  Op lower, upper;  ///< what they are of the stored ones
  bool unit_lower, unit_upper;

  static SolveSteps of_lu(Op op) {
    return op == Op::none ? SolveSteps{op, op, true, false} : SolveSteps{op, op, false, true};
  }
  static SolveSteps of_cholesky(batched::Triangle triangle) {
    if (triangle == batched::Triangle::lower) return {Op::none, Op::conjugate_transpose, false, false};
    return {Op::conjugate_transpose, Op::none, false, false};
  }

  /// Whether rows are interchanged before, when the right-hand sides are read; else after, when they are written.
  __host__ __device__ bool interchanges_first() const { return lower == Op::none; }
};

}  // namespace blockjacobi::kernels
