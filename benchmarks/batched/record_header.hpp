#pragma once

#include "energy/clocks.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <ctime>
#include <fstream>
#include <string>

namespace bench {

inline nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

inline std::string driver_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  file >> version;
  return version.empty() ? "unknown" : version;
}

/// What a file of records says of the machine, with room for the records; run.py adds which program measured them.
/// sm_clock_mhz is nominal, the others were read while the program measured.
inline nlohmann::ordered_json record_header(double copy_gbps, double read_gbps, const Clocks& clocks) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0));
  int clock_khz = 0;
  check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0));
  const Clocks::Found during = clocks.found();
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
  return {{"device", properties.name},
          {"driver", driver_version()},
          {"nvcc", CUDART_VERSION},
          {"copy_gbps", copy_gbps},
          {"read_gbps", number(read_gbps)},
          {"sm_clock_mhz", clock_khz / 1000},
          {"sm_clock_least_mhz", number(during.least)},
          {"sm_clock_median_mhz", number(during.median)},
          {"sm_clock_lowered_by", during.lowered_by},
          {"date", date},
          {"records", nlohmann::ordered_json::array()}};
}

}  // namespace bench
