#pragma once

#include "backend/backend_impl.hpp"
#include "backend/cuda_context.hpp"

namespace blockjacobi::detail {

/// Captures what `body` enqueues in a graph. Without `capturable`, and on the legacy default stream, which cannot be
/// captured, every replay calls `body`.
std::unique_ptr<Recording> make_cuda_recording(CudaContext& context, std::function<void()> body, bool capturable);

}  // namespace blockjacobi::detail
