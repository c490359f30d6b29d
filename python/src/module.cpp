#include "backend.hpp"
#include "batched.hpp"
#include "block_jacobi.hpp"
#include "coarse.hpp"
#include "errors.hpp"
#include "matrix.hpp"
#include "partition.hpp"
#include "reports.hpp"
#include "solver.hpp"
#include "streams.hpp"
#include "suggest.hpp"

#include <blockjacobi/version.hpp>

NB_MODULE(_core, module) {
  using namespace blockjacobi::python;
  // What pytest or PyTorch hold at the end of the process is no leak of this package.
  nanobind::set_leak_warnings(false);
  module.doc() = "The compiled part of blockjacobi; the package's own modules are the interface.";
  module.attr("__version__") = blockjacobi::version;
  bind_errors(module);
  bind_backend(module);
  bind_matrix(module);
  bind_partition(module);
  bind_reports(module);
  bind_block_jacobi(module);
  bind_coarse(module);
  bind_solver(module);
  bind_suggest(module);
  bind_batched(module);
  module.def("device_of", [](std::uintptr_t pointer) { return device_of(reinterpret_cast<const void*>(pointer)); });
  module.attr("metis_available") = blockjacobi::BlockPartition::metis_available();
}
