#pragma once

#define BLOCKJACOBI_VERSION_MAJOR 0
#define BLOCKJACOBI_VERSION_MINOR 3
#define BLOCKJACOBI_VERSION_PATCH 0

namespace blockjacobi {

inline constexpr const char* version = "0.3.0";

}  // namespace blockjacobi
