#pragma once

#include "batched/timer.hpp"

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
inline nlohmann::ordered_json record_header(double copy_gbps, double read_gbps) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0));
  int clock_khz = 0;
  check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0));
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
  return {{"device", properties.name},
          {"driver", driver_version()},
          {"nvcc", CUDART_VERSION},
          {"copy_gbps", copy_gbps},
          {"read_gbps", number(read_gbps)},
          {"sm_clock_mhz", clock_khz / 1000},
          {"date", date},
          {"records", nlohmann::ordered_json::array()}};
}

}  // namespace bench
