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

/// As many matrices as move `gigabytes` up to order 32, and what is usual above.
inline std::size_t usual_batch(int n, double bytes_of_one, double gigabytes) {
  if (n > 32) return n <= 200 ? 10000 : 2000;
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(gigabytes * 1e9 / bytes_of_one)));
}

/// One operation on one order: inputs, work, and what shows that the result is right.
template <class T>
class Case {
 public:
  /// `batch` matrices; if it is 0, the usual number.
  Case(Device& device, const std::string& operation, int n, std::size_t batch, double gigabytes)
      : device_(device),
        operation_(operation),
        n_(n),
        batch_(batch > 0 ? batch : usual_batch(n, bytes_of_one(), gigabytes)),
        original_(batch_ * size()),
        a_(batch_ * size()),
        x_(operation == "inverse" || operation == "spd_inverse" ? batch_ * size() : 0),
        vectors_(batch_ * static_cast<std::size_t>(n)),
        ipiv_(batch_ * static_cast<std::size_t>(n)),
        info_(batch_) {
    original_.fill(operation == "cholesky" || operation == "spd_inverse" ? random_positive_definite<T>(n)
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
    const auto n = static_cast<std::size_t>(n_);
    const WideMatrix<T> a(original_.sample(k * size(), size()).data(), n_);
    if (operation_ == "inverse" || operation_ == "spd_inverse")
      return inverse_error(a, WideMatrix<T>(x_.sample(k * size(), size()).data(), n_));
    const WideMatrix<T> f(a_.sample(k * size(), size()).data(), n_);
    if (operation_ == "qr") return qr_error(a, f, vectors_.sample(k * n, n));
    return operation_ == "lu" ? lu_error(a, f, ipiv_.sample(k * n, n)) : cholesky_error(a, f);
  }

  Device& device_;
  std::string operation_;
  int n_;
  std::size_t batch_;
  Buffer<T> original_, a_, x_, vectors_;
  Buffer<int> ipiv_, info_;
};

}  // namespace bench
