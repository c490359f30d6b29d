#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/cholesky/inverse_root.cuh"
#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/batch_source.cuh"
#include "kernels/collectives/team.cuh"
#include "kernels/collectives/tensor.cuh"

#include <type_traits>

namespace blockjacobi::kernels {

/// D -= A B^H for A and B 8 x 4, with both of them as the lanes hold the left operand.
__device__ inline void subtract_product(double& d0, double& d1, double a, double b) { multiply_add(d0, d1, -a, b); }
__device__ inline void subtract_product(detail::Complex<double>& d0, detail::Complex<double>& d1,
                                        detail::Complex<double> a, detail::Complex<double> b) {
  multiply_add(d0.re, d1.re, -a.re, b.re);
  multiply_add(d0.im, d1.im, -a.im, b.re);
  multiply_add(d0.re, d1.re, -a.im, b.im);
  multiply_add(d0.im, d1.im, a.re, b.im);
}

/// Cholesky factorization A = L L^H of M matrices of orders n <= N a warp, in fp64 on the tensor cores.
///
/// A matrix lies in 8 x 8 tiles over the warp. Lane 4 m + k holds row m / 2 + 4 (m % 2) of each tile, columns k and
/// k + 4. With rows and columns permuted alike, four columns of L are both operands of a product as they stand in the
/// registers: the update of what remains moves no data.
///
/// Four columns make a panel. The 4 x 4 blocks on the diagonal are factored for all M matrices at once, by a lane each;
/// their pivots are the only chain. Then every lane divides its elements of the panel.
template <class C, int N, int M>
class TensorCholesky {
 public:
  using Wide = tensor_scalar_t<C>;
  static constexpr int panels = (N + 3) / 4, tiles = (N + 7) / 8;

  /// Shared memory of a matrix: the block on the diagonal, then its factor; the distance against bank conflicts.
  static constexpr int block_doubles = 16 * static_cast<int>(sizeof(Wide) / sizeof(double)) + 2;
  static constexpr int scratch_doubles = M * 2 * block_doubles;  ///< of a warp

  __device__ explicit TensorCholesky(double* scratch)
      : scratch_(scratch),
        lane_(static_cast<int>(threadIdx.x) % 32),
        row_(lane_ / 8 + 4 * (lane_ / 4 % 2)),
        column_(lane_ % 4) {}

  /// Matrix g of the warp is at(g); of a StridedMatrix of order 0 nothing is read.
  template <class At>
  __device__ void load(bool upper, At at) {
    if (upper)
      load<true>(at);
    else
      load<false>(at);
  }
  /// Of the first `count` matrices.
  template <class At>
  __device__ void store(bool upper, At at, int count) const {
    if (upper)
      store<true>(at, count);
    else
      store<false>(at, count);
  }

  /// Returns the info of matrix g in lane g.
  __device__ int factor() {
    int info = 0;
    publish<0>();
    panel<0>(info);
    return info;
  }

 private:
  static constexpr int words = static_cast<int>(sizeof(Wide) / sizeof(double));  ///< fp64 ones of a scalar
  static constexpr int row_doubles = 4 * words;

  __device__ double* block(int g) const { return scratch_ + g * 2 * block_doubles; }
  __device__ double* block_factor(int g) const { return block(g) + block_doubles; }

  /// Contiguous batches stand at 16-byte boundaries; otherwise a complex number has the alignment of its parts.
  struct Unaligned {
    C value;
  };
  template <class Matrix>
  using Access = std::conditional_t<is_contiguous<Matrix>, Aligned<C>, Unaligned>;

  /// visit(p, i, element, inside, diagonal) for the elements of this lane.
  template <bool upper, class Matrix, class Visit>
  __device__ void for_each(const Matrix& a, Visit visit) const {
    // why: addresses and predicates of a load would stay in registers until the store
    int row = row_;
    asm volatile("" : "+r"(row));
    const auto ld = static_cast<std::conditional_t<is_contiguous<Matrix>, int, offset_t>>(a.ld);
    auto* const first = a.data + (upper ? column_ + row * ld : row + column_ * ld);
#pragma unroll
    for (int p = 0; p < panels; ++p)
#pragma unroll
      for (int i = p / 2; i < tiles; ++i) {
        const int c = column_ + 4 * (p - 2 * i);  // in the tile
        const bool exists = (is_contiguous<Matrix> && 8 * i + 7 < N) || row < a.n - 8 * i;
        visit(p, i, first + (upper ? 4 * p + 8 * i * ld : 8 * i + 4 * p * ld), exists && (i > p / 2 || c <= row),
              i == p / 2 && c == row);
      }
  }

  template <bool upper, class At>
  __device__ void load(At at) {
#pragma unroll
    for (int g = 0; g < M; ++g) {
      const auto a = at(g);
      using Matrix = std::remove_const_t<decltype(a)>;
      constexpr bool full = is_contiguous<Matrix> && N % 4 == 0;
      for_each<upper>(a, [&](int p, int i, const C* from, bool inside, bool diagonal) {
        // Ones on the diagonal behind the matrix.
        Wide v = detail::from_real<Wide>(!full && diagonal ? 1 : 0);
        if (inside) v = widened<upper>(reinterpret_cast<const Access<Matrix>*>(from)->value);
        x_[g][p][i] = v;
      });
    }
  }

  template <bool upper, class At>
  __device__ void store(At at, int count) const {
#pragma unroll
    for (int g = 0; g < M; ++g) {
      if (g >= count) return;
      const auto a = at(g);
      using Matrix = std::remove_const_t<decltype(a)>;
      for_each<upper>(a, [&](int p, int i, C* to, bool inside, bool diagonal) {
        const Wide x = x_[g][p][i], v = diagonal ? detail::from_real<Wide>(detail::real_part(x)) : x;
        if (inside) reinterpret_cast<Access<Matrix>*>(to)->value = narrowed<upper>(v);
      });
    }
  }

  template <bool upper>
  __device__ static Wide widened(C a) {
    if constexpr (detail::Arithmetic<C>::is_complex)
      return {static_cast<double>(a.re), static_cast<double>(upper ? -a.im : a.im)};
    else
      return a;
  }
  template <bool upper>
  __device__ static C narrowed(Wide a) {
    using Real = detail::arithmetic_real_t<C>;
    if constexpr (detail::Arithmetic<C>::is_complex)
      return {static_cast<Real>(a.re), static_cast<Real>(upper ? -a.im : a.im)};
    else
      return static_cast<Real>(a);
  }

  /// Panel P and all that follow. Its block on the diagonal is in shared memory.
  template <int P>
  __device__ void panel(int& info) {
    Team<32>::sync();
    // why not all lanes: wide accesses of a quarter of the warp take a quarter of the time
    if (lane_ < M) factor_block(P, info);
    Team<32>::sync();
#pragma unroll
    for (int g = 0; g < M; ++g) {
      divide<P>(g);
      update<P, (P + 1) / 2>(g);
    }
    if constexpr (P + 1 < panels) {
      publish<P + 1>();
#pragma unroll
      for (int g = 0; g < M; ++g) update_rest<P, (P + 1) / 2 + 1>(g);
      panel<P + 1>(info);
    }
  }

  /// Brings the blocks on the diagonal of panel P to shared memory.
  template <int P>
  __device__ void publish() const {
    if (lane_ / 4 % 2 != P % 2) return;
#pragma unroll
    for (int g = 0; g < M; ++g)
      reinterpret_cast<Aligned<Wide>*>(block(g))[lane_ / 8 * 4 + column_].value = x_[g][P][P / 2];
  }

  /// Of the matrix with the lane's number.
  __device__ void factor_block(int p, int& info) const {
    const int g = lane_;
    Wide a[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i) read_shared<Wide, 4>(block(g) + i * row_doubles, a[i], i + 1);
    double inverse[4];
    Wide quotient[4][4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const double pivot = detail::real_part(a[j][j]);
      if (!(pivot > 0) && info == 0) info = 4 * p + j + 1;
      inverse[j] =
          std::is_same_v<detail::arithmetic_real_t<C>, double> ? inverse_root_of_any(pivot) : inverse_root(pivot);
#pragma unroll
      for (int k = j + 1; k < 4; ++k) {
        quotient[k][j] = inverse[j] * (inverse[j] * a[k][j]);
#pragma unroll
        for (int i = k; i < 4; ++i) a[i][k] = fused_subtract(a[i][k], a[i][j], detail::conj(quotient[k][j]));
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      double* const row = block_factor(g) + i * row_doubles;
#pragma unroll
      for (int j = 0; j < i; ++j) reinterpret_cast<Aligned<Wide>*>(row)[j].value = quotient[i][j];
      row[3 * words] = inverse[i];
    }
  }

  /// The panel of L by substitution along the four lanes of a row, in the operations of factor_block: the rows of the
  /// block itself give its factor, bit for bit.
  template <int P>
  __device__ void divide(int g) {
    double row[row_doubles];
    read_shared<double, row_doubles>(block_factor(g) + column_ * row_doubles, row, row_doubles);
    const double inverse = row[3 * words];
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const Wide l = detail::conj(element(row, c));
#pragma unroll
      for (int i = P / 2; i < tiles; ++i) {
        Wide& x = x_[g][P][i];
        const Wide finished = Team<4>::broadcast(x, c);
        // why not zeros in l: a NaN of a later column must not reach this one
        if (column_ > c) x = fused_subtract(x, finished, l);
      }
    }
#pragma unroll
    for (int i = P / 2; i < tiles; ++i) x_[g][P][i] = inverse * x_[g][P][i];
  }

  __device__ static Wide element(const double (&row)[row_doubles], int c) {
    if constexpr (words == 2)
      return {row[2 * c], row[2 * c + 1]};
    else
      return row[c];
  }

  /// Subtracts the product of panel P from column J of the tiles.
  template <int P, int J>
  __device__ void update(int g) {
    if constexpr (J < tiles) {
#pragma unroll
      for (int i = J; i < tiles; ++i) {
        // Half a tile column may be finished, or not exist.
        constexpr bool left = 2 * J > P, right = 2 * J + 1 < panels;
        Wide first = left ? x_[g][2 * J][i] : Wide{}, second = right ? x_[g][right ? 2 * J + 1 : 0][i] : Wide{};
        subtract_product(first, second, x_[g][P][i], x_[g][P][J]);
        if constexpr (left) x_[g][2 * J][i] = first;
        if constexpr (right) x_[g][2 * J + 1][i] = second;
      }
    }
  }
  template <int P, int J>
  __device__ void update_rest(int g) {
    if constexpr (J < tiles) {
      update<P, J>(g);
      update_rest<P, J + 1>(g);
    }
  }

  /// The first `count` of `Size` values at a 16-byte boundary.
  template <class V, int Size>
  __device__ static void read_shared(const double* from, V (&to)[Size], int count) {
    using Part = Vector16<V>;
#pragma unroll
    for (int i = 0; i < Size; i += Part::size) {
      if (i >= count) continue;
      const Part part = *reinterpret_cast<const Part*>(from + i * static_cast<int>(sizeof(V) / sizeof(double)));
#pragma unroll
      for (int u = 0; u < Part::size; ++u) to[i + u] = part.value[u];
    }
  }

  Wide x_[M][panels][tiles];  ///< [p][i]: panel p in row i of the tiles
  double* scratch_;
  int lane_, row_, column_;
};

}  // namespace blockjacobi::kernels
