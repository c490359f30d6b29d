#include "capi/guarded.hpp"

#include <algorithm>
#include <new>

namespace blockjacobi::capi {

namespace {

thread_local std::string stored;
/// Takes the place of `stored` where there was no memory for one.
thread_local const char* plain_message = nullptr;

bj_status record(bj_status status, const char* function, const char* what) noexcept {
  try {
    stored = message("{}: {}", function, what);
    plain_message = nullptr;
  } catch (...) {
    plain_message = "out of memory";
  }
  return status;
}

}  // namespace

bj_status status_of_current_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const InvalidArgument& e) {
    return record(BJ_INVALID_ARGUMENT, function, e.what());
  } catch (const BackendUnavailable& e) {
    return record(BJ_BACKEND_UNAVAILABLE, function, e.what());
  } catch (const CudaError& e) {
    return record(BJ_CUDA_ERROR, function, e.what());
  } catch (const SingularBlock& e) {
    return record(BJ_SINGULAR_BLOCK, function, e.what());
  } catch (const CallbackFailed& e) {
    return record(BJ_CALLBACK_FAILED, function, e.what());
  } catch (const std::bad_alloc&) {
    return record(BJ_OUT_OF_MEMORY, function, "out of memory");
  } catch (const std::exception& e) {
    return record(BJ_INTERNAL_ERROR, function, e.what());
  } catch (...) {
    return record(BJ_INTERNAL_ERROR, function, "unknown exception");
  }
}

void copy_text(const std::string& text, char* buffer, std::size_t size, std::size_t* length) {
  if (size > 0) {
    required(buffer, "buffer");
    const std::size_t copied = std::min(size - 1, text.size());
    std::copy_n(text.data(), copied, buffer);
    buffer[copied] = '\0';
  }
  if (length != nullptr) *length = text.size();
}

}  // namespace blockjacobi::capi

using namespace blockjacobi;

const char* bj_version(void) { return version; }

const char* bj_status_name(bj_status status) {
  switch (status) {
    case BJ_SUCCESS: return "BJ_SUCCESS";
    case BJ_INVALID_ARGUMENT: return "BJ_INVALID_ARGUMENT";
    case BJ_BACKEND_UNAVAILABLE: return "BJ_BACKEND_UNAVAILABLE";
    case BJ_CUDA_ERROR: return "BJ_CUDA_ERROR";
    case BJ_SINGULAR_BLOCK: return "BJ_SINGULAR_BLOCK";
    case BJ_OUT_OF_MEMORY: return "BJ_OUT_OF_MEMORY";
    case BJ_CALLBACK_FAILED: return "BJ_CALLBACK_FAILED";
    case BJ_INTERNAL_ERROR: return "BJ_INTERNAL_ERROR";
    default: return "unknown status";
  }
}

const char* bj_last_error(void) { return capi::plain_message != nullptr ? capi::plain_message : capi::stored.c_str(); }
