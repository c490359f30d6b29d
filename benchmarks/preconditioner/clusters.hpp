#pragma once

#include "backend/cuda_clusters.hpp"
#include "batched/device.hpp"
#include "batched/measurement.hpp"
#include "preconditioner/construct.hpp"

#include <matrices/generators.hpp>

#include <iomanip>
#include <iostream>
#include <map>
#include <numeric>
#include <variant>

namespace bench {

/// BlockPartition::clusters of the 7-point Laplacian on points^3, whose matrix lies on the device, where the
/// permutation stays. The error is 0 if the host finds the same.
class Clustering {
 public:
  Clustering(Device& device, blockjacobi::index_t points)
      : backend_(device.backend),
        name_("7-point " + std::to_string(points) + "^3"),
        host_(blockjacobi::matrices::stencil<double>({.grid = {points, points, points}})),
        matrix_(backend_, host_.view()) {}

  Measurement measure() const {
    using blockjacobi::BlockPartition;
    const blockjacobi::PermutedPartition found = BlockPartition::clusters(matrix_, max_size),
                                         expected = BlockPartition::clusters(host_, max_size);
    const Time time = time_on_host(backend_, 10, [&] { return BlockPartition::clusters(matrix_, max_size); });
    Measurement m{"clusters", "blockjacobi", 'd', max_size, static_cast<std::size_t>(found.blocks.blocks()), time, 0, 0,
                  0};
    // The matrix once.
    m.bytes = static_cast<double>(host_.nnz()) * (sizeof(double) + sizeof(blockjacobi::index_t));
    m.error = found.permutation == expected.permutation && found.blocks == expected.blocks ? 0 : INFINITY;
    m.partition = "clusters";
    m.matrix = name_;
    m.rows = host_.rows();
    return m;
  }

  /// Milliseconds of the phases on the stream, waits for the host included; of phases that repeat for each level the
  /// sum, and behind it each. Without the supervariables before and the offsets of the blocks after.
  void print_phases(std::ostream& out) const {
    blockjacobi::detail::CudaContext context(0, nullptr, nullptr);
    Buffer<blockjacobi::index_t> order(static_cast<std::size_t>(host_.rows()));
    Buffer<std::uint32_t> starts(static_cast<std::size_t>(host_.rows()) / 32 + 1);
    const auto nodes = blockjacobi::BlockPartition::uniform(host_.rows(), 1);
    std::map<std::string, std::vector<std::vector<double>>> times;  // of a phase, by level and repetition
    std::vector<std::string> names;
    for (int i = 0; i < repetitions; ++i) {
      starts.fill({0});
      Marks marks;
      marks.add("");
      std::visit(
          [&]<class O>(const blockjacobi::CsrView<double, O>& m) {
            const blockjacobi::CsrView<const double, O> view{m.rows,    m.cols,   m.nnz,  m.row_offsets,
                                                             m.columns, m.values, m.base, m.space};
            blockjacobi::detail::cuda_clusters(context, backend_, view, nodes, max_size, order.data(), starts.data(),
                                               [&](const char* phase) { marks.add(phase); });
          },
          matrix_.view());
      for (auto& [phase, ms] : marks.times()) {
        if (times[phase].empty()) names.push_back(phase);
        times[phase].resize(ms.size());
        for (std::size_t l = 0; l < ms.size(); ++l) times[phase][l].push_back(ms[l]);
      }
    }
    out << name_ << std::fixed << std::setprecision(3) << '\n';
    for (const std::string& phase : names) {
      std::vector<double> medians;
      for (const std::vector<double>& of_level : times[phase]) medians.push_back(quartiles(of_level).median);
      out << "  " << std::left << std::setw(16) << phase << std::right;
      out << std::setw(9) << std::accumulate(medians.begin(), medians.end(), 0.0) << " =";
      for (const double ms : medians) out << ' ' << ms;
      out << '\n';
    }
  }

 private:
  static constexpr blockjacobi::index_t max_size = 32;
  static constexpr int repetitions = 11;

  /// Events of the default stream with names.
  class Marks {
   public:
    Marks() = default;
    Marks(const Marks&) = delete;
    Marks& operator=(const Marks&) = delete;
    ~Marks() {
      for (const auto& mark : marks_) cudaEventDestroy(mark.second);
    }
    void add(const std::string& name) {
      cudaEvent_t event{};
      check(cudaEventCreate(&event));
      marks_.emplace_back(name, event);
      check(cudaEventRecord(event, nullptr));
    }
    /// From the mark before to each, of equal names together, as they came.
    std::vector<std::pair<std::string, std::vector<double>>> times() const {
      std::vector<std::pair<std::string, std::vector<double>>> found;
      check(cudaEventSynchronize(marks_.back().second));
      for (std::size_t k = 1; k < marks_.size(); ++k) {
        float ms = 0;
        check(cudaEventElapsedTime(&ms, marks_[k - 1].second, marks_[k].second));
        auto phase = std::find_if(found.begin(), found.end(), [&](auto& f) { return f.first == marks_[k].first; });
        if (phase == found.end()) phase = found.insert(found.end(), {marks_[k].first, {}});
        phase->second.push_back(static_cast<double>(ms));
      }
      return found;
    }

   private:
    std::vector<std::pair<std::string, cudaEvent_t>> marks_;
  };

  const blockjacobi::Backend& backend_;
  std::string name_;
  blockjacobi::CsrMatrix<double> host_;
  blockjacobi::SparseMatrix<double> matrix_;
};

}  // namespace bench
