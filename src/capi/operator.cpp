#include "capi/handles.hpp"

using namespace blockjacobi;
using capi::guarded;
using capi::HeldOperator;
using capi::required;

namespace {

/// The caller's function as the library's.
template <Scalar T>
VectorFunction<T> wrapped(bj_product product, void* context) {
  return [product, context](VectorView<const T> x, VectorView<T> y) {
    const std::int32_t result = product(context, x.data, y.data);
    if (result != 0) throw capi::CallbackFailed(capi::message("the caller's product returned {}", result));
  };
}

/// A copy of the matrix in the numbering of the blocks.
template <Scalar T, Offset O>
HeldOperator<T> numbered(const Backend& backend, const CsrView<T, O>& matrix, const bj_partition& partition) {
  if (matrix.rows != partition.value.rows())
    throw InvalidArgument(
        capi::message("the partition has {} rows, the matrix {}", partition.value.rows(), matrix.rows));
  if (!partition.permutation) {
    const SparseMatrix<T> copy(backend, matrix);
    return {copy, copy};
  }
  const capi::Renumbered<T> system(backend, matrix, *partition.permutation);
  const SparseMatrix<T> copy(backend, system.matrix.view());
  return {copy, copy, system.numbering};
}

template <Scalar T>
void refresh(HeldOperator<T>& A, const T* values, offset_t nnz, MemorySpace space) {
  if (auto* bsr = std::get_if<BsrMatrix<T>>(&A.own)) return bsr->refresh(values, nnz, space);
  auto* copy = std::get_if<SparseMatrix<T>>(&A.own);
  if (copy == nullptr) throw InvalidArgument("A was not made by bj_operator_create_bsr or bj_operator_create_numbered");
  copy->update_values(A.numbering ? A.numbering->ordered(values, nnz, space) : values, nnz, space);
}

}  // namespace

std::unique_ptr<bj_operator> capi::make_numbered_operator(const Backend& backend, const bj_csr* matrix,
                                                          const bj_partition& partition) {
  return with_csr(matrix, [&](const auto& view) {
    return std::unique_ptr<bj_operator>(new bj_operator{numbered(backend, view, partition)});
  });
}

bj_status bj_operator_create_csr(const bj_backend* backend, const bj_csr* matrix, bj_operator** A) {
  return guarded("bj_operator_create_csr", [&] {
    required(A, "A");
    const Backend& where = required(backend, "backend")->value;
    *A = capi::with_csr(matrix, [&]<class T, class O>(const CsrView<T, O>& view) {
      return new bj_operator{HeldOperator<T>{LinearOperator<T>(where, view)}};
    });
  });
}

bj_status bj_operator_create_numbered(const bj_backend* backend, const bj_csr* matrix, const bj_partition* partition,
                                      bj_operator** A) {
  return guarded("bj_operator_create_numbered", [&] {
    required(A, "A");
    const Backend& where = required(backend, "backend")->value;
    required(partition, "partition");
    *A = capi::make_numbered_operator(where, matrix, *partition).release();
  });
}

bj_status bj_operator_create_bsr(const bj_backend* backend, const bj_csr* matrix, std::int32_t block, bj_operator** A) {
  return guarded("bj_operator_create_bsr", [&] {
    required(A, "A");
    const Backend& where = required(backend, "backend")->value;
    *A = capi::with_csr(matrix, [&]<class T, class O>(const CsrView<T, O>& view) {
      BsrMatrix<T> bsr(where, view, block);
      return new bj_operator{HeldOperator<T>{LinearOperator<T>(bsr), std::move(bsr)}};
    });
  });
}

bj_status bj_operator_refresh(bj_operator* A, const void* values, std::int64_t nnz, bj_space space) {
  return guarded("bj_operator_refresh", [&] {
    const MemorySpace where = capi::space_of(space);
    std::visit([&]<class T>(HeldOperator<T>& a) { refresh(a, static_cast<const T*>(values), nnz, where); },
               required(A, "A")->value);
  });
}

bj_status bj_operator_create_function(const bj_backend* backend, std::int32_t rows, bj_scalar scalar,
                                      bj_product product, void* context, bj_operator** A) {
  return guarded("bj_operator_create_function", [&] {
    required(A, "A");
    if (product == nullptr) throw InvalidArgument("product is a null pointer");
    const Backend& where = required(backend, "backend")->value;
    *A = capi::with_scalar(scalar, [&](auto tag) {
      using T = typename decltype(tag)::type;
      return new bj_operator{HeldOperator<T>{LinearOperator<T>(where, rows, wrapped<T>(product, context))}};
    });
  });
}

bj_status bj_operator_destroy(bj_operator* A) {
  return guarded("bj_operator_destroy", [&] { delete A; });
}

bj_status bj_operator_apply(const bj_operator* A, const void* x, void* y, std::int32_t size, bj_space space) {
  return guarded("bj_operator_apply", [&] {
    const MemorySpace where = capi::space_of(space);
    std::visit(
        [&]<class T>(const HeldOperator<T>& a) {
          const VectorView<const T> in{static_cast<const T*>(x), size, where};
          const VectorView<T> out{static_cast<T*>(y), size, where};
          if (!a.numbering) return a.product.apply(in, out);
          a.numbering->around(in, out, [&](VectorView<const T> p, VectorView<T> q) { a.product.apply(p, q); });
        },
        required(A, "A")->value);
  });
}
