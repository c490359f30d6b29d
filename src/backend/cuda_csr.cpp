#include "backend/cuda_csr.hpp"

#include "backend/cuda_check.hpp"
#include "kernels/krylov/policy.hpp"

#include <algorithm>
#include <type_traits>

namespace blockjacobi::detail {

namespace {

template <Scalar T>
constexpr cudaDataType cuda_type() {
  switch (scalar_type<T>) {
    case ScalarType::s: return CUDA_R_32F;
    case ScalarType::d: return CUDA_R_64F;
    case ScalarType::c: return CUDA_C_32F;
    case ScalarType::z: return CUDA_C_64F;
  }
  return CUDA_R_64F;
}

struct DestroyMatrix {
  void operator()(cusparseSpMatDescr_t matrix) const { static_cast<void>(cusparseDestroySpMat(matrix)); }
};
struct DestroyVector {
  void operator()(cusparseDnVecDescr_t vector) const { static_cast<void>(cusparseDestroyDnVec(vector)); }
};
using MatrixDescriptor = std::unique_ptr<std::remove_pointer_t<cusparseSpMatDescr_t>, DestroyMatrix>;
using VectorDescriptor = std::unique_ptr<std::remove_pointer_t<cusparseDnVecDescr_t>, DestroyVector>;

/// cuSPARSE's descriptors take pointers to non-const, also where they only read.
template <class T>
void* writable(const T* pointer) {
  return const_cast<T*>(pointer);
}

template <Scalar T>
MatrixDescriptor describe(const CsrView<compute_t<T>, std::int32_t>& m) {
  const auto base = m.base == IndexBase::one ? CUSPARSE_INDEX_BASE_ONE : CUSPARSE_INDEX_BASE_ZERO;
  cusparseSpMatDescr_t descriptor = nullptr;
  check(cusparseCreateCsr(&descriptor, m.rows, m.cols, m.nnz, writable(m.row_offsets), writable(m.columns),
                          writable(m.values), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, base, cuda_type<T>()),
        "cusparseCreateCsr");
  return MatrixDescriptor(descriptor);
}

template <Scalar T>
VectorDescriptor describe(index_t size, void* data) {
  cusparseDnVecDescr_t descriptor = nullptr;
  check(cusparseCreateDnVec(&descriptor, size, data, cuda_type<T>()), "cusparseCreateDnVec");
  return VectorDescriptor(descriptor);
}

/// Offsets and columns of 32 bits.
template <Scalar T>
class CusparseCsr final : public CudaCsr<T, std::int32_t> {
  using Base = CudaCsr<T, std::int32_t>;
  using Base::context_;

 public:
  using typename Base::C;

  CusparseCsr(CudaContext& context, kernels::CsrProductDesign design, const CsrView<C, std::int32_t>& matrix,
              CudaMemory offsets)
      : Base(context, design, matrix, std::move(offsets)), descriptor_(describe<T>(matrix)) {
    const DeviceGuard guard(context_.device());
    const index_t longest = std::max(matrix.rows, matrix.cols);
    const std::size_t bytes = static_cast<std::size_t>(longest) * sizeof(T);
    const CudaMemory x(context_, bytes), y(context_, bytes);
    context_.zero(x.data(), bytes);
    x_ = describe<T>(matrix.cols, x.data());
    y_ = describe<T>(matrix.rows, y.data());
    std::size_t buffer_bytes = 0;
    check(cusparseSpMV_bufferSize(context_.cusparse(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, descriptor_.get(),
                                  x_.get(), &zero_, y_.get(), cuda_type<T>(), algorithm, &buffer_bytes),
          "cusparseSpMV_bufferSize");
    // why: a null buffer is refused by the preprocessing of some versions, so there is always one.
    buffer_ = CudaMemory(context_, std::max<std::size_t>(buffer_bytes, 256));
    check(cusparseSpMV_preprocess(context_.cusparse(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, descriptor_.get(),
                                  x_.get(), &zero_, y_.get(), cuda_type<T>(), algorithm, buffer_.data()),
          "cusparseSpMV_preprocess");
    multiply();  // loads cuSPARSE's kernels now and not during a capture
  }

  void apply(const C* x, C* y) const override {
    const DeviceGuard guard(context_.device());
    check(cusparseDnVecSetValues(x_.get(), writable(x)), "cusparseDnVecSetValues");
    check(cusparseDnVecSetValues(y_.get(), y), "cusparseDnVecSetValues");
    multiply();
  }

 private:
  static constexpr cusparseSpMVAlg_t algorithm = CUSPARSE_SPMV_CSR_ALG2;  // bitwise reproducible

  void multiply() const {
    check(cusparseSpMV(context_.cusparse(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, descriptor_.get(), x_.get(),
                       &zero_, y_.get(), cuda_type<T>(), algorithm, buffer_.data()),
          "cusparseSpMV");
  }

  MatrixDescriptor descriptor_;
  VectorDescriptor x_, y_;
  CudaMemory buffer_;
  T one_{1}, zero_{0};
};

/// Any number of entries, by our own kernel.
template <Scalar T, Offset O>
class KernelCsr final : public CudaCsr<T, O> {
  using Base = CudaCsr<T, O>;
  using Base::context_, Base::matrix_;

 public:
  using Base::Base;
  using typename Base::C;

  void apply(const C* x, C* y) const override {
    const DeviceGuard guard(context_.device());
    kernels::csr_product(matrix_, x, y, context_.stream());
  }
};

/// No entries: y = 0.
template <Scalar T>
class EmptyCsr final : public OperatorImpl<T> {
  using C = compute_t<T>;

 public:
  EmptyCsr(CudaContext& context, index_t rows) : context_(context), rows_(rows) {}

  index_t rows() const override { return rows_; }
  bool capturable() const override { return true; }
  void apply(const C*, C* y) const override { context_.zero(y, static_cast<std::size_t>(rows_) * sizeof(T)); }

 private:
  CudaContext& context_;
  index_t rows_;
};

int longest_row(CudaContext& context, const CsrView<const void, std::int32_t>& pattern) {
  const CudaMemory length(context, sizeof(int));
  auto* const device = static_cast<int*>(length.data());
  context.zero(device, sizeof(int));
  kernels::longest_row(pattern, device, context.stream());
  return context.read(device);
}

template <Scalar T, Offset O>
CsrView<compute_t<T>, O> in_compute_type(const CsrView<T, O>& m) {
  return {m.rows, m.cols, m.nnz, m.row_offsets, m.columns, compute_cast(m.values), m.base, m.space};
}

template <Scalar T, Offset O>
kernels::CsrProductCase case_of(const CsrView<T, O>& m) {
  return {m.rows, m.cols, m.nnz, static_cast<int>(m.base)};
}

/// The design for a matrix that cuSPARSE takes, with the longest row where that decides.
template <Scalar T>
kernels::CsrProductDesign narrow_design(CudaContext& context, const CsrView<T, std::int32_t>& m) {
  kernels::CsrProductCase given = case_of(m);
  const auto by_counts = kernels::csr_product_policy(given).design;
  if (by_counts == kernels::CsrProductDesign::cusparse) return by_counts;
  const CsrView<const void, std::int32_t> pattern{m.rows,    m.cols,  m.nnz,  m.row_offsets,
                                                  m.columns, nullptr, m.base, m.space};
  given.longest_row = longest_row(context, pattern);
  return kernels::csr_product_policy(given).design;
}

template <Scalar T>
std::unique_ptr<OperatorImpl<T>> make_narrow(CudaContext& context, const CsrView<T, std::int32_t>& m,
                                             CudaMemory offsets) {
  const DeviceGuard guard(context.device());
  const kernels::CsrProductDesign design = narrow_design(context, m);
  if (design == kernels::CsrProductDesign::cusparse)
    return std::make_unique<CusparseCsr<T>>(context, design, in_compute_type(m), std::move(offsets));
  return std::make_unique<RowsCsr<T>>(context, design, in_compute_type(m), std::move(offsets));
}

template <Scalar T>
std::unique_ptr<OperatorImpl<T>> make_narrow(CudaContext& context, const CsrView<T, std::int32_t>& matrix) {
  return make_narrow(context, matrix, CudaMemory());
}

template <Scalar T>
std::unique_ptr<OperatorImpl<T>> make_narrow(CudaContext& context, const CsrView<T, std::int64_t>& matrix) {
  const DeviceGuard guard(context.device());
  const std::size_t count = static_cast<std::size_t>(matrix.rows) + 1;
  CudaMemory offsets(context, count * sizeof(std::int32_t));
  auto* narrow = static_cast<std::int32_t*>(offsets.data());
  kernels::narrow_offsets(matrix.row_offsets, static_cast<offset_t>(count), narrow, context.stream());
  const CsrView<T, std::int32_t> view{matrix.rows,    matrix.cols,   matrix.nnz,  narrow,
                                      matrix.columns, matrix.values, matrix.base, matrix.space};
  return make_narrow(context, view, std::move(offsets));
}

}  // namespace

template <Scalar T, Offset O>
std::unique_ptr<OperatorImpl<T>> make_cuda_csr(CudaContext& context, const CsrView<T, O>& matrix) {
  const auto design = kernels::csr_product_policy(case_of(matrix)).design;
  if (design == kernels::CsrProductDesign::zero) return std::make_unique<EmptyCsr<T>>(context, matrix.rows);
  if (design == kernels::CsrProductDesign::unlimited)
    return std::make_unique<KernelCsr<T, O>>(context, design, in_compute_type(matrix), CudaMemory());
  return make_narrow(context, matrix);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                        \
  template std::unique_ptr<OperatorImpl<T>> make_cuda_csr(CudaContext&, const CsrView<T, std::int32_t>&); \
  template std::unique_ptr<OperatorImpl<T>> make_cuda_csr(CudaContext&, const CsrView<T, std::int64_t>&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
