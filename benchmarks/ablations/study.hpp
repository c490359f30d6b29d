#pragma once

#include "ablations/design.hpp"
#include "ablations/host_reference.hpp"
#include "batched/measurement.hpp"
#include "kernels/launch_batched.hpp"

namespace bench {

/// All designs of one order on one batch, and the library's kernel after them.
template <class T>
class Study {
 public:
  struct Sweep {
    std::vector<int> full;  ///< matrices a thread block of the designs that are swept
    std::vector<int> some;  ///< of the others
    int repetitions;
  };

  Study(const Timer& timer, int n, double gigabytes)
      : timer_(timer),
        n_(n),
        batch_(std::max<std::size_t>(samples, static_cast<std::size_t>(gigabytes * 1e9 / bytes_of_one()))),
        original_(batch_ * size()),
        a_(batch_ * size()),
        x_(batch_ * size()),
        ipiv_(batch_ * static_cast<std::size_t>(n)),
        info_(batch_),
        reference_(n, fill_original()) {}

  /// Calls accept(measurement) for every design and number of matrices a thread block, but reject(measurement) where
  /// the results are wrong.
  template <class Accept, class Reject>
  void run(const std::string& operation, const Sweep& sweep, Accept accept, Reject reject) {
    const auto add = [&](const Measurement& m) { m.error <= largest_error ? accept(m) : reject(m); };
    for (const Design<T>& design : operation == "lu" ? lu_designs<T>(n_) : inverse_designs<T>(n_))
      for (const int matrices : design.swept ? sweep.full : sweep.some)
        if (matrices <= design.most_matrices) add(measure(operation, design, matrices, sweep.repetitions));
    add(measure(operation, library(operation), 0, sweep.repetitions));
  }

 private:
  static constexpr std::size_t samples = 16;
  static constexpr double largest_error = 10;

  std::size_t size() const { return static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_); }
  double bytes_of_one() const { return 2.0 * n_ * n_ * sizeof(T); }
  std::size_t sample(std::size_t s) const { return s * (batch_ - 1) / (samples - 1); }

  /// Returns the samples.
  std::vector<T> fill_original() {
    original_.fill(random_values<T>(1 << 22));
    std::vector<T> all;
    for (std::size_t s = 0; s < samples; ++s) {
      const std::vector<T> one = original_.sample(sample(s) * size(), size());
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  blockjacobi::MatrixBatchView<T> view(T* data) const {
    return blockjacobi::MatrixBatchView<T>::strided(data, n_, n_, n_, static_cast<blockjacobi::offset_t>(size()),
                                                    static_cast<blockjacobi::offset_t>(batch_),
                                                    blockjacobi::MemorySpace::device);
  }
  Design<T> library(const std::string& operation) const {
    namespace kernels = blockjacobi::kernels;
    if (operation == "lu")
      return {"blockjacobi", 0, false,
              [this](const AblationBatch<T>& b, int) { kernels::getrf<T>(view(b.a), b.ipiv, b.info, nullptr); }};
    return {"blockjacobi", 0, false,
            [this](const AblationBatch<T>& b, int) { kernels::inverse<T>(view(b.a), view(b.x), b.info, nullptr); }};
  }

  Measurement measure(const std::string& operation, const Design<T>& design, int matrices, int repetitions) {
    const AblationBatch<T> batch{n_, batch_, a_.data(), x_.data(), ipiv_.data(), info_.data()};
    const auto prepare = [&] { a_.restore(original_); };
    // Nothing of the design before may pass for a result.
    check(cudaMemsetAsync(x_.data(), 0xff, x_.bytes()));
    check(cudaMemsetAsync(ipiv_.data(), 0xff, ipiv_.bytes()));
    check(cudaMemsetAsync(info_.data(), 0xff, info_.bytes()));
    const Time time = timer_.time(repetitions, prepare, [&] { design.run(batch, matrices); });
    const auto count = static_cast<double>(batch_), order = static_cast<double>(n_);
    Measurement m{operation,
                  design.name,
                  blockjacobi::to_char(blockjacobi::scalar_type<T>),
                  n_,
                  batch_,
                  time,
                  bytes_of_one() * count,
                  (operation == "lu" ? 2.0 / 3 : 2.0) * order * order * order * count,
                  error(operation)};
    m.matrices_per_block = matrices;
    return m;
  }

  double error(const std::string& operation) const {
    double worst = 0;
    const auto n = static_cast<std::size_t>(n_);
    for (std::size_t s = 0; s < samples; ++s) {
      const std::size_t k = sample(s);
      const int info = info_.sample(k, 1)[0];
      const std::vector<T> result = (operation == "lu" ? a_ : x_).sample(k * size(), size());
      worst = worse_error(worst, operation == "lu" ? reference_.error_of_lu(s, result, ipiv_.sample(k * n, n), info)
                                                   : reference_.error_of_inverse(s, result, info));
    }
    return worst;
  }

  const Timer& timer_;
  int n_;
  std::size_t batch_;
  Buffer<T> original_, a_, x_;
  Buffer<int> ipiv_, info_;
  HostReference<T> reference_;
};

}  // namespace bench
