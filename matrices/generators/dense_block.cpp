#include "matrices/generators/dense_block.hpp"

#include "matrices/generators/scalar_cast.hpp"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace blockjacobi::matrices::detail {

namespace {

/// Row-major square matrix.
template <class W>
struct Square {
  explicit Square(std::size_t order) : n(order), a(order * order, W(0.0)) {}
  W& operator()(std::size_t i, std::size_t j) { return a[i * n + j]; }

  std::size_t n;
  std::vector<W> a;
};

double square_of(double x) { return x * x; }
double square_of(const std::complex<double>& x) { return std::norm(x); }

/// v of unit length, for the reflector I - 2 v v^H.
template <class W>
std::vector<W> random_direction(std::size_t n, Random& random) {
  std::vector<W> v(n);
  double sum = 0.0;
  while (sum == 0.0) {
    for (W& x : v) {
      x = random.symmetric<W>();
      sum += square_of(x);
    }
  }
  const double length = std::sqrt(sum);
  for (W& x : v) x /= length;
  return v;
}

template <class W>
void reflect_left(Square<W>& a, const std::vector<W>& v) {
  for (std::size_t j = 0; j < a.n; ++j) {
    W dot = 0.0;
    for (std::size_t i = 0; i < a.n; ++i) dot += conjugate(v[i]) * a(i, j);
    for (std::size_t i = 0; i < a.n; ++i) a(i, j) -= 2.0 * v[i] * dot;
  }
}

template <class W>
void reflect_right(Square<W>& a, const std::vector<W>& v) {
  for (std::size_t i = 0; i < a.n; ++i) {
    W dot = 0.0;
    for (std::size_t j = 0; j < a.n; ++j) dot += a(i, j) * v[j];
    for (std::size_t j = 0; j < a.n; ++j) a(i, j) -= 2.0 * dot * conjugate(v[j]);
  }
}

/// base^(-k / (n - 1)) for k = 0 .. n - 1.
std::vector<double> log_spaced(std::size_t n, double base) {
  std::vector<double> values(n, 1.0);
  for (std::size_t k = 1; k < n; ++k)
    values[k] = portable_exp2(-portable_log2(base) * static_cast<double>(k) / static_cast<double>(n - 1));
  return values;
}

constexpr int reflectors = 3;

template <class W>
Square<W> diagonal(std::size_t n, double condition) {
  Square<W> a(n);
  const auto values = log_spaced(n, condition);
  for (std::size_t k = 0; k < n; ++k) a(k, k) = values[k];
  return a;
}

template <class W>
Square<W> random_block(std::size_t n, double condition, Random& random) {
  Square<W> a = diagonal<W>(n, condition);
  for (int k = 0; k < reflectors; ++k) {
    reflect_left(a, random_direction<W>(n, random));
    reflect_right(a, random_direction<W>(n, random));
  }
  return a;
}

template <class W>
Square<W> spd_block(std::size_t n, double condition, Random& random) {
  Square<W> a = diagonal<W>(n, condition);
  for (int k = 0; k < reflectors; ++k) {
    const auto v = random_direction<W>(n, random);
    reflect_left(a, v);
    reflect_right(a, v);
  }
  for (std::size_t i = 0; i < n; ++i) {
    a(i, i) = std::real(a(i, i));
    for (std::size_t j = 0; j < i; ++j) a(i, j) = conjugate(a(j, i));
  }
  return a;
}

/// One cycle through all rows (Sattolo's algorithm), so that no row stays in its place.
std::vector<std::size_t> random_cycle(std::size_t n, Random& random) {
  std::vector<std::size_t> rows(n);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  for (std::size_t k = n; k-- > 1;)
    std::swap(rows[k], rows[static_cast<std::size_t>(random.below(static_cast<index_t>(k)))]);
  return rows;
}

template <class W>
Square<W> permuted_triangular_block(std::size_t n, Random& random) {
  Square<W> a(n);
  const auto rows = random_cycle(n, random);
  for (std::size_t i = 0; i < n; ++i) {
    a(rows[i], i) = random.unit() < 0.5 ? -1.0 : 1.0;
    // why: scaled by the order, else the inverse of a random triangle grows exponentially with it.
    for (std::size_t j = i + 1; j < n; ++j) a(rows[i], j) = 2.0 / static_cast<double>(n) * random.symmetric<W>();
  }
  return a;
}

template <class W>
Square<W> graded_block(std::size_t n, double condition, double grading, Random& random) {
  Square<W> a = random_block<W>(n, condition, random);
  const auto d = log_spaced(n, std::sqrt(grading));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) a(i, j) *= d[i] * d[j];
  return a;
}

/// Multiples of 2^-10, whose sums are exact in every scalar.
template <class W>
W dyadic(Random& random) {
  const auto round = [](double x) { return std::floor(1024.0 * x) / 1024.0; };
  const W value = random.symmetric<W>();
  if constexpr (is_complex<W>) {
    return {round(value.real()), round(value.imag())};
  } else {
    return round(value);
  }
}

template <class W>
Square<W> singular_block(BlockFamily family, std::size_t n, Random& random) {
  Square<W> a(n);
  if (n == 1) return a;
  for (W& x : a.a) x = dyadic<W>(random);
  const auto row = static_cast<std::size_t>(random.below(static_cast<index_t>(n)));
  for (std::size_t j = 0; j < n; ++j) {
    a(row, j) = 0.0;
    if (family == BlockFamily::duplicate_row) a(row, j) = a((row + 1) % n, j);
    if (family != BlockFamily::rank_deficient) continue;
    for (std::size_t i = 0; i < n; ++i)
      if (i != row) a(row, j) += a(i, j);
  }
  return a;
}

template <class W>
Square<W> make_block(BlockFamily family, std::size_t n, double condition, double grading, Random& random) {
  switch (family) {
    case BlockFamily::random: return random_block<W>(n, condition, random);
    case BlockFamily::spd: return spd_block<W>(n, condition, random);
    case BlockFamily::permuted_triangular: return permuted_triangular_block<W>(n, random);
    case BlockFamily::graded: return graded_block<W>(n, condition, grading, random);
    case BlockFamily::zero_row:
    case BlockFamily::duplicate_row:
    case BlockFamily::rank_deficient: break;
  }
  return singular_block<W>(family, n, random);
}

}  // namespace

template <class W>
std::vector<W> dense_block(BlockFamily family, index_t size, double condition, double grading, Random& random) {
  return make_block<W>(family, static_cast<std::size_t>(size), condition, grading, random).a;
}

template std::vector<double> dense_block(BlockFamily, index_t, double, double, Random&);
template std::vector<std::complex<double>> dense_block(BlockFamily, index_t, double, double, Random&);

}  // namespace blockjacobi::matrices::detail
