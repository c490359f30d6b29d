#pragma once

#include "outcome.hpp"

#include <blockjacobi/matrix_market.hpp>
#include <blockjacobi/sparse_matrix.hpp>

#include <optional>

namespace solve {

/// What the header of the file says, and what follows from it: scalar, solver, unknowns of a node and the source of
/// blocks, if the options leave them open. Everything that costs no memory is checked before the entries are read.
/// Throws UsageError.
Outcome look_at_input(Options& options);

/// With "auto" CUDA if it can be had; else the host, and why.
blockjacobi::Backend choose_backend(const Options& options, Outcome& outcome);

/// What the file says of the symmetry of its matrix, as one of scalar T has it; nothing if it does not say.
template <blockjacobi::Scalar T>
std::optional<blockjacobi::Symmetry> stated_symmetry(const blockjacobi::MatrixMarketHeader& header) {
  using blockjacobi::MatrixMarketSymmetry;
  using blockjacobi::Symmetry;
  const bool complex_file = header.field == blockjacobi::MatrixMarketField::complex;
  if (header.symmetry == MatrixMarketSymmetry::hermitian) return Symmetry::hermitian;
  if (header.symmetry != MatrixMarketSymmetry::symmetric) return std::nullopt;
  return blockjacobi::is_complex<T> && !complex_file ? Symmetry::hermitian : Symmetry::symmetric;
}

}  // namespace solve
