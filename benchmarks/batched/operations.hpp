#pragma once

#include "batched/accuracy.hpp"
#include "batched/measurement.hpp"
#include "batched/peers.hpp"

#include <cmath>
#include <memory>

namespace bench {

/// One way to do an operation. If it works in place, its input must be restored before every call.
struct Way {
  std::string implementation;
  bool in_place;
  std::function<void()> run;
};

/// One operation on one order: inputs, work, and what shows that the result is right.
template <class T>
class Case {
  using Real = blockjacobi::real_t<T>;

 public:
  /// `batch` matrices; if it is 0, as many as move `gigabytes` up to order 32 and what is usual above.
  Case(Device& device, const std::string& operation, int n, std::size_t batch, double gigabytes)
      : device_(device),
        operation_(operation),
        n_(n),
        batch_(batch > 0 ? batch
               : n <= 32
                   ? std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(gigabytes * 1e9 / bytes_of_one())))
               : n <= 200 ? 10000
                          : 2000),
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
    std::vector<Measurement> results;
    for (const Way& way : ways(peers)) {
      const bool own = way.implementation == "blockjacobi";
      const int repetitions = own ? 20 : n_ <= 200 ? 5 : 3;
      const Time time = device_.time(
          repetitions,
          [&] {
            if (way.in_place) restore();
          },
          way.run);
      results.push_back(record(way.implementation, time, own ? error() : std::nan("")));
    }
    return results;
  }

  /// This library's, and those of the peers.
  std::vector<Way> ways(bool peers) {
    std::vector<Way> all{{"blockjacobi", operation_ != "inverse" && operation_ != "spd_inverse", ours()}};
    if (!peers) return all;
    const auto batch = std::make_shared<PeerBatch<T>>(device_, n_, batch_, a_.data(), x_.data(), vectors_.data(),
                                                      ipiv_.data(), info_.data());
    for (const Peer<T>& peer : peers_of<T>(operation_, n_, batch_))
      all.push_back({peer.name, true, [batch, run = peer.run] { run(*batch); }});
    return all;
  }
  void restore() { a_.restore(original_); }
  double restored_bytes() const { return static_cast<double>(a_.bytes()); }

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

  std::function<void()> ours() {
    namespace batched = blockjacobi::batched;
    using batched::Triangle;
    const auto& backend = device_.backend;
    if (operation_ == "inverse") return [&] { batched::inverse<T>(backend, view(a_), view(x_), info_.data()); };
    if (operation_ == "spd_inverse")
      return [&] {
        batched::spd_inverse<T>(backend, Triangle::lower, view(a_), view(x_), batched::SpdStorage::full, info_.data());
      };
    if (operation_ == "lu") return [&] { batched::getrf<T>(backend, view(a_), ipiv_.data(), info_.data()); };
    if (operation_ == "cholesky") return [&] { batched::potrf<T>(backend, Triangle::lower, view(a_), info_.data()); };
    if (operation_ == "qr") return [&] { batched::geqrf<T>(backend, view(a_), vectors_.data()); };
    throw std::runtime_error("there is no operation '" + operation_ + "'");
  }

  /// The largest scaled error of matrices all over the batch; infinite if an info is not 0 or a
  /// result has NaN.
  double error() const {
    double worst = 0;
    for (const int info : info_.sample(0, operation_ == "qr" ? 0 : batch_))
      if (info != 0) return INFINITY;
    // Products in extended precision take their time.
    const std::size_t samples =
        std::clamp<std::size_t>(40 * 64 * 64 * 64 / (size() * static_cast<std::size_t>(n_)), 2, 40);
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
    if (operation_ == "lu")
      return lu_error(a, f, ipiv_.sample(k * static_cast<std::size_t>(n_), static_cast<std::size_t>(n_)));
    WideMatrix<T> left(n_), right(n_);
    for (int j = 0; j < n_; ++j)
      for (int i = 0; i < n_; ++i) {
        left(i, j) = i >= j ? f(i, j) : Wide<T>(0);
        right(j, i) = conjugate(left(i, j));
      }
    return static_cast<double>((left * right - a).infinity_norm() / (unit * a.infinity_norm()));
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
