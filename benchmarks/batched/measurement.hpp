#pragma once

#include "batched/timer.hpp"

#include <cstdint>
#include <optional>

namespace bench {

/// NaN where it cannot be measured.
struct Energy {
  double joules;  ///< of one matrix
  double watts;   ///< on average
};

struct Measurement {
  std::string operation, implementation;
  char scalar;
  int n;
  std::size_t batch;
  Time time;
  double bytes;  ///< the least that a call must move
  double flops;
  double error;              ///< NaN if not evaluated
  int matrices_per_cta = 0;  ///< where that is what is studied
  int panel_width = 0;       ///< the same
  double batch_bytes = 0;    ///< of the matrices, if not N^2 elements each
  std::string storage = "full";
  std::string partition{};  ///< where that matters, and so on
  bool transposed = false;
  int columns = 1;
  int rows = 0;     ///< of a product of rows x inner and inner x columns, or of the matrix
  int inner = 0;    ///< the same
  int streams = 0;  ///< where that is what is studied
  int cores = 0;    ///< of the host, where it works
  std::optional<Energy> energy{};
  std::string matrix{};  ///< the system, where it has a name
  std::string pattern = "moving";
  std::int64_t nnz = 0;      ///< of the matrix, where that matters
  std::int64_t entries = 0;  ///< of it, inside of the blocks
  int singular = 0;          ///< blocks
  int copies = 0;            ///< that a call goes through in turn, where that is more than one
};

}  // namespace bench
