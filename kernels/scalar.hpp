#pragma once

#include "core/shared/scalar.hpp"

#include <blockjacobi/types.hpp>

namespace blockjacobi::kernels {

/// Words of 4 bytes.
constexpr int words(ScalarType scalar) { return scalar == ScalarType::s ? 1 : scalar == ScalarType::z ? 4 : 2; }
constexpr bool is_complex(ScalarType scalar) { return scalar == ScalarType::c || scalar == ScalarType::z; }

template <class C>
inline constexpr int words_of = static_cast<int>(sizeof(C) / 4);

/// The letter of a compute scalar.
template <class C>
inline constexpr ScalarType scalar_of = detail::Arithmetic<C>::is_complex
                                            ? (words_of<C> == 2 ? ScalarType::c : ScalarType::z)
                                            : (words_of<C> == 1 ? ScalarType::s : ScalarType::d);

}  // namespace blockjacobi::kernels
