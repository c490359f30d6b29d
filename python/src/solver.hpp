#pragma once

#include <nanobind/nanobind.h>

namespace blockjacobi::python {

void bind_solver(nanobind::module_& module);

}  // namespace blockjacobi::python
