#pragma once

#include "ablations/blocked_inverse.cuh"
#include "ablations/launch.cuh"

namespace bench {

/// Whether one launch has what the largest panel needs, or every panel a launch with what it needs.
enum class Resources { fixed, dynamic };
/// Whether columns are interchanged in the last copy, or in place.
enum class ColumnInterchange { folded, explicit_pass };

template <class T, int NB, template <class, int> class Correction>
void run_blocked_inverse(const AblationBatch<T>& b, Resources resources, ColumnInterchange interchange) {
  T* const result = interchange == ColumnInterchange::folded ? b.a : b.x;
  const auto bytes = [](int rows) { return static_cast<std::size_t>(rows * RegisterPanel<T, NB>::ld) * sizeof(T); };
  const int panels = b.n / NB, step = resources == Resources::dynamic ? 1 : panels;
  for (int i = 0; i < panels; i += step) {
    const int rows = (i + step) * NB;
    const LaunchShape<T> upper{(rows + 31) / 32 * 32, bytes(rows)};
    upper(invert_upper<T, NB, Correction>, b.count, 1, b.a, b.x, result, b.n, i, i + step);
  }
  for (int i = 0; i < panels; i += step) {
    const LaunchShape<T> lower{b.n, bytes((i + step) * NB)};
    lower(invert_lower<T, NB, Correction>, b.count, 1, b.a, b.x, result, b.n, i, i + step);
  }
  const LaunchShape<T> columns{b.n, 0};
  columns(interchange_columns<T>, b.count, 1, static_cast<const T*>(result), b.x, static_cast<const int*>(b.ipiv), b.n);
}

template <class T>
std::vector<Trial<T>> blocked_inverse_trials() {
  using enum Resources;
  using enum ColumnInterchange;
  using Batch = AblationBatch<T>;
  std::vector<Trial<T>> trials;
  const auto add_width = [&](auto width) {
    constexpr int NB = width;
    const auto add = [&](const std::string& name, std::function<void(const Batch&)> run) {
      trials.push_back({"getri", name, std::move(run), 0, NB});
    };
    add("timely", [](const Batch& b) { run_blocked_inverse<T, NB, TimelyCorrection>(b, fixed, folded); });
    add("delayed_explicit",
        [](const Batch& b) { run_blocked_inverse<T, NB, DelayedCorrection>(b, fixed, explicit_pass); });
    add("delayed", [](const Batch& b) { run_blocked_inverse<T, NB, DelayedCorrection>(b, fixed, folded); });
    add("delayed_dynamic", [](const Batch& b) { run_blocked_inverse<T, NB, DelayedCorrection>(b, dynamic, folded); });
  };
  add_width(std::integral_constant<int, 8>());
  add_width(std::integral_constant<int, 16>());
  add_width(std::integral_constant<int, 32>());
  return trials;
}

}  // namespace bench
