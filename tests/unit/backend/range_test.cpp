#include "backend/range.hpp"

#include <gtest/gtest.h>
// A tool has the types of NVTX and not what a program has of it.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace {

/// What a profiler was told, in order.
std::vector<std::string> told;

nvtxDomainHandle_t on_domain(const char* name) {
  told.push_back(std::string("domain ") + name);
  static int handle = 0;
  return reinterpret_cast<nvtxDomainHandle_t>(&handle);
}

int on_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  told.push_back((domain != nullptr ? "push " : "push without domain ") + std::string(event->message.ascii));
  return 0;
}

int on_pop(nvtxDomainHandle_t domain) {
  told.push_back(domain != nullptr ? "pop" : "pop without domain");
  return 0;
}

/// As a profiler begins: puts its own functions into NVTX's table.
int begin_profiler(NvtxGetExportTableFunc_t table_of) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(table_of(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(&on_domain);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(&on_push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(&on_pop);
  return 1;
}

}  // namespace

/// NVTX looks for this name before it looks for a profiler's library.
extern "C" NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr;
NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr = &begin_profiler;

namespace blockjacobi::detail {
namespace {

TEST(Range, AProfilerSeesItBeginAndEnd) {
  {
    const Range outer("solve");
    const Range inner("iterations");
  }
  EXPECT_EQ(told, (std::vector<std::string>{"domain blockjacobi", "push solve", "push iterations", "pop", "pop"}));
  told.clear();
  try {
    const Range range("set-up");
    throw std::runtime_error("");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(told, (std::vector<std::string>{"push set-up", "pop"}));
}

}  // namespace
}  // namespace blockjacobi::detail
