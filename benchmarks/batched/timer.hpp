#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

inline void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

/// Device memory of `count` elements.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count) {
    check(cudaMalloc(reinterpret_cast<void**>(&data_), std::max<std::size_t>(count, 1) * sizeof(T)));
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* data() const { return data_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

  /// Repeats `pattern` over the whole buffer.
  void fill(const std::vector<T>& pattern) {
    const std::size_t first = std::min(pattern.size(), count_);
    check(cudaMemcpy(data_, pattern.data(), first * sizeof(T), cudaMemcpyHostToDevice));
    for (std::size_t done = first; done < count_; done *= 2)
      check(cudaMemcpy(data_ + done, data_, std::min(done, count_ - done) * sizeof(T), cudaMemcpyDeviceToDevice));
  }
  /// As many elements as there are values.
  void upload(std::span<const T> values) {
    check(cudaMemcpy(data_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice));
  }
  void restore(const Buffer& source) { check(cudaMemcpyAsync(data_, source.data_, bytes(), cudaMemcpyDeviceToDevice)); }
  std::vector<T> sample(std::size_t first, std::size_t count) const {
    std::vector<T> values(count);
    check(cudaMemcpy(values.data(), data_ + first, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

struct Time {
  double median, p25, p75;  // ms
};

inline Time quartiles(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const std::size_t n = times.size();
  return {times[n / 2], times[n / 4], times[3 * n / 4]};
}

/// Times work on a stream of the GPU, whose copy bandwidth it finds first.
class Timer {
 public:
  Timer() {
    check(cudaEventCreate(&begin_));
    check(cudaEventCreate(&end_));
    measure_copy();
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  /// `prepare` is outside of the timed part.
  Time time(int repetitions, const std::function<void()>& prepare, const std::function<void()>& work,
            cudaStream_t stream = nullptr) const {
    std::vector<double> times;
    for (int i = -2; i < repetitions; ++i) {
      prepare();
      check(cudaEventRecord(begin_, stream));
      work();
      check(cudaEventRecord(end_, stream));
      check(cudaEventSynchronize(end_));
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin_, end_));
      if (i >= 0) times.push_back(static_cast<double>(ms));
    }
    return quartiles(std::move(times));
  }

  double copy_gbps = 0;    ///< bytes read plus written of a device-to-device copy of 4 GiB
  double read_gbps = NAN;  ///< of a sum over 4 GiB, where a library is at hand for it

 private:
  void measure_copy() {
    const std::size_t bytes = std::size_t{4} << 30;
    Buffer<char> from(bytes), to(bytes);
    const Time t = time(
        20, [] {}, [&] { to.restore(from); });
    copy_gbps = 2.0 * static_cast<double>(bytes) / t.median * 1e-6;
  }

  cudaEvent_t begin_{}, end_{};
};

}  // namespace bench
