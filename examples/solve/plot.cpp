#include "plot.hpp"
#include "usage_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace solve {

namespace {

/// A string of gnuplot's in which nothing has a meaning but the quote.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

/// Whether a logarithmic axis has a place for it.
bool is_drawn(double residual) { return residual > 0.0 && std::isfinite(residual); }

/// What gnuplot reads. The folder is named, since a name that begins with a bar would be a command.
std::string script(const std::filesystem::path& path, const Outcome& outcome, double rtol) {
  std::string text = fmt::format(
      "set terminal png noenhanced size 900,600\nset output {}\nset title {}\nset logscale y\nset format y '%.0e'\n"
      "set xlabel 'iteration'\nset ylabel '||r||'\nset grid\n$residuals << end\n",
      quoted(std::filesystem::absolute(path).string()),
      quoted(
          fmt::format("{}, {}", std::filesystem::path(outcome.matrix).filename().string(), to_string(outcome.solver))));
  for (std::size_t i = 0; i < outcome.solve->history.size(); ++i)
    if (is_drawn(outcome.solve->history[i])) text += fmt::format("{} {}\n", i, outcome.solve->history[i]);
  return text + fmt::format("end\nplot $residuals with lines title 'residual', {} with lines title 'target'\n",
                            rtol * outcome.solve->rhs_norm);
}

}  // namespace

void require_plotter(const std::filesystem::path& path) {
  if (std::system("command -v gnuplot >/dev/null") != 0)
    throw UsageError(
        fmt::format("--plot {}: needs the program gnuplot, which is not in PATH (Debian: gnuplot-nox)", path.string()));
}

void write_plot(const std::filesystem::path& path, const Outcome& outcome, double rtol) {
  if (!outcome.solve || std::ranges::none_of(outcome.solve->history, is_drawn))
    throw UsageError(fmt::format("--plot {}: there are no residuals to draw", path.string()));
  const std::string text = script(path, outcome, rtol);
  std::FILE* const gnuplot = popen("gnuplot", "w");
  const bool written = gnuplot != nullptr && std::fwrite(text.data(), 1, text.size(), gnuplot) == text.size();
  if (gnuplot == nullptr || pclose(gnuplot) != 0 || !written)
    throw UsageError(fmt::format("--plot: '{}' was not written whole", path.string()));
}

}  // namespace solve
