#pragma once

/// Defined under AddressSanitizer, whose malloc and new tests do not replace: g++ has a macro for it, clang a feature.
#if defined(__SANITIZE_ADDRESS__)
#define BLOCKJACOBI_TEST_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BLOCKJACOBI_TEST_ADDRESS_SANITIZER
#endif
#endif
