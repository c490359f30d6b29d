#pragma once

#include <string>

namespace blockjacobi::test {

/// docs/kernels/designs.md: which design runs when, as the policies of kernels/*/policy.hpp say.
std::string designs_table();

}  // namespace blockjacobi::test
