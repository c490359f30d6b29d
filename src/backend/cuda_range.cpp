#include "backend/range.hpp"

#include <nvtx3/nvToolsExt.h>

namespace blockjacobi::detail {

namespace {

nvtxDomainHandle_t domain() noexcept {
  static const nvtxDomainHandle_t handle = nvtxDomainCreateA("blockjacobi");
  return handle;
}

}  // namespace

void begin_range(const char* name) noexcept {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = name;
  nvtxDomainRangePushEx(domain(), &event);
}

void end_range() noexcept { nvtxDomainRangePop(domain()); }

}  // namespace blockjacobi::detail
