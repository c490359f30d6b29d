#pragma once

#include <nanobind/nanobind.h>

namespace blockjacobi {
struct BlockDefect;
}

namespace blockjacobi::python {

/// The library's exceptions arrive as those of blockjacobi.errors.
void bind_errors(nanobind::module_& module);

/// Raises SingularBlock for a block that was found after construction, with the rows in the user's numbering.
[[noreturn]] void raise_singular(const BlockDefect& defect, const char* function);

}  // namespace blockjacobi::python
