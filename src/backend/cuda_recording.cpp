#include "backend/cuda_recording.hpp"

#include "backend/cuda_check.hpp"

#include <utility>

namespace blockjacobi::detail {

namespace {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { forget(cudaGraphDestroy(graph)); }
};
struct DestroyGraphExec {
  void operator()(cudaGraphExec_t graph) const { forget(cudaGraphExecDestroy(graph)); }
};
using Graph = std::unique_ptr<CUgraph_st, DestroyGraph>;
using GraphExec = std::unique_ptr<CUgraphExec_st, DestroyGraphExec>;

/// Runs `body` with the stream in capture and ends the capture also if it throws.
Graph capture(cudaStream_t stream, const std::function<void()>& body) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  cudaGraph_t graph = nullptr;
  try {
    body();
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(stream, &graph));
    const Graph discarded(graph);
    static_cast<void>(cudaGetLastError());
    throw;
  }
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  return Graph(graph);
}

class GraphRecording final : public Recording {
 public:
  GraphRecording(CudaContext& context, const std::function<void()>& body) : context_(context) {
    const DeviceGuard guard(context_.device());
    const Graph graph = capture(context_.stream(), body);
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph.get(), 0), "cudaGraphInstantiate");
    executable_.reset(executable);
  }

  void replay() override {
    const DeviceGuard guard(context_.device());
    check(cudaGraphLaunch(executable_.get(), context_.stream()), "cudaGraphLaunch");
  }

 private:
  CudaContext& context_;
  GraphExec executable_;
};

class DirectRecording final : public Recording {
 public:
  explicit DirectRecording(std::function<void()> body) : body_(std::move(body)) {}
  void replay() override { body_(); }

 private:
  std::function<void()> body_;
};

bool can_be_captured(cudaStream_t stream) { return stream != nullptr && stream != cudaStreamLegacy; }

}  // namespace

std::unique_ptr<Recording> make_cuda_recording(CudaContext& context, std::function<void()> body, bool capturable) {
  if (capturable && can_be_captured(context.stream())) return std::make_unique<GraphRecording>(context, body);
  return std::make_unique<DirectRecording>(std::move(body));
}

}  // namespace blockjacobi::detail
