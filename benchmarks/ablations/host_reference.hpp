#pragma once

#include "backend/host_batched_ops.hpp"
#include "batched/accuracy.hpp"

namespace bench {

/// Some matrices of a batch with the host backend's results: what every design is held against.
template <class T>
class HostReference {
 public:
  /// `a`: matrices of order n back to back.
  HostReference(int n, std::vector<T> a) : n_(n), a_(std::move(a)), lu_(a_), x_(a_.size()) {
    const auto count = static_cast<blockjacobi::offset_t>(a_.size() / size());
    ipiv_.resize(static_cast<std::size_t>(count * n));
    info_.resize(static_cast<std::size_t>(count));
    blockjacobi::detail::HostBatchedOps<T> host(1);
    host.getrf(view(lu_, count), ipiv_.data(), info_.data());
    host.inverse(view(a_, count), view(x_, count), info_.data());
  }

  /// Scaled error of a factorization of matrix s; infinite if it must not pass: info, multipliers above 1, and in
  /// double precision any interchange that is not the host's (in single precision nearly equal pivots round
  /// differently).
  double error_of_lu(std::size_t s, const std::vector<T>& factors, const std::vector<int>& ipiv, int info) const {
    const WideMatrix<T> f(factors.data(), n_);
    long double largest = 0;
    for (int j = 0; j < n_; ++j)
      for (int i = j + 1; i < n_; ++i) largest = std::max(largest, std::abs(f(i, j)));
    for (const int row : ipiv)
      if (row < 1 || row > n_) return INFINITY;
    const bool same = std::equal(ipiv.begin(), ipiv.end(), ipiv_.begin() + static_cast<std::ptrdiff_t>(s) * n_);
    const bool passes = info == 0 && largest <= 1 + 100 * unit() && (same || std::is_same_v<T, float>);
    return passes ? lu_error(original(s), f, ipiv) : INFINITY;
  }

  /// Scaled error of an inverse of matrix s, and the distance from the host's in units of N eps ||A|| ||X||^2; the
  /// larger one. Above order 128 the distance alone, as products in extended precision take their time.
  double error_of_inverse(std::size_t s, const std::vector<T>& inverse, int info) const {
    if (info != 0) return INFINITY;
    const WideMatrix<T> a = original(s), x(inverse.data(), n_), expected(x_.data() + s * size(), n_);
    const long double norm = expected.infinity_norm();
    const auto distance = (x - expected).infinity_norm() / (unit() * a.infinity_norm() * norm * norm);
    return worse_error(n_ <= 128 ? inverse_error(a, x) : 0.0, static_cast<double>(distance));
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_); }
  long double unit() const { return n_ * static_cast<long double>(std::numeric_limits<T>::epsilon()); }
  WideMatrix<T> original(std::size_t s) const { return {a_.data() + s * size(), n_}; }
  blockjacobi::MatrixBatchView<T> view(std::vector<T>& values, blockjacobi::offset_t count) const {
    return blockjacobi::MatrixBatchView<T>::strided(
        values.data(), n_, n_, n_, static_cast<blockjacobi::offset_t>(size()), count, blockjacobi::MemorySpace::host);
  }

  int n_;
  std::vector<T> a_, lu_, x_;
  std::vector<int> ipiv_, info_;
};

/// Of the triangles of all panels, by LAPACK's formula in extended precision: in units of n eps of the largest element
/// of each, times the width for the columns that build upon each other.
template <class T>
double error_of_larft(int n, int width, const std::vector<T>& a, const std::vector<T>& tau,
                      const std::vector<T>& found) {
  const auto at = [n](int i, int j) {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(n) + static_cast<std::size_t>(i);
  };
  const auto v = [&](int i, int j) -> long double { return i > j ? a[at(i, j)] : T(i == j); };
  double worst = 0;
  for (int p = 0; p < n; p += width) {
    std::vector<long double> t(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
    long double largest = 0, difference = 0;
    for (int j = p; j < p + width; ++j) {
      std::vector<long double> g(static_cast<std::size_t>(n));
      for (int k = p; k < j; ++k)
        for (int i = j; i < n; ++i) g[static_cast<std::size_t>(k)] += v(i, k) * v(i, j);
      for (int i = p; i <= j; ++i) {
        long double sum = i == j ? -1.0L : 0.0L;
        for (int k = i; k < j; ++k) sum += t[at(i, k)] * g[static_cast<std::size_t>(k)];
        t[at(i, j)] = -sum * tau[static_cast<std::size_t>(j)];
        largest = std::max(largest, std::abs(t[at(i, j)]));
        const long double error = std::abs(t[at(i, j)] - found[at(i, j)]);
        if (!(error <= difference)) difference = error;
      }
    }
    const long double unit = static_cast<long double>(n) * width * std::numeric_limits<T>::epsilon();
    worst = worse_error(worst, static_cast<double>(difference / (unit * largest)));
  }
  return worst;
}

}  // namespace bench
