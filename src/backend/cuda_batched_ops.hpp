#pragma once

#include "backend/batched_ops.hpp"
#include "backend/cuda_context.hpp"
#include "core/message.hpp"
#include "core/shared/compute_type.hpp"
#include "core/shared/matrix_batch.hpp"
#include "kernels/cholesky/launch.hpp"
#include "kernels/device.hpp"
#include "kernels/inverse/launch.hpp"
#include "kernels/lu/launch.hpp"
#include "kernels/qr/launch.hpp"
#include "kernels/scratch.hpp"
#include "kernels/triangular/launch.hpp"

#include <algorithm>

namespace blockjacobi::detail {

/// Batches by kernels/{lu,inverse,cholesky,qr,triangular}.
template <Scalar T>
class CudaBatchedOps final : public BatchedOps<T> {
  using C = compute_t<T>;

 public:
  explicit CudaBatchedOps(CudaContext& context) : context_(context) {}

  void getrf(const MatrixBatchView<T>& a, index_t* ipiv, int* info) override {
    enqueue("getrf", kernels::largest_order, a,
            [&](CUstream_st* stream) { kernels::getrf(cast(a), ipiv, info, stream); });
  }
  void getri(const MatrixBatchView<const T>& lu, const index_t* ipiv, const MatrixBatchView<T>& x, int* info) override {
    enqueue("getri", kernels::largest_order, lu,
            [&](CUstream_st* stream) { kernels::getri(cast(lu), ipiv, cast(x), info, stream); });
  }
  void inverse(const MatrixBatchView<const T>& a, const MatrixBatchView<T>& x, int* info) override {
    enqueue("inverse", kernels::largest_order, a,
            [&](CUstream_st* stream) { kernels::inverse(cast(a), cast(x), info, stream); });
  }
  void getrs(batched::Op op, const MatrixBatchView<const T>& lu, const index_t* ipiv,
             const MatrixBatchView<T>& b) override {
    enqueue("getrs", kernels::largest_order, lu,
            [&](CUstream_st* stream) { kernels::getrs(op, cast(lu), ipiv, cast(b), stream); });
  }

  void potrf(batched::Triangle triangle, const MatrixBatchView<T>& a, int* info) override {
    enqueue("potrf", kernels::largest_order, a,
            [&](CUstream_st* stream) { kernels::potrf(triangle, cast(a), info, stream); });
  }
  void potri(batched::Triangle triangle, const MatrixBatchView<T>& a, int* info) override {
    enqueue("potri", kernels::largest_order, a,
            [&](CUstream_st* stream) { kernels::potri(triangle, cast(a), info, stream); });
  }
  void spd_inverse(batched::Triangle triangle, const MatrixBatchView<const T>& a, const MatrixBatchView<T>& x,
                   batched::SpdStorage storage, int* info) override {
    const DeviceGuard guard(context_.device());
    const bool takes_scratch =
        storage == batched::SpdStorage::packed && a.rows > kernels::largest_spd_inverse_at_once<C>();
    const Scratch scratch(context_, takes_scratch ? a.rows : 0, a.count);
    enqueue("spd_inverse", kernels::largest_order, a, [&](CUstream_st* stream) {
      kernels::spd_inverse(triangle, cast(a), cast(x), storage, info, scratch.view, stream);
    });
  }
  void potrs(batched::Triangle triangle, const MatrixBatchView<const T>& cholesky,
             const MatrixBatchView<T>& b) override {
    enqueue("potrs", kernels::largest_order, cholesky,
            [&](CUstream_st* stream) { kernels::potrs(triangle, cast(cholesky), cast(b), stream); });
  }

  void geqrf(const MatrixBatchView<T>& a, T* tau) override {
    enqueue("geqrf", kernels::largest_order, a,
            [&](CUstream_st* stream) { kernels::geqrf(cast(a), compute_cast(tau), stream); });
  }
  void pseudo_inverse(const MatrixBatchView<const T>& a, const MatrixBatchView<T>& x, double rtol,
                      index_t* rank) override {
    const Scratch scratch(context_, a.rows, a.count);
    enqueue("pseudo_inverse", kernels::largest_order, a,
            [&](CUstream_st* stream) { kernels::pseudo_inverse(cast(a), cast(x), rtol, rank, scratch.view, stream); });
  }

 private:
  /// Scratch matrices in stream order, until the work that is enqueued in its life is done; none for tiny orders.
  struct Scratch {
    CudaMemory memory;
    MatrixBatchView<C> view;

    Scratch(CudaContext& context, index_t order, offset_t count) {
      if (order <= kernels::largest_tiny_order) return;
      const offset_t elements = offset_t{order} * order;
      const offset_t matrices = kernels::matrices_in_scratch(context.multiprocessors(), order, count, sizeof(C));
      memory = CudaMemory(context, static_cast<std::size_t>(matrices * elements) * sizeof(C));
      view = MatrixBatchView<C>::strided(static_cast<C*>(memory.data()), order, order, order, elements, matrices,
                                         MemorySpace::device);
    }
  };

  static MatrixBatchView<C> cast(const MatrixBatchView<T>& view) { return batch_cast<C>(view); }
  static MatrixBatchView<const C> cast(const MatrixBatchView<const T>& view) { return batch_cast<const C>(view); }

  template <class U, class Launch>
  void enqueue(const char* function, index_t largest, const MatrixBatchView<U>& a, Launch launch) {
    const index_t order = std::max(a.rows, a.cols);
    if (order > largest)
      throw InvalidArgument(
          detail::message("batched::{}: order {} on CUDA, which has orders up to {}", function, order, largest));
    const DeviceGuard guard(context_.device());
    launch(context_.stream());
  }

  CudaContext& context_;
};

}  // namespace blockjacobi::detail
