#pragma once

#include <blockjacobi/types.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <thread>
#include <vector>

namespace bench {

template <class T>
using Wide = std::conditional_t<blockjacobi::is_complex<T>, std::complex<long double>, long double>;

/// f(j) for j in 0 .. n - 1, on all processors where the columns are long.
template <class F>
void for_each_column(int n, const F& f) {
  const int threads = n < 128 ? 1 : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<std::jthread> pool;
  for (int first = 0; first < threads; ++first)
    pool.emplace_back([=, &f] {
      for (int j = first; j < n; j += threads) f(j);
    });
}

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
    for_each_column(a.n_, [&](int j) {
      for (int k = 0; k < a.n_; ++k)
        for (int i = 0; i < a.n_; ++i) c(i, j) += a(i, k) * b(k, j);
    });
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

/// ||P A - L U|| / (N eps ||A||) in the infinity norm; `factors` as getrf leaves them, `ipiv` of length N.
template <class T>
double lu_error(const WideMatrix<T>& a, const WideMatrix<T>& factors, const std::vector<int>& ipiv) {
  const int n = a.n();
  WideMatrix<T> difference = a;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) std::swap(difference(i, j), difference(ipiv[static_cast<std::size_t>(i)] - 1, j));
  for_each_column(n, [&](int j) {
    for (int k = 0; k <= j; ++k) {
      difference(k, j) -= factors(k, j);
      for (int i = k + 1; i < n; ++i) difference(i, j) -= factors(i, k) * factors(k, j);
    }
  });
  const long double unit = n * static_cast<long double>(std::numeric_limits<blockjacobi::real_t<T>>::epsilon());
  return static_cast<double>(difference.infinity_norm() / (unit * a.infinity_norm()));
}

/// The larger of two errors; infinite if one is NaN.
inline double worse_error(double a, double b) { return std::isnan(a) || std::isnan(b) ? INFINITY : std::max(a, b); }

template <class T>
Wide<T> conjugate(const Wide<T>& value) {
  if constexpr (blockjacobi::is_complex<T>)
    return std::conj(value);
  else
    return value;
}

/// ||A - L L^H|| / (N eps ||A||) in the infinity norm; `factor` as potrf leaves the lower triangle.
template <class T>
double cholesky_error(const WideMatrix<T>& a, const WideMatrix<T>& factor) {
  const int n = a.n();
  WideMatrix<T> left(n), right(n);
  for (int j = 0; j < n; ++j)
    for (int i = j; i < n; ++i) {
      left(i, j) = factor(i, j);
      right(j, i) = conjugate<T>(factor(i, j));
    }
  const long double unit = n * static_cast<long double>(std::numeric_limits<blockjacobi::real_t<T>>::epsilon());
  return static_cast<double>((left * right - a).infinity_norm() / (unit * a.infinity_norm()));
}

/// ||A - Q R|| / (N eps ||A||) in the infinity norm, with Q applied as the product of its reflectors; `factors` and
/// `tau` as geqrf leaves them.
template <class T>
double qr_error(const WideMatrix<T>& a, const WideMatrix<T>& factors, const std::vector<T>& tau) {
  const int n = a.n();
  WideMatrix<T> product(n);
  for_each_column(n, [&](int j) {
    for (int i = 0; i <= j; ++i) product(i, j) = factors(i, j);
    for (int r = n - 1; r >= 0; --r) {
      Wide<T> dot = product(r, j);
      for (int i = r + 1; i < n; ++i) dot += conjugate<T>(factors(i, r)) * product(i, j);
      dot *= Wide<T>(tau[static_cast<std::size_t>(r)]);
      product(r, j) -= dot;
      for (int i = r + 1; i < n; ++i) product(i, j) -= factors(i, r) * dot;
    }
  });
  const long double unit = n * static_cast<long double>(std::numeric_limits<blockjacobi::real_t<T>>::epsilon());
  return static_cast<double>((product - a).infinity_norm() / (unit * a.infinity_norm()));
}

/// The largest of ||A x - b|| / (N eps ||A|| ||x||) in the infinity norm over `columns` right-hand sides.
template <class T>
double solve_error(const WideMatrix<T>& a, const std::vector<T>& x, const std::vector<T>& b, int columns) {
  const auto n = static_cast<std::size_t>(a.n());
  const long double unit = a.n() * static_cast<long double>(std::numeric_limits<blockjacobi::real_t<T>>::epsilon());
  const long double norm = a.infinity_norm();
  std::vector<double> errors(static_cast<std::size_t>(columns));
  for_each_column(columns, [&](int j) {
    const std::size_t first = static_cast<std::size_t>(j) * n;
    std::vector<Wide<T>> residual(b.data() + first, b.data() + first + n);
    long double size = 0;
    for (int k = 0; k < a.n(); ++k) {
      const Wide<T> value(x[first + static_cast<std::size_t>(k)]);
      for (int i = 0; i < a.n(); ++i) residual[static_cast<std::size_t>(i)] -= a(i, k) * value;
      size = std::max<long double>(size, std::abs(value));
    }
    double largest = 0;
    for (const Wide<T>& r : residual) largest = worse_error(largest, static_cast<double>(std::abs(r)));
    errors[static_cast<std::size_t>(j)] = static_cast<double>(largest / (unit * norm * size));
  });
  double worst = 0;
  for (const double error : errors) worst = worse_error(worst, error);
  return worst;
}

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

/// Random matrices of that order in row-major order, far from singular in single precision too: large elements stand on
/// a shifted diagonal, so that rows move.
template <class T>
std::vector<T> random_regular(int order) {
  const auto n = static_cast<std::size_t>(order);
  const std::size_t count = std::max<std::size_t>(1, (1 << 22) / (n * n));
  std::vector<T> values = random_values<T>(count * n * n);
  const auto large = static_cast<blockjacobi::real_t<T>>(0.75 * std::sqrt(order));
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t i = 0; i < n; ++i) values[(k * n + i) * n + (i + n / 3 + 1) % n] += large;
  return values;
}

/// Hermitian matrices of order n back to back, random but for 2 N on the diagonal.
template <class T>
std::vector<T> random_positive_definite(int order) {
  const auto n = static_cast<std::size_t>(order);
  const std::size_t count = std::max<std::size_t>(1, (1 << 21) / (n * n));
  std::vector<T> values = random_values<T>(count * n * n);
  for (std::size_t k = 0; k < count; ++k) {
    T* a = values.data() + k * n * n;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        if constexpr (blockjacobi::is_complex<T>)
          a[j + i * n] = std::conj(a[i + j * n]);
        else
          a[j + i * n] = a[i + j * n];
      }
      a[j + j * n] = T(static_cast<blockjacobi::real_t<T>>(2 * order));
    }
  }
  return values;
}

}  // namespace bench
