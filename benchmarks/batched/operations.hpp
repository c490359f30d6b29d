#pragma once

#include "batched/device.hpp"
#include "batched/peers.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <random>

namespace bench {

struct Measurement {
  std::string operation, implementation;
  char scalar;
  int n;
  std::size_t batch;
  Time time;
  double bytes;  ///< the least that a call must move
  double flops;
  double error;  ///< NaN if not evaluated
};

template <class T>
using Wide = std::conditional_t<blockjacobi::is_complex<T>, std::complex<long double>, long double>;

/// n x n, column-major, in extended precision.
template <class T>
class WideMatrix {
 public:
  WideMatrix(const T* values, int n) : n_(n), a_(values, values + static_cast<std::ptrdiff_t>(n) * n) {}
  explicit WideMatrix(int n) : n_(n), a_(static_cast<std::size_t>(n) * static_cast<std::size_t>(n)) {}
  Wide<T>& operator()(int i, int j) { return a_[static_cast<std::size_t>(i + j * n_)]; }
  const Wide<T>& operator()(int i, int j) const { return a_[static_cast<std::size_t>(i + j * n_)]; }
  int n() const { return n_; }

  long double infinity_norm() const {
    long double norm = 0;
    for (int i = 0; i < n_; ++i) {
      long double sum = 0;
      for (int j = 0; j < n_; ++j) sum += std::abs((*this)(i, j));
      if (std::isnan(sum)) return sum;
      norm = std::max(norm, sum);
    }
    return norm;
  }

  friend WideMatrix operator*(const WideMatrix& a, const WideMatrix& b) {
    WideMatrix c(a.n_);
    for (int j = 0; j < a.n_; ++j)
      for (int k = 0; k < a.n_; ++k)
        for (int i = 0; i < a.n_; ++i) c(i, j) += a(i, k) * b(k, j);
    return c;
  }
  friend WideMatrix operator-(WideMatrix a, const WideMatrix& b) {
    for (std::size_t e = 0; e < a.a_.size(); ++e) a.a_[e] -= b.a_[e];
    return a;
  }

 private:
  int n_;
  std::vector<Wide<T>> a_;
};

/// min(||I - A X||, ||I - X A||) / (N eps ||A|| ||X||) in the infinity norm.
template <class T>
double inverse_error(const WideMatrix<T>& a, const WideMatrix<T>& x) {
  const int n = a.n();
  WideMatrix<T> identity(n);
  for (int i = 0; i < n; ++i) identity(i, i) = 1;
  const long double left = (x * a - identity).infinity_norm(), right = (a * x - identity).infinity_norm();
  const long double unit = n * static_cast<long double>(std::numeric_limits<blockjacobi::real_t<T>>::epsilon());
  return static_cast<double>(std::min(left, right) / (unit * a.infinity_norm() * x.infinity_norm()));
}

/// The larger of two errors; infinite if one is NaN.
inline double worse_error(double a, double b) { return std::isnan(a) || std::isnan(b) ? INFINITY : std::max(a, b); }

/// Uniform in [-1/2, 1/2], the parts of complex numbers each.
template <class T>
std::vector<T> random_values(std::size_t count) {
  using Real = blockjacobi::real_t<T>;
  std::mt19937_64 generator(1);
  std::uniform_real_distribution<Real> uniform(Real(-0.5), Real(0.5));
  std::vector<T> values(count);
  for (T& value : values) {
    if constexpr (blockjacobi::is_complex<T>) {
      const Real re = uniform(generator);
      value = T(re, uniform(generator));
    } else {
      value = uniform(generator);
    }
  }
  return values;
}

/// One operation on one order: inputs, work, and what shows that the result is right.
template <class T>
class Case {
  using Real = blockjacobi::real_t<T>;

 public:
  Case(Device& device, const std::string& operation, int n, double gigabytes)
      : device_(device),
        operation_(operation),
        n_(n),
        batch_(std::max<std::size_t>(1, static_cast<std::size_t>(gigabytes * 1e9 / bytes_of_one()))),
        original_(batch_ * size()),
        a_(batch_ * size()),
        x_(operation == "inverse" || operation == "spd_inverse" ? batch_ * size() : 0),
        vectors_(batch_ * static_cast<std::size_t>(n)),
        ipiv_(batch_ * static_cast<std::size_t>(n)),
        info_(batch_) {
    original_.fill(operation == "cholesky" || operation == "spd_inverse" ? positive_definite()
                                                                         : random_values<T>(1 << 22));
    a_.restore(original_);
  }

  std::vector<Measurement> measure(bool peers) {
    std::vector<Measurement> results{ours()};
    if (peers)
      for (const Peer<T>& peer : peers_of<T>(operation_, n_)) results.push_back(theirs(peer));
    return results;
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_); }

  /// Words that must move, design of the table: LU and inverse 2 N^2, Cholesky N (N + 1), QR 2 N^2 + N.
  double bytes_of_one() const {
    const double n = n_;
    const double words = operation_ == "cholesky"      ? n * (n + 1)
                         : operation_ == "spd_inverse" ? n * (n + 1) / 2 + n * n
                         : operation_ == "qr"          ? 2 * n * n + n
                                                       : 2 * n * n;
    return words * sizeof(T);
  }
  double flops_of_one() const {
    const double n = n_, complex = blockjacobi::is_complex<T> ? 4 : 1;
    const double cube = operation_ == "inverse"       ? 2
                        : operation_ == "lu"          ? 2.0 / 3
                        : operation_ == "cholesky"    ? 1.0 / 3
                        : operation_ == "spd_inverse" ? 1
                                                      : 4.0 / 3;
    return complex * cube * n * n * n;
  }

  /// Random and Hermitian, with 2 N on the diagonal.
  std::vector<T> positive_definite() const {
    const std::size_t count = std::max<std::size_t>(1, (1 << 21) / size());
    std::vector<T> values = random_values<T>(count * size());
    const auto n = static_cast<std::size_t>(n_);
    for (std::size_t k = 0; k < count; ++k) {
      T* a = values.data() + k * size();
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < j; ++i) {
          if constexpr (blockjacobi::is_complex<T>)
            a[j + i * n] = std::conj(a[i + j * n]);
          else
            a[j + i * n] = a[i + j * n];
        }
        a[j + j * n] = T(static_cast<Real>(2 * n_));
      }
    }
    return values;
  }

  blockjacobi::MatrixBatchView<T> view(const Buffer<T>& buffer) const {
    return blockjacobi::MatrixBatchView<T>::strided(
        buffer.data(), n_, n_, n_, static_cast<blockjacobi::offset_t>(size()),
        static_cast<blockjacobi::offset_t>(batch_), blockjacobi::MemorySpace::device);
  }

  Measurement ours() {
    namespace batched = blockjacobi::batched;
    const auto& backend = device_.backend;
    Time time{};
    const auto in_place = [&](auto work) {
      return device_.time(
          20, [&] { a_.restore(original_); }, work);
    };
    if (operation_ == "inverse")
      time = device_.time(
          20, [] {}, [&] { batched::inverse<T>(backend, view(a_), view(x_), info_.data()); });
    else if (operation_ == "spd_inverse")
      time = device_.time(
          20, [] {},
          [&] {
            batched::spd_inverse<T>(backend, batched::Triangle::lower, view(a_), view(x_), batched::SpdStorage::full,
                                    info_.data());
          });
    else if (operation_ == "lu")
      time = in_place([&] { batched::getrf<T>(backend, view(a_), ipiv_.data(), info_.data()); });
    else if (operation_ == "cholesky")
      time = in_place([&] { batched::potrf<T>(backend, batched::Triangle::lower, view(a_), info_.data()); });
    else if (operation_ == "qr")
      time = in_place([&] { batched::geqrf<T>(backend, view(a_), vectors_.data()); });
    else
      throw std::runtime_error("there is no operation '" + operation_ + "'");
    return record("blockjacobi", time, error());
  }

  Measurement theirs(const Peer<T>& peer) {
    PeerBatch<T> batch(device_, n_, batch_, a_.data(), x_.data(), vectors_.data(), ipiv_.data(), info_.data());
    const Time time = device_.time(
        5, [&] { a_.restore(original_); }, [&] { peer.run(batch); });
    return record(peer.name, time, std::nan(""));
  }

  Measurement record(const std::string& implementation, Time time, double error) const {
    const auto count = static_cast<double>(batch_);
    return {operation_,
            implementation,
            blockjacobi::to_char(blockjacobi::scalar_type<T>),
            n_,
            batch_,
            time,
            bytes_of_one() * count,
            flops_of_one() * count,
            error};
  }

  /// The largest scaled error of matrices all over the batch; infinite if an info is not 0 or a
  /// result has NaN.
  double error() const {
    double worst = 0;
    for (const int info : info_.sample(0, operation_ == "qr" ? 0 : batch_))
      if (info != 0) return INFINITY;
    constexpr std::size_t samples = 40;
    for (std::size_t s = 0; s < samples; ++s) {
      const std::size_t k = s * (batch_ - 1) / (samples - 1);
      const double e = error_of(k);
      worst = worse_error(worst, e);
    }
    return worst;
  }

  double error_of(std::size_t k) const {
    const WideMatrix<T> a(original_.sample(k * size(), size()).data(), n_);
    const long double unit = n_ * static_cast<long double>(std::numeric_limits<Real>::epsilon());
    if (operation_ == "inverse" || operation_ == "spd_inverse") {
      const WideMatrix<T> x(x_.sample(k * size(), size()).data(), n_);
      return inverse_error(a, x);
    }
    const WideMatrix<T> f(a_.sample(k * size(), size()).data(), n_);
    if (operation_ == "qr") return static_cast<double>(qr_error(a, f, k) / (unit * a.infinity_norm()));
    WideMatrix<T> left(n_), right(n_), permuted = a;
    for (int j = 0; j < n_; ++j)
      for (int i = 0; i < n_; ++i) {
        if (operation_ == "lu") {
          left(i, j) = i > j ? f(i, j) : Wide<T>(i == j ? 1 : 0);
          right(i, j) = i <= j ? f(i, j) : Wide<T>(0);
        } else {
          left(i, j) = i >= j ? f(i, j) : Wide<T>(0);
          right(j, i) = conjugate(left(i, j));
        }
      }
    if (operation_ == "lu") {
      const auto ipiv = ipiv_.sample(k * static_cast<std::size_t>(n_), static_cast<std::size_t>(n_));
      for (int i = 0; i < n_; ++i)
        for (int j = 0; j < n_; ++j) std::swap(permuted(i, j), permuted(ipiv[static_cast<std::size_t>(i)] - 1, j));
    }
    return static_cast<double>((left * right - permuted).infinity_norm() / (unit * a.infinity_norm()));
  }

  /// ||A - Q R|| with Q applied as the product of its reflectors.
  long double qr_error(const WideMatrix<T>& a, const WideMatrix<T>& f, std::size_t k) const {
    const auto tau = vectors_.sample(k * static_cast<std::size_t>(n_), static_cast<std::size_t>(n_));
    WideMatrix<T> product(n_);
    for (int j = 0; j < n_; ++j)
      for (int i = 0; i <= j; ++i) product(i, j) = f(i, j);
    for (int r = n_ - 1; r >= 0; --r)
      for (int j = 0; j < n_; ++j) {
        Wide<T> dot = product(r, j);
        for (int i = r + 1; i < n_; ++i) dot += conjugate(f(i, r)) * product(i, j);
        dot *= Wide<T>(tau[static_cast<std::size_t>(r)]);
        product(r, j) -= dot;
        for (int i = r + 1; i < n_; ++i) product(i, j) -= f(i, r) * dot;
      }
    return (product - a).infinity_norm();
  }

  static Wide<T> conjugate(const Wide<T>& value) {
    if constexpr (blockjacobi::is_complex<T>)
      return std::conj(value);
    else
      return value;
  }

  Device& device_;
  std::string operation_;
  int n_;
  std::size_t batch_;
  Buffer<T> original_, a_, x_, vectors_;
  Buffer<int> ipiv_, info_;
};

}  // namespace bench
