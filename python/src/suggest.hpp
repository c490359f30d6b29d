#pragma once

#include <nanobind/nanobind.h>

namespace blockjacobi::python {

void bind_suggest(nanobind::module_& module);

}  // namespace blockjacobi::python
