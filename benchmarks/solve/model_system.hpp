#pragma once

#include <matrices/generators.hpp>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

/// A stencil and the orders of its blocks.
struct ModelSystem {
  std::string name;
  blockjacobi::matrices::StencilOptions stencil;
  std::vector<blockjacobi::index_t> blocks;
  bool all_solvers;  ///< GMRES and BiCGSTAB are timed as well, with blocks of order 8
};

inline ModelSystem model_system(const std::string& name) {
  using blockjacobi::matrices::StencilShape;
  ModelSystem system{name, {}, {}, false};
  const auto grid = [&](blockjacobi::index_t m) { system.stencil.grid = {m, m, m}; };
  if (name == "7-point 128^3") {
    grid(128);
    system.blocks = {4, 8, 16, 32};
    system.all_solvers = true;
  } else if (name == "7-point 256^3") {
    grid(256);
    system.blocks = {8};
  } else if (name == "27-point 64^3 3-dof") {
    grid(64);
    system.stencil.shape = StencilShape::box;
    system.stencil.unknowns = 3;
    system.blocks = {3, 12, 24};
  } else if (name == "7-point 25^3") {
    grid(25);
    system.blocks = {8, 32};
    system.all_solvers = true;
  } else if (int m = 0; std::sscanf(name.c_str(), "7-point %d^3", &m) == 1 && m > 0) {
    grid(m);
    system.blocks = {8};
    system.all_solvers = true;
  } else {
    throw std::runtime_error("no system of that name: " + name);
  }
  return system;
}

}  // namespace bench
