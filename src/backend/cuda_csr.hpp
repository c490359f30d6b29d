#pragma once

#include "backend/cuda_context.hpp"
#include "backend/operator_impl.hpp"

#include <memory>

namespace blockjacobi::detail {

/// y = A x by cuSPARSE's reproducible CSR algorithm; by our own kernel for 2^31 entries and more, which cuSPARSE would
/// only take with 64-bit columns. 64-bit offsets that fit are narrowed once. Vectors of an empty matrix are zeroed.
/// The arrays of the matrix lie on the device of the context and outlive the operator, as does the context.
template <Scalar T, Offset O>
std::unique_ptr<OperatorImpl<T>> make_cuda_csr(CudaContext& context, const CsrView<T, O>& matrix);

}  // namespace blockjacobi::detail
