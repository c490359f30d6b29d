#pragma once

#include "backend/host_convert.hpp"
#include "backend/host_fixed_size.hpp"
#include "backend/host_product.hpp"
#include "backend/storage_ops.hpp"
#include "core/shared/compute_type.hpp"

#include <array>

namespace blockjacobi::detail {

/// Vectors that a pass over a block serves.
inline constexpr int columns_at_once = 4;

/// Numbers of a block that are widened at a time: 32 KB, so that they stay in the first level of the cache.
template <class C>
inline constexpr int panel_elements = 32768 / static_cast<int>(sizeof(C));

template <Op op, class C>
inline C element_of(C x) {
  return op == Op::conjugate_transpose ? conj(x) : x;
}

/// out(t, k) += sum_c op(x(t, c)) in(c, k) for a tile of `rows` rows and columns_at_once columns; x(t, c) stands at
/// t row_step + c inner_step.
template <std::size_t rows, Op op, class C>
void multiply_tile(const C* x, std::ptrdiff_t row_step, std::ptrdiff_t inner_step, int inner, const C* in, C* out) {
  constexpr auto K = static_cast<std::size_t>(columns_at_once);
  C sum[rows][K];
  for (std::size_t t = 0; t < rows; ++t)
    for (std::size_t k = 0; k < K; ++k) sum[t][k] = out[t * K + k];
  for (int c = 0; c < inner; ++c, x += inner_step, in += K)
    for (std::size_t t = 0; t < rows; ++t) {
      const C factor = element_of<op>(x[static_cast<std::ptrdiff_t>(t) * row_step]);
      // why: vectorized over c, g++ 12 reads a step behind the end of X
#pragma omp simd
      for (std::size_t k = 0; k < K; ++k) sum[t][k] += factor * in[k];
    }
  for (std::size_t t = 0; t < rows; ++t)
    for (std::size_t k = 0; k < K; ++k) out[t * K + k] = sum[t][k];
}

template <Op op, class C>
void multiply_rows(const C* x, std::ptrdiff_t row_step, std::ptrdiff_t inner_step, int rows, int inner, const C* in,
                   C* out) {
  constexpr int tile = 4;
  int i = 0;
  for (; i + tile <= rows; i += tile)
    multiply_tile<tile, op>(x + i * row_step, row_step, inner_step, inner, in, out + i * columns_at_once);
  for (; i < rows; ++i)
    multiply_tile<1, op>(x + i * row_step, row_step, inner_step, inner, in, out + i * columns_at_once);
}

/// out += op(X) in for the columns first .. first + columns - 1 of X (n x n): `panel` holds them. Row c of in and out
/// has columns_at_once elements.
template <Op op, class C>
void multiply_panel(const C* panel, int n, int first, int columns, const C* in, C* out) {
  if constexpr (op == Op::none)
    multiply_rows<op>(panel, 1, n, n, columns, in + first * columns_at_once, out);
  else
    multiply_rows<op>(panel, n, 1, columns, n, in, out + first * columns_at_once);
}

/// The same for one vector; N is the order, or 0 for a run-time one.
template <int N, Op op, class C>
void multiply_panel_vector(const C* panel, int order, int first, int columns, const C* in, C* out) {
  if constexpr (op == Op::none) return add_product<N>(panel, order, N > 0 ? N : columns, in + first, out);
  const int n = N > 0 ? N : order;
  for (int c = 0; c < (N > 0 ? N : columns); ++c) {
    const C* const x = panel + static_cast<std::ptrdiff_t>(c) * n;
    C sum{};
    for (int i = 0; i < n; ++i) sum += element_of<op>(x[i]) * in[i];
    out[first + c] += sum;
  }
}

/// out += op(X) in for one vector, where `triangle` is the packed lower triangle of the Hermitian X.
template <Op op, class C>
void multiply_packed(const C* triangle, int n, const C* in, C* out) {
  constexpr Op below = op == Op::transpose ? Op::conjugate_transpose : Op::none;  // X^T is the conjugate of X
  constexpr Op above = op == Op::transpose ? Op::none : Op::conjugate_transpose;
  for (int j = 0; j < n; ++j) {
    C sum = element_of<below>(triangle[0]) * in[j];
    for (int i = j + 1; i < n; ++i) {
      const C x = triangle[i - j];
      out[i] += element_of<below>(x) * in[j];
      sum += element_of<above>(x) * in[i];
    }
    out[j] += sum;
    triangle += n - j;
  }
}

/// All of a Hermitian matrix whose packed lower triangle is given.
template <class C>
void widen_triangle(const C* triangle, int n, C* x) {
  for (int j = 0; j < n; ++j)
    for (int i = j; i < n; ++i) {
      const C element = *triangle++;
      x[j + i * n] = conj(element);
      x[i + j * n] = element;
    }
}

/// One stored block.
struct BlockSource {
  const std::byte* data;
  index_t first_row;
  int exponent;
};

/// Z = alpha op(X) R + beta Z, block by block, on one thread.
template <class C, Op op>
class BlockApply {
 public:
  BlockApply(C alpha, const ColumnsView<const C>& r, C beta, const ColumnsView<C>& z)
      : alpha_(alpha), beta_(beta), r_(r), z_(z) {}

  template <int N>
  void run(Format format, int n, const BlockSource& block) {
    if (r_.count == 1) return format == Format::packed ? apply_packed(n, block, 0) : apply_vector<N>(format, n, block);
    // Triangles too large for the panel are not worth their mirror image.
    if (format == Format::packed && n * n > panel_elements<C>)
      for (index_t k = 0; k < r_.count; ++k) apply_packed(n, block, k);
    else
      for (index_t k = 0; k < r_.count; k += columns_at_once) apply_columns(format, n, block, k);
  }

 private:
  static constexpr auto capacity = static_cast<std::size_t>(max_block_size * columns_at_once);

  /// Column k of the block's rows as the input of a product: where it stands if it is contiguous.
  const C* column(int n, index_t row, index_t k) {
    const C* const from = r_.data + row * r_.row_stride + k * r_.column_stride;
    if (r_.row_stride == 1) return from;
    for (int i = 0; i < n; ++i) in_[i] = from[i * r_.row_stride];
    return in_;
  }

  /// columns_at_once columns from k on, those past the last one as zeros.
  void gather(int n, index_t row, index_t k) {
    const int columns = std::min<index_t>(columns_at_once, r_.count - k);
    if (columns < columns_at_once) std::fill_n(in_, n * columns_at_once, C{});
    for (int c = 0; c < columns; ++c) {
      const C* const from = r_.data + row * r_.row_stride + (k + c) * r_.column_stride;
      for (int i = 0; i < n; ++i) in_[i * columns_at_once + c] = from[i * r_.row_stride];
    }
  }

  /// Z = alpha out + beta Z for the columns from k on, of which out holds `width`.
  void scatter(int n, index_t row, index_t k, int width) const {
    const int columns = std::min<index_t>(width, z_.count - k);
    const bool keeps = !is_zero(beta_);
    for (int c = 0; c < columns; ++c) {
      C* const to = z_.data + row * z_.row_stride + (k + c) * z_.column_stride;
      const C* const from = out_ + c;
      if (keeps)
        for (int i = 0; i < n; ++i) to[i * z_.row_stride] = alpha_ * from[i * width] + beta_ * to[i * z_.row_stride];
      else
        for (int i = 0; i < n; ++i) to[i * z_.row_stride] = alpha_ * from[i * width];
    }
  }

  /// visit(panel, first, columns) for the columns of the block, widened in the order in which they stand.
  template <class Visit>
  void for_each_panel(Format format, int n, const BlockSource& block, Visit visit) {
    if (format == Format::full) return visit(reinterpret_cast<const C*>(block.data), 0, n);
    if (format == Format::packed) {
      widen_triangle(reinterpret_cast<const C*>(block.data), n, panel_);
      return visit(panel_, 0, n);
    }
    const int width = std::min(n, panel_elements<C> / n);
    for (int first = 0; first < n; first += width) {
      const int columns = std::min(width, n - first);
      decode_columns(format, block.data, n, block.exponent, first, columns, panel_);
      visit(panel_, first, columns);
    }
  }

  template <int N>
  void apply_vector(Format format, int n, const BlockSource& block) {
    const C* const in = column(n, block.first_row, 0);
    std::fill_n(out_, n, C{});
    for_each_panel(format, n, block, [&](const C* panel, int first, int columns) {
      multiply_panel_vector<N, op>(panel, n, first, columns, in, out_);
    });
    scatter(n, block.first_row, 0, 1);
  }

  void apply_columns(Format format, int n, const BlockSource& block, index_t k) {
    gather(n, block.first_row, k);
    std::fill_n(out_, n * columns_at_once, C{});
    for_each_panel(format, n, block, [&](const C* panel, int first, int columns) {
      multiply_panel<op>(panel, n, first, columns, in_, out_);
    });
    scatter(n, block.first_row, k, columns_at_once);
  }

  void apply_packed(int n, const BlockSource& block, index_t k) {
    const C* const in = column(n, block.first_row, k);
    std::fill_n(out_, n, C{});
    multiply_packed<op>(reinterpret_cast<const C*>(block.data), n, in, out_);
    scatter(n, block.first_row, k, 1);
  }

  C alpha_, beta_;
  ColumnsView<const C> r_;
  ColumnsView<C> z_;
  alignas(64) C panel_[static_cast<std::size_t>(panel_elements<C>)];
  alignas(64) C in_[capacity];
  alignas(64) C out_[capacity];
};

}  // namespace blockjacobi::detail
