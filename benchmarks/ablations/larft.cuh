#pragma once

#include "ablations/launch.cuh"

namespace bench {

// The triangle T of a panel of NB reflectors, H_1 .. H_NB = I - V T V^T (LARFT): one matrix a thread block, its panels
// one after the other. T of the panel at p goes where the result has its diagonal block.

inline constexpr int larft_threads = 256;

/// The reflectors of a panel as LAPACK has them below the diagonal of the matrix.
template <class T>
struct PanelReflectors {
  const T* a;
  int n, p;

  __device__ T operator()(int row, int c) const {
    return row > p + c ? a[static_cast<std::size_t>(p + c) * static_cast<std::size_t>(n) + row] : T(row == p + c);
  }

  /// to(i, j, v_(first + i)^T v_(second + j)) for i < rows, j < columns, multiples of M, by tiles of M x M a warp.
  template <int M, class To>
  __device__ void products(int first, int rows, int second, int columns, To to) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, warps = larft_threads / 32;
    for (int tile = static_cast<int>(threadIdx.x) / 32; tile < rows / M * (columns / M); tile += warps) {
      const int i0 = tile % (rows / M) * M, j0 = tile / (rows / M) * M;
      T sum[M][M]{};
      for (int row = p + lane; row < n; row += 32) {
        T left[M], right[M];
#pragma unroll
        for (int i = 0; i < M; ++i) left[i] = (*this)(row, first + i0 + i), right[i] = (*this)(row, second + j0 + i);
#pragma unroll
        for (int i = 0; i < M; ++i)
#pragma unroll
          for (int j = 0; j < M; ++j) sum[i][j] += left[i] * right[j];
      }
#pragma unroll
      for (int i = 0; i < M; ++i)
#pragma unroll
        for (int j = 0; j < M; ++j) {
          for (int distance = 16; distance > 0; distance /= 2)
            sum[i][j] += __shfl_xor_sync(0xffffffffu, sum[i][j], distance);
          if (lane == 0) to(i0 + i, j0 + j, sum[i][j]);
        }
    }
  }
};

/// In shared memory.
template <class T, int NB>
struct LarftShared {
  T t[NB][NB + 1];     ///< by rows
  T gram[NB][NB + 1];  ///< products of reflectors; of a recursion those of its halves
  T next[NB];
  T tau[NB];
};

/// Column i of T from those before and the products g of the reflectors before with reflector i.
template <class T, int NB, class Products>
__device__ void add_larft_column(LarftShared<T, NB>& s, int first, int i, Products g) {
  const int k = first + static_cast<int>(threadIdx.x);
  if (k < i) {
    T sum = 0;
    for (int m = k; m < i; ++m) sum += s.t[k][m] * g(m);
    s.next[k] = -s.tau[i] * sum;
  }
  __syncthreads();
  if (k < i) s.t[k][i] = s.next[k];
  if (k == i) s.t[i][i] = s.tau[i];
  __syncthreads();
}

/// As LAPACK: a column of T after the other, with products of the reflectors before with the next one.
struct LarftColumns {
  template <class T, int NB>
  __device__ static void form(const PanelReflectors<T>& v, LarftShared<T, NB>& s) {
    for (int i = 0; i < NB; ++i) {
      v.template products<1>(0, i, i, 1, [&](int k, int, T product) { s.gram[k][0] = product; });
      __syncthreads();
      add_larft_column(s, 0, i, [&](int m) { return s.gram[m][0]; });
    }
  }
};

/// All products first, as the library has them from its tensor cores, then a column after the other.
struct LarftGram {
  template <class T, int NB>
  __device__ static void form(const PanelReflectors<T>& v, LarftShared<T, NB>& s) {
    for (int j = 0; j < NB; j += 4)
      v.template products<4>(0, j + 4, j, 4, [&](int i, int k, T product) { s.gram[i][j + k] = product; });
    __syncthreads();
    for (int i = 0; i < NB; ++i) add_larft_column(s, 0, i, [&](int m) { return s.gram[m][i]; });
  }
};

/// By halves: T_12 = -T_11 (V_1^T V_2) T_22. Of 4 columns as LarftGram.
struct LarftRecursive {
  template <class T, int NB>
  __device__ static void form(const PanelReflectors<T>& v, LarftShared<T, NB>& s) {
    part<NB>(v, s, 0);
  }

 private:
  template <int W, class T, int NB>
  __device__ static void part(const PanelReflectors<T>& v, LarftShared<T, NB>& s, int first) {
    if constexpr (W == 4) {
      v.template products<4>(first, 4, first, 4,
                             [&](int i, int j, T product) { s.gram[first + i][first + j] = product; });
      __syncthreads();
      for (int i = first; i < first + 4; ++i) add_larft_column(s, first, i, [&](int m) { return s.gram[m][i]; });
    } else {
      constexpr int H = W / 2;
      part<H>(v, s, first);
      part<H>(v, s, first + H);
      v.template products<4>(first, H, first + H, H,
                             [&](int i, int j, T product) { s.gram[first + i][first + H + j] = product; });
      __syncthreads();
      multiply<H>(s, first);
    }
  }

  template <int H, class T, int NB>
  __device__ static void multiply(LarftShared<T, NB>& s, int first) {
    const int second = first + H;
    for (int e = static_cast<int>(threadIdx.x); e < H * H; e += larft_threads) {
      const int i = first + e / H, j = second + e % H;
      T sum = 0;
      for (int k = second; k <= j; ++k) sum += s.gram[i][k] * s.t[k][j];
      s.t[i][j] = sum;
    }
    __syncthreads();
    T own[(H * H + larft_threads - 1) / larft_threads];
    for (int e = static_cast<int>(threadIdx.x), k = 0; e < H * H; e += larft_threads, ++k) {
      const int i = first + e / H, j = second + e % H;
      T sum = 0;
      for (int m = i; m < second; ++m) sum -= s.t[i][m] * s.t[m][j];
      own[k] = sum;
    }
    __syncthreads();
    for (int e = static_cast<int>(threadIdx.x), k = 0; e < H * H; e += larft_threads, ++k)
      s.t[first + e / H][second + e % H] = own[k];
    __syncthreads();
  }
};

template <class T, int NB, class Way>
__global__ void __launch_bounds__(larft_threads) larft(const T* a, const T* tau, T* t, int n, offset_t) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto& s = *reinterpret_cast<LarftShared<T, NB>*>(memory);
  const int thread = static_cast<int>(threadIdx.x);
  const offset_t size = static_cast<offset_t>(n) * n, k = blockIdx.x;
  for (int p = 0; p < n; p += NB) {
    if (thread < NB) s.tau[thread] = tau[k * n + p + thread];
    __syncthreads();
    Way::form(PanelReflectors<T>{a + k * size, n, p}, s);
    for (int e = thread; e < NB * NB; e += larft_threads)
      if (e % NB <= e / NB) t[k * size + static_cast<offset_t>(p + e / NB) * n + p + e % NB] = s.t[e % NB][e / NB];
    __syncthreads();
  }
}

template <class T, int NB, class Way>
Trial<T> larft_trial(const char* name) {
  const LaunchShape<T> shape{larft_threads, sizeof(LarftShared<T, NB>)};
  return {"larft", name,
          [shape](const AblationBatch<T>& b) {
            shape(larft<T, NB, Way>, b.count, 1, static_cast<const T*>(b.a), static_cast<const T*>(b.tau), b.x, b.n);
          },
          0, NB};
}

template <class T>
std::vector<Trial<T>> larft_trials() {
  std::vector<Trial<T>> trials;
  const auto add_width = [&](auto width) {
    trials.push_back(larft_trial<T, width, LarftColumns>("larft_columns"));
    trials.push_back(larft_trial<T, width, LarftGram>("larft_gram"));
    trials.push_back(larft_trial<T, width, LarftRecursive>("larft_recursive"));
  };
  add_width(std::integral_constant<int, 16>());
  add_width(std::integral_constant<int, 32>());
  add_width(std::integral_constant<int, 64>());
  return trials;
}

}  // namespace bench
