#include "batched/checks.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace blockjacobi::detail {

namespace {

/// Elements from the first to the last of a matrix of the largest order.
template <class T>
offset_t extent_of(const MatrixBatchView<T>& a) {
  if (a.rows == 0 || a.cols == 0) return 0;
  const offset_t ld = a.ld != 0 ? a.ld : a.rows;
  return ld * (a.cols - 1) + a.rows;
}

template <class T>
Footprint rectangle(const MatrixBatchView<T>& a) {
  return {extent_of(a), a.rows};
}

template <class T>
Footprint packed_triangle(const MatrixBatchView<T>& a) {
  const offset_t elements = offset_t{a.rows} * (a.rows + 1) / 2;
  return {elements, elements};
}

/// Both with the same orders; packed triangles have the leading dimension of the other batch.
template <class T>
bool same_storage(const MatrixBatchView<T>& a, const MatrixBatchView<T>& x) {
  return a.data == x.data && a.pointers == x.pointers && (a.ld == x.ld || std::max(a.cols, x.cols) <= 1) &&
         (a.stride == x.stride || a.count == 1);
}

/// Whether two matrices of one leading dimension, 0 if it is not the same, share no element. `distance`: elements from
/// the first one of a to that of x.
bool apart(offset_t distance, offset_t ld, const Footprint& a, const Footprint& x) {
  if (distance >= a.extent || -distance >= x.extent) return true;
  if (ld == 0) return false;
  const offset_t offset = (distance % ld + ld) % ld;
  return offset >= a.run && offset + x.run <= ld;
}

/// The same for every matrix of one batch and every matrix of another at the same stride.
bool apart(offset_t distance, offset_t ld, offset_t stride, offset_t count, const Footprint& a, const Footprint& x) {
  if (count == 1) return apart(distance, ld, a, x);
  // Those further from each other end before the other starts.
  const offset_t first = std::max(1 - count, (-x.extent - distance) / stride - 1);
  const offset_t last = std::min(count - 1, (a.extent - distance) / stride + 1);
  for (offset_t k = first; k <= last; ++k)
    if (!apart(distance + k * stride, ld, a, x)) return false;
  return true;
}

}  // namespace

template <Scalar T>
void BatchedChecks<T>::array(const char* name, const void* data, offset_t each, offset_t count) const {
  if (each == 0 || count == 0) return;
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / each)
    fail(name, "{} elements for each of {} matrices exceed the address space", each, count);
  if (data == nullptr) fail(name, "null pointer, {} elements", each * count);
}

template <Scalar T>
void BatchedChecks<T>::relative_tolerance(double rtol) const {
  if (!(rtol < 1)) fail("rtol", "is {}, must be below 1", rtol);
}

template <Scalar T>
void BatchedChecks<T>::matrices(const char* name, const View& a) const {
  shape(name, a, max_block_size);
  entries(name, a, a.orders);
}

template <Scalar T>
void BatchedChecks<T>::shape(const char* name, const View& a, index_t largest_cols) const {
  if (a.rows < 0 || a.cols < 0 || a.count < 0)
    fail(name, "{} matrices of {} x {}, none may be negative", a.count, a.rows, a.cols);
  if (a.rows > max_block_size || a.cols > largest_cols)
    fail(name, "matrices are {} x {}, at most {} x {} is supported", a.rows, a.cols, max_block_size, largest_cols);
  if (a.ld != 0 && a.ld < a.rows)
    fail(name, "leading dimension is {}, must be at least the {} rows, or 0", a.ld, a.rows);
  if (a.orders != nullptr && a.rows != a.cols)
    fail(name, "matrices are {} x {}, must be square to have orders", a.rows, a.cols);
  storage(name, a, extent_of(a));
}

/// What depends on the elements from the first to the last of a matrix.
template <Scalar T>
void BatchedChecks<T>::storage(const char* name, const View& a, offset_t extent) const {
  if (a.space != backend_.memory_space())
    fail(name, "lies on the {}, the backend ({}) computes on the {}", to_string(a.space), backend_.description(),
         to_string(backend_.memory_space()));
  if (a.data != nullptr && a.pointers != nullptr) fail(name, "has data and pointers, must have one of them");
  if (a.count == 0 || extent == 0) return;
  if (a.data == nullptr && a.pointers == nullptr)
    fail(name, "null pointer, {} matrices of {} x {}", a.count, a.rows, a.cols);
  constexpr offset_t largest = std::numeric_limits<std::ptrdiff_t>::max() / static_cast<offset_t>(sizeof(T));
  if (extent > largest) fail(name, "matrices of {} elements exceed the address space", extent);
  if (a.pointers != nullptr && a.count > std::numeric_limits<std::ptrdiff_t>::max() / offset_t{sizeof(T*)})
    fail(name, "{} pointers exceed the address space", a.count);
  if (a.pointers != nullptr || a.count == 1) return;
  if (a.stride < extent)
    fail(name, "stride is {}, must be at least the {} elements that a matrix of {} x {} spans", a.stride, extent,
         a.rows, a.cols);
  if (a.stride > (largest - extent) / (a.count - 1))
    fail(name, "{} matrices at stride {} exceed the address space", a.count, a.stride);
}

/// Orders and pointers, where they can be read without waiting; nothing needs to be at the pointer of order 0.
template <Scalar T>
void BatchedChecks<T>::entries(const char* name, const View& a, const index_t* orders) const {
  if (a.space != MemorySpace::host) return;
  const bool empty = a.rows == 0 || a.cols == 0;
  for (offset_t k = 0; k < a.count && a.orders != nullptr; ++k)
    if (a.orders[k] < 0 || a.orders[k] > a.rows)
      fail(name, "order of matrix {} is {}, must be in 0..{}", k, a.orders[k], a.rows);
  for (offset_t k = 0; k < a.count && a.pointers != nullptr && !empty; ++k)
    if (a.pointers[k] == nullptr && (orders == nullptr || orders[k] > 0)) fail(name, "pointer to matrix {} is null", k);
}

template <Scalar T>
void BatchedChecks<T>::square(const char* name, const View& a) const {
  if (a.rows != a.cols) fail(name, "matrices are {} x {}, must be square", a.rows, a.cols);
  matrices(name, a);
}

template <Scalar T>
void BatchedChecks<T>::shape_of_output(const View& a, const View& x) const {
  if (x.rows != a.rows || x.cols != a.cols || x.count != a.count)
    fail("x", "has {} matrices of {} x {}, the input {} of {} x {}", x.count, x.rows, x.cols, a.count, a.rows, a.cols);
  if (x.orders != nullptr && x.orders != a.orders)
    fail("x", "has orders of its own, must have none or those of the input");
}

template <Scalar T>
void BatchedChecks<T>::output(const View& a, const View& x) const {
  shape_of_output(a, x);
  matrices("x", resolved_output(a, x));
  overlap(resolved(a), rectangle(a), "x", resolved_output(a, x), rectangle(x));
}

template <Scalar T>
void BatchedChecks<T>::packed_output(const View& a, const View& x) const {
  shape_of_output(a, x);
  View triangles = resolved_output(a, x);
  triangles.ld = resolved(a).ld;
  storage("x", triangles, packed_triangle(x).extent);
  entries("x", triangles, triangles.orders);
  overlap(resolved(a), rectangle(a), "x", triangles, packed_triangle(x));
}

template <Scalar T>
void BatchedChecks<T>::right_hand_sides(const char* name, const View& a, const View& b) const {
  if (b.orders != nullptr) fail("b", "has orders, only {} may have them", name);
  if (b.rows != a.rows || b.count != a.count)
    fail("b", "has {} matrices of {} rows, {} has {} of order {}", b.count, b.rows, name, a.count, a.rows);
  shape("b", b, std::numeric_limits<index_t>::max());
  entries("b", b, a.orders);
  if (b.cols > 0 && a.count > 0 && a.rows > 0 && same_storage(resolved(a), resolved(b)))
    fail("b", "is the storage of {}", name);
  overlap(resolved(a), rectangle(a), "b", resolved(b), rectangle(b));
}

/// Refuses operands that share some of their elements but are not the same storage.
template <Scalar T>
void BatchedChecks<T>::overlap(const View& a, const Footprint& of_a, const char* name, const View& x,
                               const Footprint& of_x) const {
  if (a.count == 0 || of_a.extent == 0 || of_x.extent == 0 || same_storage(a, x)) return;
  if (a.pointers != nullptr || x.pointers != nullptr) {
    if (a.pointers == x.pointers)
      fail(name, "has the pointers of the input and leading dimension {}, the input {}", x.ld, a.ld);
    return;
  }
  constexpr auto bytes = static_cast<std::intptr_t>(sizeof(T));
  const auto a_begin = reinterpret_cast<std::intptr_t>(a.data), x_begin = reinterpret_cast<std::intptr_t>(x.data);
  const std::intptr_t a_bytes = ((a.count - 1) * a.stride + of_a.extent) * bytes;
  const std::intptr_t x_bytes = ((x.count - 1) * x.stride + of_x.extent) * bytes;
  const std::intptr_t distance = x_begin - a_begin;
  if (distance >= a_bytes || -distance >= x_bytes) return;
  const bool comparable = distance % bytes == 0 && (a.count == 1 || a.stride == x.stride);
  if (!comparable || !apart(distance / bytes, a.ld == x.ld ? a.ld : 0, a.stride, a.count, of_a, of_x))
    fail(name, "overlaps the input in part: starts {} bytes from it and spans {} bytes, the input {}", distance,
         x_bytes, a_bytes);
}

template class BatchedChecks<float>;
template class BatchedChecks<double>;
template class BatchedChecks<std::complex<float>>;
template class BatchedChecks<std::complex<double>>;

}  // namespace blockjacobi::detail
