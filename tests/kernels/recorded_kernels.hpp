#pragma once

#include "tests/kernels/driver_function.hpp"
#include "tests/kernels/support.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cxxabi.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace blockjacobi::test {

/// A launch as a graph holds it.
struct RecordedKernel {
  std::string name;  ///< with its template arguments
  unsigned threads = 0;
  unsigned shared_bytes = 0;
  unsigned cluster = 1;  ///< thread blocks
  int compiled_for = 0;  ///< 80 is 8.0, wherever it runs
};

/// Whether launches beside this one of the library may be of clusters: code for earlier devices has none, on those
/// that have them too.
inline bool may_have_clusters(const RecordedKernel& kernel) { return is_sm_90() && kernel.compiled_for >= 90; }

inline std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : name;
}

inline RecordedKernel recorded_kernel(cudaGraphNode_t node) {
  static const auto parameters_of =
      needed_driver_function<decltype(&cuGraphKernelNodeGetParams)>("cuGraphKernelNodeGetParams", 12000);
  static const auto name_of = needed_driver_function<decltype(&cuFuncGetName)>("cuFuncGetName", 12030);
  static const auto name_of_kernel = needed_driver_function<decltype(&cuKernelGetName)>("cuKernelGetName", 12030);
  static const auto attribute_of = needed_driver_function<decltype(&cuFuncGetAttribute)>("cuFuncGetAttribute", 12000);
  static const auto attribute_of_kernel =
      needed_driver_function<decltype(&cuKernelGetAttribute)>("cuKernelGetAttribute", 12000);
  CUDA_KERNEL_NODE_PARAMS parameters{};
  const char* name = "";
  cudaLaunchAttributeValue cluster{};
  EXPECT_EQ(parameters_of(node, &parameters), CUDA_SUCCESS);
  EXPECT_EQ(parameters.func != nullptr ? name_of(&name, parameters.func) : name_of_kernel(&name, parameters.kern),
            CUDA_SUCCESS);
  int compiled_for = 0;
  EXPECT_EQ(parameters.func != nullptr
                ? attribute_of(&compiled_for, CU_FUNC_ATTRIBUTE_PTX_VERSION, parameters.func)
                : attribute_of_kernel(&compiled_for, CU_FUNC_ATTRIBUTE_PTX_VERSION, parameters.kern, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeClusterDimension, &cluster), cudaSuccess);
  return {demangled(name), parameters.blockDimX * parameters.blockDimY * parameters.blockDimZ,
          parameters.sharedMemBytes, cluster.clusterDim.x > 0 ? cluster.clusterDim.x : 1, compiled_for};
}

/// The kernels that `work` enqueues on the stream, of which nothing runs. Proves which code a call takes.
template <class Work>
std::vector<RecordedKernel> recorded_kernels(cudaStream_t stream, Work work) {
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_NO_THROW(work());
  if (const cudaError_t status = cudaStreamEndCapture(stream, &graph); status != cudaSuccess)
    throw std::runtime_error(cudaGetErrorString(status));
  std::size_t count = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
  std::vector<cudaGraphNode_t> nodes(count);
  EXPECT_EQ(cudaGraphGetNodes(graph, nodes.data(), &count), cudaSuccess);
  std::vector<RecordedKernel> kernels;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    EXPECT_EQ(cudaGraphNodeGetType(node, &type), cudaSuccess);
    if (type == cudaGraphNodeTypeKernel) kernels.push_back(recorded_kernel(node));
  }
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  return kernels;
}

}  // namespace blockjacobi::test
