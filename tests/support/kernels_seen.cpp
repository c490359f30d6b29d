#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// A library of .ci/gpu that CUDA loads into a process whose environment names it in CUDA_INJECTION64_PATH: it writes
// the mangled name of every kernel that is launched into the file that BLOCKJACOBI_KERNELS_SEEN names, each once, and
// " dynamic" behind it where a launch of it had dynamic shared memory. Kernels that a stream records run with the
// graph: they count when that is instantiated. What goes wrong is a line that begins with "#".
//
// A line is written as soon as it is known, since a process may end in any way. Nothing here takes memory by new, which
// tests make fail.

namespace {

int seen_file = -1;

void write_line(const char* text, const char* more) {
  const auto part = [](const char* string) { return iovec{const_cast<char*>(string), std::strlen(string)}; };
  const std::array<iovec, 3> parts{part(text), part(more), part("\n")};
  // why one call: to the end of a file it stays in one piece beside those of other threads and processes
  static_cast<void>(!writev(seen_file, parts.data(), static_cast<int>(parts.size())));
}

/// Whether it is the first time. Of names there are 63 bits in a table that has room for many times the kernels that
/// there are; were it full, a line would be written twice.
bool is_new(const char* name, bool is_dynamic) {
  static std::array<std::atomic<std::uint64_t>, 1 << 17> table;
  std::uint64_t key = 0xcbf29ce484222325;
  for (const char* at = name; *at != '\0'; ++at) key = (key ^ static_cast<unsigned char>(*at)) * 0x100000001b3;
  key = (key | 2) & ~std::uint64_t{1};
  if (is_dynamic) key |= 1;
  for (std::size_t i = 0; i < table.size(); ++i) {
    std::uint64_t there = 0;
    auto& place = table[(key / 2 + i) % table.size()];
    if (place.compare_exchange_strong(there, key)) return true;
    if (there == key) return false;
  }
  return true;
}

void add_kernel(const char* name, std::size_t dynamic_bytes) {
  const bool is_dynamic = dynamic_bytes > 0;
  if (name != nullptr && *name != '\0' && is_new(name, is_dynamic)) write_line(name, is_dynamic ? " dynamic" : "");
}

/// The driver is not linked: where there is none, programs run that do without it.
template <class Function>
Function driver_function(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
  return driver != nullptr ? reinterpret_cast<Function>(dlsym(driver, name)) : nullptr;
}

/// Of either kind: what the driver takes as a function may be a kernel that belongs to no context.
const char* name_of(CUfunction function, CUkernel kernel) {
  static const auto of_function = driver_function<decltype(&cuFuncGetName)>("cuFuncGetName");
  static const auto of_kernel = driver_function<decltype(&cuKernelGetName)>("cuKernelGetName");
  const char* name = nullptr;
  if (function != nullptr && of_function != nullptr && of_function(&name, function) == CUDA_SUCCESS) return name;
  if (kernel == nullptr) kernel = reinterpret_cast<CUkernel>(function);
  return kernel != nullptr && of_kernel != nullptr && of_kernel(&name, kernel) == CUDA_SUCCESS ? name : nullptr;
}

bool is_recording(CUstream stream) {
  static const auto is_capturing = driver_function<decltype(&cuStreamIsCapturing)>("cuStreamIsCapturing");
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // of those that have no handle of their own none records, and the driver calls the question an error
  const bool is_own = stream != nullptr && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
  return is_own && is_capturing != nullptr && is_capturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void add_launch(const char* name, CUfunction function, std::size_t dynamic_bytes, CUstream stream) {
  if (!is_recording(stream)) add_kernel(name != nullptr ? name : name_of(function, nullptr), dynamic_bytes);
}

void add_graph(CUgraph graph) {
  static const auto nodes_of = driver_function<decltype(&cuGraphGetNodes)>("cuGraphGetNodes");
  static const auto type_of = driver_function<decltype(&cuGraphNodeGetType)>("cuGraphNodeGetType");
  static const auto parameters_of =
      driver_function<decltype(&cuGraphKernelNodeGetParams)>("cuGraphKernelNodeGetParams_v2");
  static const auto child_of =
      driver_function<decltype(&cuGraphChildGraphNodeGetGraph)>("cuGraphChildGraphNodeGetGraph");
  if (nodes_of == nullptr || type_of == nullptr || parameters_of == nullptr || child_of == nullptr) {
    write_line("# the driver lacks functions of graphs", "");
    return;
  }
  std::size_t count = 0;
  if (nodes_of(graph, nullptr, &count) != CUDA_SUCCESS || count == 0) return;
  auto* const nodes = static_cast<CUgraphNode*>(std::calloc(count, sizeof(CUgraphNode)));
  if (nodes == nullptr || nodes_of(graph, nodes, &count) != CUDA_SUCCESS) {
    write_line("# the nodes of a graph cannot be read", "");
    count = 0;
  }
  for (std::size_t i = 0; i < count; ++i) {
    CUgraphNodeType type{};
    CUDA_KERNEL_NODE_PARAMS parameters{};
    CUgraph child = nullptr;
    if (type_of(nodes[i], &type) != CUDA_SUCCESS) continue;
    if (type == CU_GRAPH_NODE_TYPE_KERNEL && parameters_of(nodes[i], &parameters) == CUDA_SUCCESS)
      add_kernel(name_of(parameters.func, parameters.kern), parameters.sharedMemBytes);
    if (type == CU_GRAPH_NODE_TYPE_GRAPH && child_of(nodes[i], &child) == CUDA_SUCCESS) add_graph(child);
  }
  std::free(nodes);
}

template <class Parameters>
const Parameters& parameters_of(const CUpti_CallbackData& call) {
  return *static_cast<const Parameters*>(call.functionParams);
}

// What a call says, by the form of its parameters. A launch by the runtime is one by the driver as well: whichever of
// the two CUPTI tells of, or both.
void add_runtime_launch(const CUpti_CallbackData& call) {
  const auto& launch = parameters_of<cudaLaunchKernel_v7000_params>(call);
  add_launch(call.symbolName, nullptr, launch.sharedMem, launch.stream);
}
void add_runtime_launch_ex(const CUpti_CallbackData& call) {
  const auto& launch = *parameters_of<cudaLaunchKernelExC_v11060_params>(call).config;
  add_launch(call.symbolName, nullptr, launch.dynamicSmemBytes, launch.stream);
}
void add_driver_launch(const CUpti_CallbackData& call) {
  const auto& launch = parameters_of<cuLaunchKernel_params>(call);
  add_launch(call.symbolName, launch.f, launch.sharedMemBytes, launch.hStream);
}
void add_driver_launch_ex(const CUpti_CallbackData& call) {
  const auto& launch = parameters_of<cuLaunchKernelEx_params>(call);
  add_launch(call.symbolName, launch.f, launch.config->sharedMemBytes, launch.config->hStream);
}
void add_instantiation(const CUpti_CallbackData& call) {
  add_graph(parameters_of<cuGraphInstantiateWithFlags_params>(call).hGraph);
}

struct Call {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
  void (*add)(const CUpti_CallbackData&);
};
constexpr auto runtime = CUPTI_CB_DOMAIN_RUNTIME_API;
constexpr auto driver = CUPTI_CB_DOMAIN_DRIVER_API;
/// Parameters of a cooperative launch begin as those of a plain one do, those of all instantiations alike.
constexpr std::array calls {
  Call{runtime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, add_runtime_launch},
      Call{runtime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000, add_runtime_launch},
#if CUDART_VERSION >= 13000  // what <<<>>> calls from then on
      Call{runtime, CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000, add_runtime_launch},
      Call{runtime, CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_ptsz_v13000, add_runtime_launch},
#endif
      Call{runtime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000, add_runtime_launch},
      Call{runtime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000, add_runtime_launch},
      Call{runtime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060, add_runtime_launch_ex},
      Call{runtime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060, add_runtime_launch_ex},
      Call{runtime, CUPTI_RUNTIME_TRACE_CBID_cudaGraphInstantiate_v12000, add_instantiation},
      Call{runtime, CUPTI_RUNTIME_TRACE_CBID_cudaGraphInstantiateWithFlags_v11040, add_instantiation},
      Call{runtime, CUPTI_RUNTIME_TRACE_CBID_cudaGraphInstantiateWithParams_v12000, add_instantiation},
      Call{runtime, CUPTI_RUNTIME_TRACE_CBID_cudaGraphInstantiateWithParams_ptsz_v12000, add_instantiation},
      Call{driver, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, add_driver_launch},
      Call{driver, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, add_driver_launch},
      Call{driver, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, add_driver_launch},
      Call{driver, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, add_driver_launch},
      Call{driver, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, add_driver_launch_ex},
      Call{driver, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, add_driver_launch_ex},
      Call{driver, CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate, add_instantiation},
      Call{driver, CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2, add_instantiation},
      Call{driver, CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, add_instantiation},
      Call{driver, CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams, add_instantiation},
      Call{driver, CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz, add_instantiation},
};

void CUPTIAPI on_call(void* /*unused*/, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  // what failed ran nothing; both kinds of status are numbers of which 0 is success
  if (call.callbackSite != CUPTI_API_EXIT || *static_cast<const int*>(call.functionReturnValue) != 0) return;
  for (const Call& known : calls)
    if (known.domain == domain && known.id == id) known.add(call);
}

bool is_done(CUptiResult status, const char* call) {
  if (status == CUPTI_SUCCESS) return true;
  const char* text = "";
  static_cast<void>(cuptiGetResultString(status, &text));
  write_line(call, text);
  return false;
}

}  // namespace

/// By this name CUDA looks for it, when it is itself initialized.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* const path = std::getenv("BLOCKJACOBI_KERNELS_SEEN");
  if (path == nullptr || seen_file >= 0) return 1;
  seen_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  CUpti_SubscriberHandle subscriber = nullptr;
  if (seen_file >= 0 && is_done(cuptiSubscribe(&subscriber, on_call, nullptr), "# cuptiSubscribe: "))
    for (const Call& call : calls)
      is_done(cuptiEnableCallback(1, subscriber, call.domain, call.id), "# cuptiEnableCallback: ");
  return 1;
}
