#pragma once

#include "energy/nvml.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// Energy of the first GPU, as NVML counts it.
class GpuEnergy {
 public:
  GpuEnergy() : total_(nvml_.function<int(void*, unsigned long long*)>("nvmlDeviceGetTotalEnergyConsumption")) {}

  double joules() const {
    unsigned long long millijoules = 0;
    Nvml::check(total_(nvml_.device(), &millijoules));
    return 1e-3 * static_cast<double>(millijoules);
  }

 private:
  Nvml nvml_;
  int (*total_)(void*, unsigned long long*);
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
