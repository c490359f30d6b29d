#include "suggest.hpp"

#include "matrix.hpp"

#include <blockjacobi/suggest.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace blockjacobi::python {

namespace {

constexpr std::array<std::pair<const char*, Method>, 2> methods{{{"cg", Method::cg}, {"gmres", Method::gmres}}};

Suggestion suggest_blocks(const PythonBackend& backend, const SparseView& matrix, const std::string& method,
                          double rtol, index_t restart, double probe_share, bool coarse,
                          std::optional<index_t> unknowns) {
  if (matrix.space() != MemorySpace::host)
    throw InvalidArgument("suggest: the matrix lies in device memory, must be on the host");
  SuggestOptions options;
  options.method = enumerator("suggest: method", method, methods);
  options.rtol = rtol;
  options.restart = restart;
  options.probe_share = probe_share;
  options.coarse = coarse;
  SparseMatrixOptions stated;
  stated.block_size = unknowns;
  return matrix.visit([&]<class T, Offset O>(const CsrView<T, O>& view) {
    return backend.run({}, [&] {
      Suggestion found = suggest(SparseMatrix<T>(backend.value(), view, stated), options);
      // What a device found is fetched in this turn: nothing asks for one later.
      for (const BlockCandidate& candidate : found.candidates) {
        static_cast<void>(candidate.blocks.offsets());
        static_cast<void>(candidate.permutation.order());
      }
      return found;
    });
  });
}

}  // namespace

void bind_suggest(nb::module_& module) {
  module.def("suggest", &suggest_blocks, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg().none());
}

}  // namespace blockjacobi::python
