#pragma once

#include "batched/timer.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

namespace bench {

/// Energy of the first GPU, as NVML counts it. The driver's library is looked up at run time, so that neither its
/// header nor its stub is needed.
class GpuEnergy {
 public:
  GpuEnergy() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
    if (library_ == nullptr) throw std::runtime_error("libnvidia-ml.so.1 cannot be opened");
    const auto init = function<int()>("nvmlInit_v2");
    const auto find = function<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    total_ = function<int(void*, unsigned long long*)>("nvmlDeviceGetTotalEnergyConsumption");
    char bus[32];
    bench::check(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0));
    check(init());
    check(find(bus, &device_));
  }
  GpuEnergy(const GpuEnergy&) = delete;
  GpuEnergy& operator=(const GpuEnergy&) = delete;
  ~GpuEnergy() { dlclose(library_); }

  double joules() const {
    unsigned long long millijoules = 0;
    check(total_(device_, &millijoules));
    return 1e-3 * static_cast<double>(millijoules);
  }

 private:
  template <class F>
  F* function(const char* name) const {
    void* const found = dlsym(library_, name);
    if (found == nullptr) throw std::runtime_error(std::string("NVML has no ") + name);
    return reinterpret_cast<F*>(found);
  }
  static void check(int status) {
    if (status != 0) throw std::runtime_error("NVML status " + std::to_string(status));
  }

  void* library_;
  void* device_ = nullptr;
  int (*total_)(void*, unsigned long long*) = nullptr;
};

/// Energy of the processor packages, as RAPL counts it; its counters wrap around.
class HostEnergy {
 public:
  /// Empty where the counters cannot be read.
  static std::optional<HostEnergy> open() {
    HostEnergy energy;
    const std::filesystem::path folder = "/sys/class/powercap";
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
      const std::string name = entry.path().filename().string();
      if (name.rfind("intel-rapl:", 0) != 0 || std::count(name.begin(), name.end(), ':') != 1) continue;
      const auto now = read(entry.path() / "energy_uj"), range = read(entry.path() / "max_energy_range_uj");
      if (now && range) energy.packages_.push_back({entry.path() / "energy_uj", *now, *range});
    }
    return energy.packages_.empty() ? std::nullopt : std::optional<HostEnergy>(energy);
  }

  /// Since the counters were opened. To be called before any of them wraps around twice, that is every few minutes.
  double joules() {
    for (Package& package : packages_) {
      const double now = read(package.counter).value_or(package.last);
      total_ += now - package.last + (now < package.last ? package.range : 0);
      package.last = now;
    }
    return 1e-6 * total_;
  }

 private:
  struct Package {
    std::filesystem::path counter;
    double last, range;  // microjoules
  };
  static std::optional<double> read(const std::filesystem::path& path) {
    std::ifstream file(path);
    double value = 0;
    return file >> value ? std::optional<double>(value) : std::nullopt;
  }

  std::vector<Package> packages_;
  double total_ = 0;
};

}  // namespace bench
