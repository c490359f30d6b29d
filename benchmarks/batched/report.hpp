#pragma once

#include "batched/measurement.hpp"
#include "batched/record_header.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iomanip>
#include <map>
#include <ostream>

namespace bench {

/// The records of a run: a JSON file and a table.
class Report {
 public:
  explicit Report(const Timer& timer) : copy_gbps_(timer.copy_gbps), read_gbps_(timer.read_gbps) {}

  void add(const Measurement& m) { measurements_.push_back(m); }

  /// Something about the machine, beside the GPU.
  void add_to_head(const std::string& key, const std::string& value) { machine_[key] = value; }

  void write(const std::string& path) const {
    nlohmann::ordered_json json = record_header(copy_gbps_, read_gbps_, clocks_);
    json.update(machine_);
    for (const Measurement& m : measurements_) json["records"].push_back(record(m));
    std::ofstream file(path);
    file << json.dump(1) << '\n';
    if (!file) throw std::runtime_error("cannot write " + path);
  }

  /// One line an order: ms, percent of the copy bandwidth and of the floor, times the best peer in the same run, scaled
  /// error.
  void print_table(std::ostream& out) const {
    out << "copy " << std::fixed << std::setprecision(0) << copy_gbps_ << " GB/s\n"
        << "operation    scalar   N      ms  % copy % floor  x peer  error\n";
    for (const Measurement& m : measurements_) {
      if (m.implementation != "blockjacobi") continue;
      double peer = 0;
      for (const Measurement& other : measurements_)
        if (other.implementation != m.implementation && other.operation == m.operation && other.n == m.n &&
            other.scalar == m.scalar && other.columns == m.columns && other.matrix == m.matrix &&
            (peer == 0 || other.time.median < peer))
          peer = other.time.median;
      out << std::left << std::setw(13) << m.operation << std::setw(7) << m.scalar << std::right << std::setw(3) << m.n
          << std::setprecision(3) << std::setw(8) << m.time.median << std::setprecision(1) << std::setw(8)
          << 100 * fraction(m) << std::setw(8) << 100 * fraction_of_floor(m);
      if (peer > 0)
        out << std::setw(8) << peer / m.time.median;
      else
        out << std::setw(8) << '-';
      out << std::setprecision(2) << std::setw(7) << m.error << describe(m) << '\n';
    }
  }

 private:
  static std::string describe(const Measurement& m) {
    std::string text = m.storage == "full" ? "" : "  " + m.storage;
    if (!m.partition.empty() && m.partition != "uniform") text += "  " + m.partition;
    if (!m.matrix.empty()) text += "  " + m.matrix;
    if (m.pattern == "definite") text += "  definite";
    if (m.transposed) text += "  transposed";
    if (m.columns > 1) text += "  " + std::to_string(m.columns) + " columns";
    return text;
  }

  double fraction(const Measurement& m) const { return m.bytes / m.time.median * 1e-6 / copy_gbps_; }

  /// Of the time that the bytes take at the copy bandwidth, or the flops at 67 TFlop/s, the peak of fp32 and of the
  /// fp64 tensor cores: whichever is longer.
  double fraction_of_floor(const Measurement& m) const {
    return std::max(m.bytes * 1e-6 / copy_gbps_, m.flops * 1e-9 / 67.0) / m.time.median;
  }

  nlohmann::ordered_json record(const Measurement& m) const {
    nlohmann::ordered_json json{{"operation", m.operation},
                                {"implementation", m.implementation},
                                {"scalar", std::string(1, m.scalar)},
                                {"storage", m.storage},
                                {"n", m.n},
                                {"batch", m.batch},
                                {"pattern", m.pattern},
                                {"time_ms", m.time.median},
                                {"time_p25", m.time.p25},
                                {"time_p75", m.time.p75},
                                {"bytes", m.bytes},
                                {"batch_bytes", batch_bytes(m)},
                                {"flops", m.flops},
                                {"fraction_of_copy", fraction(m)},
                                {"fraction_of_floor", fraction_of_floor(m)}};
    if (m.matrices_per_cta > 0) json["matrices_per_cta"] = m.matrices_per_cta;
    if (m.panel_width > 0) json["panel_width"] = m.panel_width;
    if (!m.partition.empty()) json["partition"] = m.partition;
    if (m.transposed) json["op"] = "transpose";
    if (m.columns > 1) json["columns"] = m.columns;
    if (!m.matrix.empty()) json["matrix"] = m.matrix;
    if (m.rows > 0) json["rows"] = m.rows;
    if (m.nnz > 0) json["nnz"] = m.nnz;
    if (m.entries > 0) json["entries"] = m.entries;
    if (m.singular > 0) json["singular"] = m.singular;
    if (m.copies > 1) json["copies"] = m.copies;
    if (m.inner > 0) json["inner"] = m.inner;
    if (m.streams > 0) json["streams"] = m.streams;
    if (m.cores > 0) json["cores"] = m.cores;
    if (m.energy) {
      json["energy_j"] = number(m.energy->joules);
      json["power_w"] = number(m.energy->watts);
    }
    json["error"] = number(m.error);
    return json;
  }
  static double batch_bytes(const Measurement& m) {
    return m.batch_bytes > 0 ? m.batch_bytes : static_cast<double>(m.batch) * m.n * m.n * scalar_bytes(m.scalar);
  }
  static double scalar_bytes(char scalar) { return scalar == 's' ? 4 : scalar == 'z' ? 16 : 8; }

  double copy_gbps_, read_gbps_;
  Clocks clocks_;
  nlohmann::ordered_json machine_ = nlohmann::ordered_json::object();
  std::vector<Measurement> measurements_;
};

}  // namespace bench
