#pragma once

/// Seeded model problems for tests, benchmarks and examples, in namespace blockjacobi::matrices. All of them give the
/// same bits on every machine: they draw from std::mt19937_64 with their own mapping to reals, use no function of libm
/// that is not correctly rounded, and are compiled without contraction to fused multiply-add.

#include "matrices/generators/block_family.hpp"
#include "matrices/generators/circuit.hpp"
#include "matrices/generators/convection_diffusion.hpp"
#include "matrices/generators/elasticity.hpp"
#include "matrices/generators/reservoir.hpp"
#include "matrices/generators/saddle_point.hpp"
#include "matrices/generators/stencil.hpp"
