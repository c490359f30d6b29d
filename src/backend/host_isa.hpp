#pragma once

#include <vector>

namespace blockjacobi::detail {

/// Instruction sets that kernels of the host are compiled for: that of all the library, and the levels of x86-64 above
/// its first one, as the System V ABI defines them.
enum class Isa { baseline, v2, v3, v4 };

const char* to_string(Isa isa) noexcept;

/// Whether processor and operating system have all of it.
bool machine_runs(Isa isa) noexcept;

/// Those that this library was compiled for and the machine runs, the most capable last. BackendUnavailable if there is
/// none.
const std::vector<Isa>& host_isas();

/// What host backends that are made from now on compute with: the last of host_isas(), unless a test asked for another.
Isa host_isa();

/// For tests. InvalidArgument for what is not among host_isas().
void use_host_isa(Isa isa);

}  // namespace blockjacobi::detail
