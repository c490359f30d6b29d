#include "io/reading_limits.hpp"

#include "core/message.hpp"

#include <unistd.h>

#include <limits>

namespace blockjacobi::detail {

namespace {

/// Of the whole machine. A system that promises more than it has ends a process instead of refusing it memory.
double physical_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::uintmax_t text_limit(const MatrixMarketLimits& limits, offset_t entries) noexcept {
  constexpr std::uintmax_t largest = std::numeric_limits<std::uintmax_t>::max();
  const auto count = static_cast<std::uintmax_t>(entries);
  if (count > 0 && limits.text_per_entry > (largest - header_text) / count) return largest;
  return header_text + count * limits.text_per_entry;
}

void require_memory(const std::filesystem::path& path, const MatrixMarketHeader& header,
                    const MatrixMarketLimits& limits, const char* what, double bytes) {
  if (limits.memory == 0) {
    if (bytes > physical_memory()) throw_no_memory(path, header, what);
  } else if (bytes > static_cast<double>(limits.memory)) {
    throw ParseError(path.string(), header.size_line,
                     message("{} {} x {} matrix takes {:.0f} bytes, more than the limit of {} "
                             "(MatrixMarketLimits::memory)",
                             what, header.rows, header.cols, bytes, limits.memory));
  }
}

void throw_no_memory(const std::filesystem::path& path, const MatrixMarketHeader& header, const char* what) {
  throw ParseError(path.string(), header.size_line,
                   message("{} {} x {} matrix does not fit in memory", what, header.rows, header.cols));
}

}  // namespace blockjacobi::detail
