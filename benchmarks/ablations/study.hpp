#pragma once

#include "ablations/design.hpp"
#include "ablations/host_reference.hpp"
#include "batched/measurement.hpp"
#include "kernels/cholesky/launch.hpp"
#include "kernels/inverse/launch.hpp"
#include "kernels/lu/launch.hpp"
#include "kernels/qr/launch.hpp"

namespace bench {

enum class Matrices { general, definite };

/// All trials of one order, on one batch.
template <class T>
class Study {
 public:
  Study(const Timer& timer, int n, std::size_t batch, int repetitions, Matrices matrices = Matrices::general)
      : timer_(timer),
        n_(n),
        batch_(std::max(batch, samples())),
        repetitions_(repetitions),
        original_(batch_ * size()),
        factors_(batch_ * size()),
        a_(batch_ * size()),
        x_(batch_ * size()),
        tau_(batch_ * static_cast<std::size_t>(n)),
        ipiv_(batch_ * static_cast<std::size_t>(n)),
        info_(batch_),
        reference_(n, fill_original(matrices)) {}

  /// Calls accept(measurement), but reject(measurement) if the results are wrong.
  template <class Accept, class Reject>
  void run(const Trial<T>& trial, Accept accept, Reject reject) {
    const Measurement m = measure(trial);
    if (m.error <= largest_error)
      accept(m);
    else
      reject(m);
  }

  /// The library's kernel. The study outlives it.
  Trial<T> library(const std::string& operation) const {
    namespace kernels = blockjacobi::kernels;
    if (operation == "lu")
      return {operation, "blockjacobi",
              [this](const AblationBatch<T>& b) { kernels::getrf<T>(view(b.a), b.ipiv, b.info, nullptr); }};
    if (operation == "getri")
      return {operation, "blockjacobi",
              [this](const AblationBatch<T>& b) { kernels::getri<T>(view(b.a), b.ipiv, view(b.x), b.info, nullptr); }};
    if (operation == "spd_inverse")
      return {operation, "blockjacobi", [this](const AblationBatch<T>& b) {
                kernels::spd_inverse<T>(blockjacobi::batched::Triangle::lower, view(b.a), view(b.x),
                                        blockjacobi::batched::SpdStorage::full, b.info, {}, nullptr);
              }};
    return {operation, "blockjacobi",
            [this](const AblationBatch<T>& b) { kernels::inverse<T>(view(b.a), view(b.x), b.info, nullptr); }};
  }

 private:
  static constexpr double largest_error = 10;

  std::size_t size() const { return static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_); }
  double bytes_of_one() const { return 2.0 * n_ * n_ * sizeof(T); }
  /// Products in extended precision take their time.
  std::size_t samples() const { return n_ <= 64 ? 16 : n_ <= 128 ? 4 : 2; }
  std::size_t sample(std::size_t s) const { return s * (batch_ - 1) / (samples() - 1); }

  /// Returns the samples.
  std::vector<T> fill_original(Matrices matrices) {
    original_.fill(matrices == Matrices::definite ? random_positive_definite<T>(n_) : random_values<T>(1 << 22));
    std::vector<T> all;
    for (std::size_t s = 0; s < samples(); ++s) {
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

  /// What the operation begins with: the matrices, for "getri" their factors, for "larft" their reflectors.
  const Buffer<T>& input(const std::string& operation) {
    if (operation != "getri" && operation != "larft") return original_;
    a_.restore(original_);
    if (operation == "larft")
      blockjacobi::kernels::geqrf<T>(view(a_.data()), tau_.data(), nullptr);
    else
      library("lu").run(batch());
    factors_.restore(a_);
    return factors_;
  }
  AblationBatch<T> batch() const { return {n_, batch_, a_.data(), x_.data(), ipiv_.data(), info_.data(), tau_.data()}; }

  Measurement measure(const Trial<T>& trial) {
    // Nothing of the trial before may pass for a result.
    check(cudaMemsetAsync(x_.data(), 0xff, x_.bytes()));
    check(cudaMemsetAsync(ipiv_.data(), 0xff, ipiv_.bytes()));
    check(cudaMemsetAsync(info_.data(), 0xff, info_.bytes()));
    const Buffer<T>& from = input(trial.operation);
    const Time time = timer_.time(
        repetitions_, [&] { a_.restore(from); }, [&] { trial.run(batch()); });
    const auto count = static_cast<double>(batch_), order = static_cast<double>(n_);
    Measurement m{trial.operation,
                  trial.name,
                  blockjacobi::to_char(blockjacobi::scalar_type<T>),
                  n_,
                  batch_,
                  time,
                  bytes_of_one() * count,
                  trial.operation == "larft" ? 0.5 * trial.panel_width * order * order * count
                                             : cubes(trial.operation) * order * order * order * count,
                  error(trial)};
    m.matrices_per_cta = trial.matrices_per_cta;
    m.panel_width = trial.panel_width;
    return m;
  }

  static double cubes(const std::string& operation) {
    return operation == "lu" ? 2.0 / 3 : operation == "getri" ? 4.0 / 3 : 2.0;
  }

  double error(const Trial<T>& trial) const {
    const std::string& operation = trial.operation;
    double worst = 0;
    const auto n = static_cast<std::size_t>(n_);
    for (std::size_t s = 0; s < samples(); ++s) {
      const std::size_t k = sample(s);
      if (operation == "larft") {
        worst = worse_error(worst, error_of_larft(n_, trial.panel_width, a_.sample(k * size(), size()),
                                                  tau_.sample(k * n, n), x_.sample(k * size(), size())));
        continue;
      }
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
  int repetitions_;
  Buffer<T> original_, factors_, a_, x_, tau_;
  Buffer<int> ipiv_, info_;
  HostReference<T> reference_;
};

}  // namespace bench
