#pragma once

#include "batched/operations.hpp"

#include <set>

namespace bench {

/// getrs or potrs: solutions from factors, with several numbers of right-hand sides.
template <class T>
class Solves {
 public:
  /// `batch` matrices; if it is 0, the usual number.
  Solves(Device& device, const std::string& operation, int n, std::size_t batch, double gigabytes)
      : device_(device),
        operation_(operation),
        n_(n),
        batch_(batch > 0 ? batch : usual_batch(n, bytes_of_one(n), gigabytes)),
        original_(batch_ * size(n)),
        factors_(batch_ * size(n)),
        right_(batch_ * size(std::max(16, n))),
        x_(batch_ * size(std::max(16, n))),
        ipiv_(batch_ * static_cast<std::size_t>(n)),
        info_(batch_),
        factor_pointers_(batch_),
        x_pointers_(batch_) {
    original_.fill(is_lu() ? random_values<T>(1 << 22) : random_positive_definite<T>(n));
    right_.fill(random_values<T>((1 << 20) + 7));
    factors_.restore(original_);
    if (is_lu())
      blockjacobi::batched::getrf<T>(device.backend, view(factors_, n), ipiv_.data(), info_.data());
    else
      blockjacobi::batched::potrf<T>(device.backend, blockjacobi::batched::Triangle::lower, view(factors_, n),
                                     info_.data());
    factor_pointers_.fill(addresses(factors_, n));
  }

  std::vector<Measurement> measure(bool peers) {
    std::vector<Measurement> results;
    for (const int columns : std::set<int>{1, 16, n_}) {
      results.push_back(measure("blockjacobi", columns, 20, [this, columns] { solve(columns); }));
      results.back().error = error(columns);
      if (!peers) continue;
      x_pointers_.fill(addresses(x_, columns));
      const int repetitions = n_ <= 200 ? 5 : 3;
      if (is_lu())
        results.push_back(measure("cublas", columns, repetitions, [this, columns] { solve_by_cublas(columns); }));
      else if (columns == 1)  // it takes no more
        results.push_back(measure("cusolver", columns, repetitions, [this] { solve_by_cusolver(); }));
    }
    return results;
  }

 private:
  bool is_lu() const { return operation_ == "getrs"; }
  std::size_t size(int columns) const { return static_cast<std::size_t>(n_) * static_cast<std::size_t>(columns); }

  /// The factors in, the right-hand sides in and out.
  double bytes_of_one(int columns) const {
    const double n = n_, factors = is_lu() ? n * n : n * (n + 1) / 2;
    return (factors + 2 * n * columns) * sizeof(T);
  }

  blockjacobi::MatrixBatchView<T> view(const Buffer<T>& buffer, int columns) const {
    return blockjacobi::MatrixBatchView<T>::strided(
        buffer.data(), n_, columns, n_, static_cast<blockjacobi::offset_t>(size(columns)),
        static_cast<blockjacobi::offset_t>(batch_), blockjacobi::MemorySpace::device);
  }
  std::vector<cuda_t<T>*> addresses(const Buffer<T>& buffer, int columns) const {
    std::vector<cuda_t<T>*> all(batch_);
    for (std::size_t k = 0; k < batch_; ++k) all[k] = reinterpret_cast<cuda_t<T>*>(buffer.data() + k * size(columns));
    return all;
  }

  void solve(int columns) {
    if (is_lu())
      blockjacobi::batched::getrs<T>(device_.backend, blockjacobi::Op::none, view(factors_, n_), ipiv_.data(),
                                     view(x_, columns));
    else
      blockjacobi::batched::potrs<T>(device_.backend, blockjacobi::batched::Triangle::lower, view(factors_, n_),
                                     view(x_, columns));
  }
  void solve_by_cublas(int columns) {
    int status = 0;
    check(Functions<T>::getrs(device_.cublas, CUBLAS_OP_N, n_, columns, factor_pointers_.data(), n_, ipiv_.data(),
                              x_pointers_.data(), n_, &status, static_cast<int>(batch_)));
  }
  void solve_by_cusolver() {
    check(Functions<T>::potrs(device_.cusolver, CUBLAS_FILL_MODE_LOWER, n_, 1, factor_pointers_.data(), n_,
                              x_pointers_.data(), n_, info_.data(), static_cast<int>(batch_)));
  }

  Measurement measure(const std::string& implementation, int columns, int repetitions,
                      const std::function<void()>& work) {
    const Time time = device_.time(
        repetitions, [this] { x_.restore(right_); }, work);
    const auto count = static_cast<double>(batch_);
    Measurement m{operation_,
                  implementation,
                  blockjacobi::to_char(blockjacobi::scalar_type<T>),
                  n_,
                  batch_,
                  time,
                  bytes_of_one(columns) * count,
                  (blockjacobi::is_complex<T> ? 8.0 : 2.0) * n_ * n_ * columns * count,
                  std::nan("")};
    m.columns = columns;
    return m;
  }

  /// Of matrices all over the batch.
  double error(int columns) const {
    double worst = 0;
    for (const std::size_t k : {std::size_t{0}, batch_ / 2, batch_ - 1}) {
      const WideMatrix<T> a(original_.sample(k * size(n_), size(n_)).data(), n_);
      const std::vector<T> x = x_.sample(k * size(columns), size(columns));
      worst = worse_error(worst, solve_error(a, x, right_.sample(k * size(columns), size(columns)), columns));
    }
    return worst;
  }

  Device& device_;
  std::string operation_;
  int n_;
  std::size_t batch_;
  Buffer<T> original_, factors_, right_, x_;
  Buffer<int> ipiv_, info_;
  Buffer<cuda_t<T>*> factor_pointers_, x_pointers_;
};

}  // namespace bench
