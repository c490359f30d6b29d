#include "batched.hpp"

#include "arrays.hpp"

#include <blockjacobi/batched.hpp>

#include <nanobind/stl/string.h>

#include <limits>

namespace blockjacobi::python {

namespace {

/// LAPACK's order of the elements of a matrix, and the other one: the same memory holds the transpose in LAPACK's.
enum class Order { columns, rows };

bool is_empty(const ArrayView& array) { return array.shape(0) == 0 || array.shape(1) == 0 || array.shape(2) == 0; }

bool stands_in(const ArrayView& array, Order order) {
  if (is_empty(array)) return true;
  const int along = order == Order::columns ? 1 : 2, across = order == Order::columns ? 2 : 1;
  const bool contiguous = array.shape(along) <= 1 || array.stride(along) == 1;
  const bool apart = array.shape(across) <= 1 || array.stride(across) >= array.shape(along);
  return contiguous && apart;
}

/// The memory as LAPACK sees it: of Order::rows the transposes. Throws InvalidArgument if the elements stand in another
/// order.
template <class T>
MatrixBatchView<T> batch(const ArrayView& array, Order order, const PythonBackend& backend) {
  array.require_type(nb::dtype<std::remove_const_t<T>>());
  array.require_dimensions(3);
  array.require_space(backend);
  for (int k = 1; k < 3; ++k)
    if (array.shape(k) > std::numeric_limits<index_t>::max())
      throw InvalidArgument(array.what() + " has the shape " + array.shape_text() + ", which does not fit in 32 bits");
  if (!stands_in(array, order) || (array.shape(0) > 1 && array.stride(0) < 0))
    throw InvalidArgument(array.what() + " has the shape " + array.shape_text() + " and the strides " +
                          array.strides_text() + " (in elements); the " +
                          (order == Order::columns ? "columns" : "rows") + " of its matrices must be contiguous");
  const int along = order == Order::columns ? 1 : 2, across = order == Order::columns ? 2 : 1;
  const auto rows = static_cast<index_t>(array.shape(along)), cols = static_cast<index_t>(array.shape(across));
  const bool one_column = is_empty(array) || cols == 1;  // the stride says nothing
  const std::int64_t ld = one_column ? rows : array.stride(across);
  if (ld > std::numeric_limits<index_t>::max())
    throw InvalidArgument(array.what() + " has the strides " + array.strides_text() +
                          " (in elements), which do not fit in 32 bits");
  const offset_t stride = is_empty(array) || array.shape(0) == 1 ? ld * cols : array.stride(0);
  return MatrixBatchView<T>::strided(static_cast<T*>(array.data()), rows, cols, static_cast<index_t>(ld), stride,
                                     array.shape(0), array.space());
}

Order order_of(const ArrayView& array) {
  array.require_dimensions(3);
  return stands_in(array, Order::columns) ? Order::columns : Order::rows;
}

/// The order that both have; columns where either would do.
Order common_order(const ArrayView& a, const ArrayView& x) {
  a.require_dimensions(3);
  x.require_dimensions(3);
  return stands_in(a, Order::columns) && stands_in(x, Order::columns) ? Order::columns : Order::rows;
}

/// `size` numbers a matrix, the last axis contiguous, nothing between matrices.
template <class T>
T* numbers(const ArrayView& array, std::int64_t count, std::int64_t size, const PythonBackend& backend) {
  array.require_type(nb::dtype<T>());
  array.require_dimensions(2);
  array.require_space(backend);
  if (array.shape(0) != count || array.shape(1) != size)
    throw InvalidArgument(array.what() + " has the shape " + array.shape_text() + ", must have (" +
                          std::to_string(count) + ", " + std::to_string(size) + ")");
  array.require_contiguous();
  return static_cast<T*>(array.data());
}

batched::Triangle triangle(bool lower, Order order) {
  return lower == (order == Order::columns) ? batched::Triangle::lower : batched::Triangle::upper;
}

CallerStreams streams(std::initializer_list<const ArrayView*> arrays) {
  CallerStreams all;
  for (const ArrayView* array : arrays) array->add_stream_to(all);
  return all;
}

/// Returns whether the factors are those of the transposes.
bool getrf(const PythonBackend& backend, const nb::object& a, const nb::object& pivots, const nb::object& info) {
  const ArrayView matrices(a, "batched.lu: a", Access::write, backend);
  const ArrayView rows(pivots, "batched.lu: pivots", Access::write, backend);
  const ArrayView outcome(info, "batched.lu: info", Access::write, backend);
  const Order order = order_of(matrices);
  with_scalar(matrices.scalar(), [&](auto tag) {
    const auto view = batch<typename decltype(tag)::type>(matrices, order, backend);
    auto* const ipiv = numbers<index_t>(rows, view.count, view.rows, backend);
    auto* const codes = outcome.vector<int>(view.count, backend).data;
    backend.run(streams({&matrices, &rows, &outcome}), [&] { batched::getrf(backend.value(), view, ipiv, codes); });
  });
  return order == Order::rows;
}

void getri(const PythonBackend& backend, const nb::object& lu, const nb::object& pivots, const nb::object& x,
           const nb::object& info) {
  const ArrayView factors(lu, "LU.inverse: factors", Access::read, backend);
  const ArrayView rows(pivots, "LU.inverse: pivots", Access::read, backend);
  const ArrayView result(x, "LU.inverse: out", Access::write, backend);
  const ArrayView outcome(info, "LU.inverse: info", Access::write, backend);
  // As getrf took it, so that the factors are read in the order in which they were made.
  const Order order = order_of(factors);
  with_scalar(factors.scalar(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto from = batch<const T>(factors, order, backend);
    const auto to = batch<T>(result, order, backend);
    const auto* const ipiv = numbers<index_t>(rows, from.count, from.rows, backend);
    auto* const codes = outcome.vector<int>(from.count, backend).data;
    backend.run(streams({&factors, &rows, &result, &outcome}),
                [&] { batched::getri(backend.value(), from, ipiv, to, codes); });
  });
}

void getrs(const PythonBackend& backend, const std::string& op_name, const nb::object& lu, const nb::object& pivots,
           const nb::object& b) {
  const Op op = enumerator("LU.solve: op", op_name, ops);
  const ArrayView factors(lu, "LU.solve: factors", Access::read, backend);
  const ArrayView rows(pivots, "LU.solve: pivots", Access::read, backend);
  const ArrayView right(b, "LU.solve: b", Access::write, backend);
  const Order order = order_of(factors);
  with_scalar(factors.scalar(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto from = batch<const T>(factors, order, backend);
    const auto to = batch<T>(right, Order::columns, backend);
    const auto* const ipiv = numbers<index_t>(rows, from.count, from.rows, backend);
    backend.run(streams({&factors, &rows, &right}), [&] { batched::getrs(backend.value(), op, from, ipiv, to); });
  });
}

/// Returns whether the memory holds the factors of the transposes, that is of the conjugates, in LAPACK's order.
bool potrf(const PythonBackend& backend, bool lower, const nb::object& a, const nb::object& info) {
  const ArrayView matrices(a, "batched.cholesky: a", Access::write, backend);
  const ArrayView outcome(info, "batched.cholesky: info", Access::write, backend);
  const Order order = order_of(matrices);
  with_scalar(matrices.scalar(), [&](auto tag) {
    const auto view = batch<typename decltype(tag)::type>(matrices, order, backend);
    auto* const codes = outcome.vector<int>(view.count, backend).data;
    backend.run(streams({&matrices, &outcome}),
                [&] { batched::potrf(backend.value(), triangle(lower, order), view, codes); });
  });
  return order == Order::rows;
}

void potrs(const PythonBackend& backend, bool lower, const nb::object& cholesky, const nb::object& b) {
  const ArrayView factors(cholesky, "Cholesky.solve: factors", Access::read, backend);
  const ArrayView right(b, "Cholesky.solve: b", Access::write, backend);
  const Order order = order_of(factors);
  with_scalar(factors.scalar(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto from = batch<const T>(factors, order, backend);
    const auto to = batch<T>(right, Order::columns, backend);
    backend.run(streams({&factors, &right}),
                [&] { batched::potrs(backend.value(), triangle(lower, order), from, to); });
  });
}

void inverse(const PythonBackend& backend, const nb::object& a, const nb::object& x, const nb::object& info) {
  const ArrayView matrices(a, "batched.inverse: a", Access::read, backend);
  const ArrayView result(x, "batched.inverse: out", Access::write, backend);
  const ArrayView outcome(info, "batched.inverse: info", Access::write, backend);
  const Order order = common_order(matrices, result);
  with_scalar(matrices.scalar(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto from = batch<const T>(matrices, order, backend);
    const auto to = batch<T>(result, order, backend);
    auto* const codes = outcome.vector<int>(from.count, backend).data;
    backend.run(streams({&matrices, &result, &outcome}), [&] { batched::inverse(backend.value(), from, to, codes); });
  });
}

void spd_inverse(const PythonBackend& backend, bool lower, const nb::object& a, const nb::object& x,
                 const nb::object& info) {
  const ArrayView matrices(a, "batched.inverse: a", Access::read, backend);
  const ArrayView result(x, "batched.inverse: out", Access::write, backend);
  const ArrayView outcome(info, "batched.inverse: info", Access::write, backend);
  const Order order = common_order(matrices, result);
  with_scalar(matrices.scalar(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto from = batch<const T>(matrices, order, backend);
    const auto to = batch<T>(result, order, backend);
    auto* const codes = outcome.vector<int>(from.count, backend).data;
    backend.run(streams({&matrices, &result, &outcome}), [&] {
      batched::spd_inverse(backend.value(), triangle(lower, order), from, to, batched::SpdStorage::full, codes);
    });
  });
}

void pseudo_inverse(const PythonBackend& backend, const nb::object& a, const nb::object& x, double rtol,
                    const nb::object& rank) {
  const ArrayView matrices(a, "batched.pseudo_inverse: a", Access::read, backend);
  const ArrayView result(x, "batched.pseudo_inverse: out", Access::write, backend);
  const ArrayView ranks(rank, "batched.pseudo_inverse: rank", Access::write, backend);
  const Order order = common_order(matrices, result);
  with_scalar(matrices.scalar(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto from = batch<const T>(matrices, order, backend);
    const auto to = batch<T>(result, order, backend);
    auto* const found = ranks.vector<index_t>(from.count, backend).data;
    backend.run(streams({&matrices, &result, &ranks}),
                [&] { batched::pseudo_inverse(backend.value(), from, to, rtol, found); });
  });
}

void geqrf(const PythonBackend& backend, const nb::object& a, const nb::object& tau) {
  const ArrayView matrices(a, "batched.qr: a", Access::write, backend);
  const ArrayView scalars(tau, "batched.qr: tau", Access::write, backend);
  with_scalar(matrices.scalar(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto view = batch<T>(matrices, Order::columns, backend);
    auto* const factors = numbers<T>(scalars, view.count, std::min(view.rows, view.cols), backend);
    backend.run(streams({&matrices, &scalars}), [&] { batched::geqrf(backend.value(), view, factors); });
  });
}

}  // namespace

void bind_batched(nb::module_& module) {
  module.def("getrf", &getrf);
  module.def("getri", &getri);
  module.def("getrs", &getrs);
  module.def("potrf", &potrf);
  module.def("potrs", &potrs);
  module.def("inverse", &inverse);
  module.def("spd_inverse", &spd_inverse);
  module.def("pseudo_inverse", &pseudo_inverse);
  module.def("geqrf", &geqrf);
}

}  // namespace blockjacobi::python
