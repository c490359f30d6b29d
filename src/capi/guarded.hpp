#pragma once

#include "core/message.hpp"

#include <blockjacobi/blockjacobi.h>
#include <blockjacobi/blockjacobi.hpp>

#include <utility>

namespace blockjacobi::capi {

using detail::message;

/// A function of the caller did not return 0.
class CallbackFailed : public Error {
 public:
  using Error::Error;
};

/// Stores the exception that is being handled as the message of this thread; its status.
bj_status status_of_current_exception(const char* function) noexcept;

/// Runs the body of a C function: no exception leaves it.
template <class F>
bj_status guarded(const char* function, F&& body) noexcept {
  try {
    std::forward<F>(body)();
    return BJ_SUCCESS;
  } catch (...) {
    return status_of_current_exception(function);
  }
}

/// `pointer`, which must not be null.
template <class P>
P* required(P* pointer, const char* name) {
  if (pointer == nullptr) throw InvalidArgument(message("{} is a null pointer", name));
  return pointer;
}

/// Gives the caller a new object, made only if there is a place for it.
template <class Handle, class Make>
void hand_out(Handle** place, const char* name, Make&& make) {
  required(place, name);
  *place = new Handle{std::forward<Make>(make)()};
}

/// Checks a number that C passes for one of the first `count` enumerators.
template <class Enum>
Enum enumerator(std::int32_t value, std::int32_t count, const char* name) {
  if (value < 0 || value >= count) throw InvalidArgument(message("{} is {}, must be in 0..{}", name, value, count - 1));
  return static_cast<Enum>(value);
}

inline MemorySpace space_of(bj_space space) { return enumerator<MemorySpace>(space, 2, "space"); }

/// Copies text as blockjacobi.h promises.
void copy_text(const std::string& text, char* buffer, std::size_t size, std::size_t* length);

}  // namespace blockjacobi::capi
