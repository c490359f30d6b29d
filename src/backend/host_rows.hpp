#pragma once

#include "core/shared/scalar.hpp"

#include <blockjacobi/types.hpp>

#include <algorithm>
#include <array>

namespace blockjacobi::detail {

/// A division of 0..n-1 into at most `capacity` chunks that depends on n alone: what makes sums reproducible for any
/// number of threads.
struct RowChunks {
  static constexpr index_t capacity = 256;
  static constexpr index_t smallest = 512;

  explicit RowChunks(index_t n)
      : rows(n), length(std::max(smallest, divide_up(n, capacity))), count(divide_up(n, length)) {}
  index_t begin(index_t chunk) const { return chunk * length; }
  index_t end(index_t chunk) const {
    return static_cast<index_t>(std::min<offset_t>(static_cast<offset_t>(begin(chunk)) + length, rows));
  }

  /// Without the sum that overflows near the end of index_t.
  static index_t divide_up(index_t a, index_t b) { return a / b + (a % b != 0); }

  index_t rows;
  index_t length;
  index_t count;
};

/// f(i) for every row.
template <class F>
void for_rows(index_t n, int threads, F&& f) {
#pragma omp parallel for simd num_threads(threads) schedule(static) if (n > 4096)
  for (index_t i = 0; i < n; ++i) f(i);
}

/// Sums of `Width` terms over the rows: f(begin, end, partial) adds those of a chunk to partial[0..Width).
template <class A, std::size_t Width, class F>
std::array<A, Width> sum_rows(index_t n, int threads, F&& f) {
  const RowChunks chunks(n);
  std::array<std::array<A, Width>, RowChunks::capacity> partial;
#pragma omp parallel for num_threads(threads) schedule(static) if (n > 4096)
  for (index_t c = 0; c < chunks.count; ++c) {
    auto& p = partial[static_cast<std::size_t>(c)];
    p.fill(A{});
    f(chunks.begin(c), chunks.end(c), p);
  }
  std::array<A, Width> sum;
  sum.fill(A{});
  for (index_t c = 0; c < chunks.count; ++c)
    for (std::size_t w = 0; w < Width; ++w) sum[w] += partial[static_cast<std::size_t>(c)][w];
  return sum;
}

/// x^H y.
template <class C>
accumulator_t<C> dot(index_t n, int threads, const C* x, const C* y) {
  using A = accumulator_t<C>;
  return sum_rows<A, 1>(n, threads, [=](index_t begin, index_t end, std::array<A, 1>& p) {
    A sum{};
    for (index_t i = begin; i < end; ++i) sum += conj(widen(x[i])) * widen(y[i]);
    p[0] += sum;
  })[0];
}

/// ||x||^2.
template <class C>
double squared_norm(index_t n, int threads, const C* x) {
  return sum_rows<double, 1>(n, threads, [=](index_t begin, index_t end, std::array<double, 1>& p) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (index_t i = begin; i < end; ++i) sum += norm2(widen(x[i]));
    p[0] += sum;
  })[0];
}

}  // namespace blockjacobi::detail
