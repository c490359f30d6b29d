#pragma once

#include "energy/nvml.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

/// The clock of the multiprocessors while this lives, looked at every 50 ms on a thread of its own; not while the GPU
/// is idle, when it may be low. Without NVML there is nothing to tell.
class Clocks {
 public:
  struct Found {
    double least = NAN, median = NAN;       ///< MHz
    std::vector<const char*> lowered_by{};  ///< what held it down at any time
  };

  Clocks() {
    try {
      nvml_ = std::make_unique<Nvml>();
      clock_ = nvml_->function<int(void*, int, unsigned*)>("nvmlDeviceGetClockInfo");
      reasons_ = nvml_->function<int(void*, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons");
    } catch (const std::runtime_error&) {
      return;
    }
    watch_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        look();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    });
  }

  Found found() const {
    const std::lock_guard guard(lock_);
    Found all;
    if (samples_.empty()) return all;
    std::vector<unsigned> sorted = samples_;
    std::sort(sorted.begin(), sorted.end());
    all.least = sorted.front();
    all.median = sorted[sorted.size() / 2];
    for (const auto& [bit, name] : {std::pair{0x04ull, "power cap"},
                                    {0x08ull, "hardware slowdown"},
                                    {0x20ull, "heat"},
                                    {0x40ull, "heat, by the hardware"},
                                    {0x80ull, "power brake"}})
      if ((seen_ & bit) != 0) all.lowered_by.push_back(name);
    return all;
  }

 private:
  static constexpr int multiprocessors = 1;         // NVML_CLOCK_SM
  static constexpr unsigned long long idle = 0x01;  // nvmlClocksEventReasonGpuIdle

  void look() {
    unsigned mhz = 0;
    unsigned long long reasons = 0;
    if (clock_(nvml_->device(), multiprocessors, &mhz) != 0 || reasons_(nvml_->device(), &reasons) != 0) return;
    if ((reasons & idle) != 0) return;
    const std::lock_guard guard(lock_);
    samples_.push_back(mhz);
    seen_ |= reasons;
  }

  std::unique_ptr<Nvml> nvml_;
  int (*clock_)(void*, int, unsigned*) = nullptr;
  int (*reasons_)(void*, unsigned long long*) = nullptr;
  mutable std::mutex lock_;
  std::vector<unsigned> samples_;
  unsigned long long seen_ = 0;
  std::jthread watch_;  // last, so that it ends first
};

}  // namespace bench
