#pragma once

namespace blockjacobi::kernels {

/// D += A B on the tensor cores, D 8 x 8, A 8 x 4, B 4 x 8. Lane 4 m + k holds a(m, k), b(k, m) and d(m, 2 k),
/// d(m, 2 k + 1).
__device__ inline void multiply_add(double& d0, double& d1, double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(d0), "+d"(d1)
      : "d"(a), "d"(b));
}

}  // namespace blockjacobi::kernels
