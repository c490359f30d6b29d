#pragma once

#include "kernels/cholesky/tile_cholesky.cuh"
#include "kernels/collectives/copy_async.cuh"
#include "kernels/collectives/modulus.cuh"
#include "kernels/inverse/policy.hpp"

namespace blockjacobi::kernels {

/// The inverse of a Hermitian positive definite matrix by a thread block, all of it in shared memory, in fp64 on the
/// tensor cores: one sweep over the tiles of the lower triangle (P. Bientinesi, B. Gunter, R. A. van de Geijn,
/// "Families of algorithms related to the inversion of a symmetric positive definite matrix", 2008). Step k factorizes
/// the tile on the diagonal, A_kk = L L^H; with V = L^-1 and P_i = A_ik V^H in all other rows
///   A_ij -= P_i P_j^H,  A_ik = P_i V,  A_kk = -V^H V,
/// so that -A^-1 stands there in the end, exactly Hermitian.
/// why by V and not by A_kk^-1: the residual would grow with the condition of the tile.
///
/// Rows of tiles go by pairs, of which the products are: the upper row of a pair has one tile more than the triangle,
/// which means nothing.
template <class C>
class CtaDefinite {
  using Wide = tensor_scalar_t<C>;
  using Tile = TensorTile<Wide>;
  /// What a lane has of a tile.
  template <class T>
  struct alignas(sizeof(T) == 4 ? 8 : 16) Lane {
    T value[2];
  };
  using Stored = Lane<C>[32];
  using Staged = Lane<Wide>[32];
  struct Progress {
    int info;      ///< 0, or the order of the first leading minor that is not positive definite
    int taken[2];  ///< pairs of rows, by warps, in steps in turn
  };

  int n;
  Progress& progress;
  Staged* v;      ///< V
  Staged* panel;  ///< P; zero in row k
  Stored* matrix;

 public:
  __host__ __device__ static constexpr int pairs(int n) { return (n + 15) / 16; }
  static constexpr std::size_t bytes(int n) {
    static_assert(sizeof(Progress) <= 16);
    static_assert(definite_bytes(scalar_of<C>, 16) == 16 + 3 * sizeof(Staged) + 4 * sizeof(Stored));
    return definite_bytes(scalar_of<C>, n);
  }

  __device__ CtaDefinite(unsigned char* shared, int order)
      : n(order),
        progress(*reinterpret_cast<Progress*>(shared)),
        v(reinterpret_cast<Staged*>(shared + 16)),
        panel(v + 1),
        matrix(reinterpret_cast<Stored*>(panel + 2 * pairs(n))) {}

  /// Element (i, j) of the lower triangle.
  __device__ C& at(int i, int j) const {
    const int column = j % Tile::order;
    return tile(i / Tile::order, j / Tile::order)[Tile::lane_of_row(i % Tile::order) + column % 4].value[column / 4];
  }

  /// visit(i, j, element) for the elements of the lower triangle, eight rows of four columns by a warp at once.
  template <class Visit>
  __device__ void for_each(Visit visit) const {
    const int rows = 2 * pairs(n), row = Tile::row();
#pragma unroll 1
    for (int i = warp(); i < rows; i += warps())
#pragma unroll 2
      for (int j = 0; j <= i; ++j)
#pragma unroll
        for (int u = 0; u < Tile::values; ++u)
          visit(Tile::order * i + row, Tile::order * j + Tile::column(u), tile(i, j)[lane()].value[u]);
  }

  /// Starts to copy the triangle from from(i, j), the address of an element or of its conjugate; behind the matrix is
  /// the identity.
  template <class From>
  __device__ void load(From from) const {
    for_each([&](int i, int j, C& x) {
      if (i < n && j <= i)
        copy_async(&x, from(i, j));
      else
        x = detail::from_real<C>(detail::arithmetic_real_t<C>(i == j ? 1 : 0));
    });
  }

  /// visit(i, sum) for all rows, those behind the matrix too, by a lane each: the sum of the moduli of the Hermitian
  /// matrix in row i.
  template <class Visit>
  __device__ void for_each_row_sum(Visit visit) const {
    using Real = detail::arithmetic_real_t<C>;
    const int rows = 2 * pairs(n), row = Tile::row();
#pragma unroll 1
    for (int i = warp(); i < rows; i += warps()) {
      Real sum = 0;
#pragma unroll 2
      for (int j = 0; j < rows; ++j)
#pragma unroll
        for (int u = 0; u < Tile::values; ++u) {
          const int column = Tile::column(u);
          const bool lower = j < i || (j == i && column <= row);
          sum += moderate_modulus(lower ? tile(i, j)[lane()].value[u] : counterpart(tile(j, i), u));
        }
      sum += __shfl_xor_sync(full_warp, sum, 1);
      sum += __shfl_xor_sync(full_warp, sum, 2);
      if (lane() % 4 == 0) visit(Tile::order * i + row, sum);
    }
  }

  /// Once all has come, and with a barrier behind: the lower triangle of -A^-1 takes its place. Returns 0, or the order
  /// of the first leading minor that is not positive definite. Uniform in the thread block.
  __device__ int run() const {
    const int rows = 2 * pairs(n), steps = (n + Tile::order - 1) / Tile::order;
    if (threadIdx.x == 0) progress = {};
    __syncthreads();
#pragma unroll 1
    for (int k = 0;; ++k) {
      // what all wait for next, beside the products of the step before
      if (k < steps && warp() == 0) {
        if (k > 0) subtract_on_diagonal(k);
        factorize(k);
      }
      if (k > 0)
#pragma unroll 1
        for (int pair = take_pair(k); pair >= 0; pair = take_pair(k)) subtract_products(pair, k);
      __syncthreads();
      if (k == steps || progress.info != 0) break;
      if (threadIdx.x == 0) progress.taken[(k + 1) % 2] = 0;
#pragma unroll 1
      for (int i = warp(); i < rows; i += warps()) take_row(k, i);
      __syncthreads();
    }
    return progress.info <= n ? progress.info : 0;
  }

 private:
  __device__ static int lane() { return Tile::lane(); }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ static int warps() { return static_cast<int>(blockDim.x) / 32; }

  __device__ Stored& tile(int i, int j) const {
    const int pair = i / 2;
    return matrix[2 * pair * (pair + 1) + (i % 2) * 2 * (pair + 1) + j];
  }
  template <class T>
  __device__ static Tile read(const Lane<T> (&from)[32]) {
    Tile result;
    const Lane<T> own = from[lane()];  // as one access
#pragma unroll
    for (int u = 0; u < Tile::values; ++u) result.set(u, widened(own.value[u]));
    return result;
  }
  template <class T>
  __device__ static Tile read_adjoint(const Lane<T> (&from)[32]) {
    Tile result;
#pragma unroll
    for (int u = 0; u < Tile::values; ++u) result.set(u, detail::conj(widened(counterpart(from, u))));
    return result;
  }
  /// Of a tile the element whose conjugate is value u of its adjoint.
  template <class T>
  __device__ static const T& counterpart(const Lane<T> (&from)[32], int u) {
    const int column = Tile::row();
    return from[Tile::lane_of_row(Tile::column(u)) + column % 4].value[column / 4];
  }
  template <class T>
  __device__ static void write(Lane<T> (&to)[32], const Tile& x) {
    Lane<T> own;
#pragma unroll
    for (int u = 0; u < Tile::values; ++u) own.value[u] = narrowed<T>(x.get(u));
    to[lane()] = own;
  }

  /// Tile k on the diagonal, by one warp: V.
  __device__ void factorize(int k) const {
    Tile factor = read(tile(k, k)), inverse;
    const int bad = TileCholesky<Wide>::factorize(factor, inverse);
    write(*v, inverse);
    if (lane() == 0) progress.info = bad == 0 ? 0 : Tile::order * k + bad;
  }

  /// P_i, and column k in row i.
  __device__ void take_row(int k, int i) const {
    const Tile adjoint = read_adjoint(*v);
    Tile p{}, x{};
    if (i == k) {
      add_product(x, adjoint, adjoint);
      write(tile(k, k), -x);
    } else if (i > k) {
      add_product(p, read(tile(i, k)), read(*v));
      add_product(x, p, adjoint);
      write(tile(i, k), x);
    } else {
      add_product(p, read_adjoint(tile(k, i)), read(*v));
      add_product(x, adjoint, p);
      __syncwarp();  // all lanes have read
      write(tile(k, i), x);
    }
    write(panel[i], p);
  }

  __device__ void subtract_on_diagonal(int k) const {
    Tile x = read(tile(k, k));
    const Tile p = read(panel[k]);
    add_product(x, -p, p);
    write(tile(k, k), x);
  }

  /// The last pair that no warp has taken yet; -1 if there is none.
  __device__ int take_pair(int k) const {
    int taken = 0;
    if (lane() == 0) taken = atomicAdd(&progress.taken[k % 2], 1);
    return pairs(n) - 1 - __shfl_sync(full_warp, taken, 0);
  }

  /// In a pair of rows, but not in tile `done` on the diagonal.
  __device__ void subtract_products(int pair, int done) const {
    constexpr int batch = 2;
    const int i = 2 * pair, columns = i + 2;
    const Tile upper = -read(panel[i]), lower = -read(panel[i + 1]);
    Stored *const upper_row = &tile(i, 0), *const lower_row = &tile(i + 1, 0);
    const int upper_done = done == i ? i : -1, lower_done = done == i + 1 ? i + 1 : -1;
#pragma unroll 1
    for (int j = 0; j < columns; j += batch) {
      Tile x[batch][2]{}, p[batch];
#pragma unroll
      for (int u = 0; u < batch; ++u) {
        p[u] = read(panel[j + u]);
        if (j + u != upper_done) x[u][0] = read(upper_row[j + u]);
        if (j + u != lower_done) x[u][1] = read(lower_row[j + u]);
      }
#pragma unroll
      for (int u = 0; u < batch; ++u) add_product(x[u][0], x[u][1], upper, lower, p[u]);
#pragma unroll
      for (int u = 0; u < batch; ++u) {
        if (j + u != upper_done) write(upper_row[j + u], x[u][0]);
        if (j + u != lower_done) write(lower_row[j + u], x[u][1]);
      }
    }
  }
};

}  // namespace blockjacobi::kernels
