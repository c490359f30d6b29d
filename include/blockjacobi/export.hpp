#pragma once

/// Symbol visibility: everything else in the library is hidden.
#if defined(BLOCKJACOBI_STATIC)
#define BLOCKJACOBI_EXPORT
#else
#define BLOCKJACOBI_EXPORT __attribute__((visibility("default")))
#endif
