#pragma once

#include "support/backends.hpp"
#include "support/dense.hpp"

#include <cstring>
#include <memory>
#include <numeric>

namespace blockjacobi::test {

/// The fixture of all tests of batched.hpp.
template <class Case>
class BatchedOnBackend : public BackendTest<Case> {};

inline constexpr double accuracy = 10.0;  // of every backward error, the library's promise

/// How the matrices of a batch lie in memory.
struct BatchForm {
  index_t padding = 0;    ///< leading dimension less rows
  bool packed = false;    ///< leading dimension 0
  bool pointers = false;  ///< a pointer array, the last matrix first in memory
  bool orders = false;    ///< an order each, even if all are equal
  bool shifted = false;   ///< one element behind where it would be aligned
};

inline const std::vector<BatchForm> batch_forms{
    {},
    {.padding = 3},
    {.packed = true},
    {.pointers = true},
    {.padding = 1, .pointers = true, .orders = true},
    {.packed = true, .orders = true},
    {.shifted = true},
};

/// Matrices in a backend's memory, between elements that are all NaN and must not change.
template <Scalar T>
class TestBatch {
 public:
  TestBatch(const Backend& backend, const std::vector<Dense<T>>& matrices, const BatchForm& form = {})
      : form_(form),
        shapes_(shapes_of(matrices)),
        storage_(backend, total()),
        pointers_(backend, matrices.size()),
        orders_(backend, matrices.size()) {
    std::vector<T> host(total());
    if (!host.empty()) std::memset(static_cast<void*>(host.data()), 0xFF, host.size() * sizeof(T));
    std::vector<T*> pointers;
    std::vector<index_t> orders;
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      map(host, k) = matrices[k];
      pointers.push_back(storage_.data() + start(k));
      orders.push_back(shapes_[k].first);
    }
    storage_.copy_from_host(host.data());
    pointers_.copy_from_host(pointers.data());
    orders_.copy_from_host(orders.data());
  }

  /// Matrices of the same shapes, all NaN.
  static std::vector<Dense<T>> nan_like(const std::vector<Dense<T>>& like) {
    std::vector<Dense<T>> nan;
    for (const auto& a : like)
      nan.push_back(Dense<T>::Constant(a.rows(), a.cols(), T(std::numeric_limits<real_t<T>>::quiet_NaN())));
    return nan;
  }

  MatrixBatchView<T> view() const {
    const auto space = storage_.backend().memory_space();
    const auto count = static_cast<offset_t>(shapes_.size());
    const index_t ld = form_.packed ? 0 : rows() + form_.padding;
    const index_t* orders = form_.orders ? orders_.data() : nullptr;
    return form_.pointers
               ? MatrixBatchView<T>::pointer_array(pointers_.data(), rows(), cols(), ld, count, space, orders)
               : MatrixBatchView<T>::strided(storage_.data() + origin(), rows(), cols(), ld,
                                             static_cast<offset_t>(stride()), count, space, orders);
  }
  /// The same storage for an output of a function of `input`, whose orders it takes.
  MatrixBatchView<T> view_for(const TestBatch& input) const {
    MatrixBatchView<T> x = view();
    x.orders = input.view().orders;
    return x;
  }

  std::vector<Dense<T>> matrices() const {
    std::vector<T> host = storage_.to_host();
    std::vector<Dense<T>> result;
    for (std::size_t k = 0; k < shapes_.size(); ++k) result.push_back(map(host, k));
    return result;
  }

  /// What lies from the first element of matrix k on, as many as it has.
  std::vector<T> elements(std::size_t k) const {
    const std::vector<T> host = storage_.to_host();
    const auto first = host.begin() + static_cast<std::ptrdiff_t>(start(k));
    return {first, first + static_cast<std::ptrdiff_t>(shapes_[k].first) * shapes_[k].second};
  }

  /// Every element between the matrices is what it was, bit for bit.
  bool padding_untouched() const {
    std::vector<T> host = storage_.to_host();
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      auto a = map(host, k);
      for (index_t j = 0; j < a.cols(); ++j)
        for (index_t i = 0; i < a.rows(); ++i) std::memset(static_cast<void*>(&a(i, j)), 0xFF, sizeof(T));
    }
    const auto* bytes = reinterpret_cast<const unsigned char*>(host.data());
    return std::all_of(bytes, bytes + host.size() * sizeof(T), [](unsigned char byte) { return byte == 0xFF; });
  }

 private:
  using Map = Eigen::Map<Dense<T>, Eigen::Unaligned, Eigen::OuterStride<>>;
  using Shapes = std::vector<std::pair<index_t, index_t>>;

  static Shapes shapes_of(const std::vector<Dense<T>>& matrices) {
    Shapes shapes;
    for (const auto& a : matrices) shapes.emplace_back(a.rows(), a.cols());
    return shapes;
  }
  index_t rows() const {
    index_t largest = 0;
    for (const auto& shape : shapes_) largest = std::max(largest, shape.first);
    return largest;
  }
  index_t cols() const {
    index_t largest = 0;
    for (const auto& shape : shapes_) largest = std::max(largest, shape.second);
    return largest;
  }
  index_t ld(std::size_t k) const { return form_.packed ? shapes_[k].first : rows() + form_.padding; }
  std::size_t stride() const {
    // Without padding the matrices stand back to back, which has kernels of its own.
    const std::size_t gap = form_.padding > 0 ? 5 : 0;
    return static_cast<std::size_t>(rows() + form_.padding) * static_cast<std::size_t>(cols()) + gap;
  }
  std::size_t origin() const { return form_.shifted ? 1 : 0; }
  std::size_t total() const { return origin() + stride() * shapes_.size(); }
  std::size_t start(std::size_t k) const { return origin() + stride() * (form_.pointers ? shapes_.size() - 1 - k : k); }
  Map map(std::vector<T>& host, std::size_t k) const {
    return Map(host.data() + start(k), shapes_[k].first, shapes_[k].second, Eigen::OuterStride<>(ld(k)));
  }

  BatchForm form_;
  Shapes shapes_;
  Array<T> storage_;
  Array<T*> pointers_;
  Array<index_t> orders_;
};

/// The matrices, and so many of order 0 behind them that on CUDA a thread block has each, where of few matrices several
/// have one. The form of their batch has `orders`.
template <Scalar T>
std::vector<Dense<T>> among_many(std::vector<Dense<T>> matrices) {
  matrices.resize(70, Dense<T>(0, 0));
  return matrices;
}

/// Every order with kernels of its own and some above, for functions that every backend has for large matrices too.
inline std::vector<index_t> all_batched_orders() {
  std::vector<index_t> orders(32);
  std::iota(orders.begin(), orders.end(), 1);
  orders.insert(orders.end(), {33, 48, 64, 77, 128, 200});
  return orders;
}

/// A few of them from every range in which matrices are shared among threads in one way, for what compute-sanitizer
/// runs; other tests of that kind take them all.
inline std::vector<index_t> few_batched_orders() { return {1, 2, 3, 4, 7, 8, 12, 16, 20, 21, 24, 28, 32, 33, 64}; }

/// Back to back; up to order 32, which has other kernels for the rest, also with gaps and by pointers with an order
/// each.
inline std::vector<BatchForm> forms_of_order(index_t n) {
  if (n > 32) return {BatchForm{}};
  return {BatchForm{}, batch_forms[1], batch_forms[4]};
}

template <Scalar T>
bool same_bits(const Dense<T>& a, const Dense<T>& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return false;
  return a.size() == 0 || std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(T)) == 0;
}

template <Scalar T>
bool all_nan(const Dense<T>& a) {
  return (a.array() != a.array()).all();
}

/// ||residual|| / (N eps scale) in the infinity norm; infinity if that is not a number.
template <Scalar T>
double scaled_error(const WideDense<T>& residual, Eigen::Index n, long double scale) {
  if (residual.size() == 0) return 0;
  const long double error =
      infinity_norm(residual) / (static_cast<long double>(std::max<Eigen::Index>(n, 1)) *
                                 static_cast<long double>(std::numeric_limits<real_t<T>>::epsilon()) * scale);
  if (infinity_norm(residual) == 0.0L) return 0;
  return std::isfinite(error) ? static_cast<double>(error) : std::numeric_limits<double>::infinity();
}

}  // namespace blockjacobi::test
