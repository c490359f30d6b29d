#pragma once

#include "ablations/lapack.hpp"
#include "batched/host_case.hpp"
#include "batched/measurement.hpp"

#include <chrono>

namespace bench {

/// Factorizations on the cores of the host: by the host backend and by LAPACK with one core a matrix, and by LAPACK
/// with all cores on one matrix after the other.
template <class T>
class HostCores {
 public:
  /// Without a library the host backend is alone. Every way is repeated for `seconds` and three times at least, but
  /// not again after a second.
  HostCores(const blockjacobi::Backend& backend, const std::optional<LapackLibrary>& library, double seconds)
      : backend_(backend), library_(library), seconds_(seconds) {
    if (library) lapack_.emplace(*library);
  }

  std::vector<Measurement> measure(const std::string& operation, int n) const {
    // Enough to measure, and two for every core.
    const int count = std::max((1 << 20) / (n * n), 2 * backend_.threads());
    HostCase<T> problem(backend_, operation, n, static_cast<std::size_t>(count));
    std::vector<Measurement> results{measure(problem, operation, n, "blockjacobi", [&] { problem.run(); })};
    if (!lapack_) return results;
    const auto factorize = [&](int k) {
      const auto matrix = static_cast<std::size_t>(k);
      lapack_->factorize(operation, n, problem.matrix(matrix), problem.ipiv(matrix), problem.tau(matrix),
                         problem.info(matrix));
    };
    const bool one = library_->set_threads(1);
    results.push_back(measure(problem, operation, n, "lapack_one_core", [&] {
#pragma omp parallel for num_threads(backend_.threads()) schedule(dynamic)
      for (int k = 0; k < count; ++k) factorize(k);
    }));
    if (!one || !library_->set_threads(backend_.threads())) return results;
    results.push_back(measure(problem, operation, n, "lapack_all_cores", [&] {
      for (int k = 0; k < count; ++k) factorize(k);
    }));
    return results;
  }

 private:
  Measurement measure(HostCase<T>& problem, const std::string& operation, int n, const std::string& implementation,
                      const std::function<void()>& work) const {
    const Time time = median(problem, work);
    const double cube = operation == "lu" ? 2.0 / 3 : operation == "cholesky" ? 1.0 / 3 : 4.0 / 3;
    Measurement m{operation,
                  implementation,
                  blockjacobi::to_char(blockjacobi::scalar_type<T>),
                  n,
                  problem.count,
                  time,
                  NAN,
                  cube * n * n * n * static_cast<double>(problem.count),
                  worse_error(problem.error(0), problem.error(problem.count - 1))};
    m.cores = backend_.threads();
    return m;
  }

  /// Inputs are restored outside of the timed part. The first call does not count unless it is slow.
  Time median(HostCase<T>& problem, const std::function<void()>& work) const {
    using Clock = std::chrono::steady_clock;
    std::vector<double> times;
    double total = 0;
    for (int i = -1; total == 0 || (i < 3 && total < 1) || total < seconds_; ++i) {
      problem.restore();
      const auto begin = Clock::now();
      work();
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      if (i < 0 && seconds < 1) continue;
      total += seconds;
      times.push_back(1e3 * seconds);
    }
    return quartiles(times);
  }

  blockjacobi::Backend backend_;
  const std::optional<LapackLibrary>& library_;
  std::optional<Lapack<T>> lapack_;
  double seconds_;
};

}  // namespace bench
