#pragma once

#include "ablations/update.hpp"
#include "batched/accuracy.hpp"
#include "batched/device.hpp"
#include "batched/measurement.hpp"

#include <memory>

namespace bench {

/// cuBLAS's products of one scalar.
template <class T>
struct Products;
template <>
struct Products<float> {
  static constexpr auto one = cublasSgemm;
  static constexpr auto batched = cublasSgemmBatched;
  static constexpr auto strided = cublasSgemmStridedBatched;
};
template <>
struct Products<double> {
  static constexpr auto one = cublasDgemm;
  static constexpr auto batched = cublasDgemmBatched;
  static constexpr auto strided = cublasDgemmStridedBatched;
};

/// Streams that wait for what the default stream has before them, and it for them.
class Streams {
 public:
  explicit Streams(int count) : streams_(static_cast<std::size_t>(count)) {
    for (cudaStream_t& stream : streams_) check(cudaStreamCreate(&stream));
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams() {
    for (const cudaStream_t stream : streams_) cudaStreamDestroy(stream);
  }
  cudaStream_t operator[](std::size_t i) const { return streams_[i]; }

 private:
  std::vector<cudaStream_t> streams_;
};

/// All updates within matrices of one order: a call of gemm for each, on one or several streams in turn, and one call
/// for all by gemmBatched and gemmStridedBatched.
template <class T>
class UpdateStudy {
 public:
  static constexpr int most_streams = 32;

  UpdateStudy(Device& device, const Streams& streams, int n, int matrices)
      : device_(device),
        streams_(streams),
        n_(n),
        batch_(matrices),
        original_(static_cast<std::size_t>(matrices) * size()),
        matrices_(static_cast<std::size_t>(matrices) * size()),
        a_(static_cast<std::size_t>(matrices)),
        b_(static_cast<std::size_t>(matrices)),
        c_(static_cast<std::size_t>(matrices)) {
    original_.fill(random_values<T>((1 << 20) + 7));
  }

  std::vector<Measurement> measure(const Update& update) {
    const auto addresses = [&](std::size_t offset) {
      std::vector<T*> all(static_cast<std::size_t>(batch_));
      for (std::size_t k = 0; k < all.size(); ++k) all[k] = matrices_.data() + k * size() + offset;
      return all;
    };
    a_.fill(addresses(update.a));
    b_.fill(addresses(update.b));
    c_.fill(addresses(update.c));
    const std::vector<Expected> expected{expect(update, 0), expect(update, static_cast<std::size_t>(batch_) - 1)};
    std::vector<Measurement> results{
        measure(update, expected, "cublas_batched", 0, [&] { run_batched(update); }),
        measure(update, expected, "cublas_strided_batched", 0, [&] { run_strided(update); })};
    for (int streams = 1; streams <= most_streams; streams *= 2)
      results.push_back(
          measure(update, expected, "cublas_streams", streams, [&, streams] { run_streams(update, streams); }));
    return results;
  }

 private:
  /// C - A B of matrix `matrix` by columns, and |C| + |A| |B|, of which the bounds of the rounding errors are.
  struct Expected {
    std::size_t matrix;
    std::vector<double> values, sizes;
  };

  std::size_t size() const { return static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_); }
  std::size_t at(std::size_t first, int i, int j) const { return first + static_cast<std::size_t>(i + j * n_); }

  Expected expect(const Update& update, std::size_t matrix) const {
    const std::vector<T> m = original_.sample(matrix * size(), size());
    Expected expected{matrix, {}, {}};
    for (int j = 0; j < update.columns; ++j)
      for (int i = 0; i < update.rows; ++i) {
        long double value = m[at(update.c, i, j)], sum = std::abs(value);
        for (int k = 0; k < update.inner; ++k) {
          const long double product =
              static_cast<long double>(m[at(update.a, i, k)]) * static_cast<long double>(m[at(update.b, k, j)]);
          value -= product;
          sum += std::abs(product);
        }
        expected.values.push_back(static_cast<double>(value));
        expected.sizes.push_back(static_cast<double>(sum));
      }
    return expected;
  }

  /// The largest error of an element in units of (inner + 1) eps (|C| + |A| |B|), at most 1 where the sums are rounded
  /// one by one.
  double error(const Update& update, const Expected& expected) const {
    const std::vector<T> m = matrices_.sample(expected.matrix * size(), size());
    double worst = 0;
    std::size_t e = 0;
    for (int j = 0; j < update.columns; ++j)
      for (int i = 0; i < update.rows; ++i, ++e)
        worst = worse_error(
            worst, std::abs(static_cast<double>(m[at(update.c, i, j)]) - expected.values[e]) / expected.sizes[e]);
    return worst / ((update.inner + 1) * static_cast<double>(std::numeric_limits<T>::epsilon()));
  }

  void run_batched(const Update& u) {
    check(Products<T>::batched(device_.cublas, CUBLAS_OP_N, CUBLAS_OP_N, u.rows, u.columns, u.inner, &minus_one,
                               a_.data(), n_, b_.data(), n_, &one, c_.data(), n_, batch_));
  }
  void run_strided(const Update& u) {
    const auto stride = static_cast<long long>(size());
    T* const m = matrices_.data();
    check(Products<T>::strided(device_.cublas, CUBLAS_OP_N, CUBLAS_OP_N, u.rows, u.columns, u.inner, &minus_one,
                               m + u.a, n_, stride, m + u.b, n_, stride, &one, m + u.c, n_, stride, batch_));
  }
  void run_streams(const Update& u, int streams) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(batch_); ++k) {
      T* const m = matrices_.data() + k * size();
      if (streams > 1 || k == 0)
        check(cublasSetStream(device_.cublas, streams_[k % static_cast<std::size_t>(streams)]));
      check(Products<T>::one(device_.cublas, CUBLAS_OP_N, CUBLAS_OP_N, u.rows, u.columns, u.inner, &minus_one, m + u.a,
                             n_, m + u.b, n_, &one, m + u.c, n_));
    }
    check(cublasSetStream(device_.cublas, nullptr));
  }

  Measurement measure(const Update& u, const std::vector<Expected>& expected, const std::string& implementation,
                      int streams, const std::function<void()>& work) {
    // Launches one by one take their time.
    const Time time = device_.time(
        streams > 0 ? 3 : 20, [&] { matrices_.restore(original_); }, work);
    const double words = u.rows * u.inner + u.inner * u.columns + 2 * u.rows * u.columns;
    Measurement m{u.operation,
                  implementation,
                  blockjacobi::to_char(blockjacobi::scalar_type<T>),
                  n_,
                  static_cast<std::size_t>(batch_),
                  time,
                  words * sizeof(T) * batch_,
                  2.0 * u.rows * u.columns * u.inner * batch_,
                  0};
    for (const Expected& e : expected) m.error = worse_error(m.error, error(u, e));
    m.rows = u.rows;
    m.columns = u.columns;
    m.inner = u.inner;
    m.streams = streams;
    return m;
  }

  static constexpr T one = 1, minus_one = -1;

  Device& device_;
  const Streams& streams_;
  int n_, batch_;
  Buffer<T> original_, matrices_;
  Buffer<T*> a_, b_, c_;
};

}  // namespace bench
