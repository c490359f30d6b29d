#pragma once

/// Functions that the host backend and the kernels share.
#if defined(__CUDACC__)
#define BLOCKJACOBI_HD __host__ __device__
#else
#define BLOCKJACOBI_HD
#endif
