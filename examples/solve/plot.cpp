#include "plot.hpp"
#include "report.hpp"
#include "usage_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace solve {

namespace {

bool is_control(char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; }

/// A string of gnuplot's in which nothing has a meaning but the quote and the end of the line.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, is_control(c) ? '?' : c);
  return result + "'";
}

/// Whether a logarithmic axis has a place for it.
bool is_drawn(double residual) { return residual > 0.0 && std::isfinite(residual); }

/// What becomes one line of the picture.
struct Curve {
  std::string title;
  std::size_t color = 0;               ///< one of gnuplot's eight
  int dash = 1;                        ///< as gnuplot numbers them, 1 for none
  std::vector<double> residuals = {};  ///< relative
};

Curve with_residuals(Curve curve, const blockjacobi::SolveReport& report) {
  curve.residuals = report.history;
  for (double& residual : curve.residuals) residual /= report.rhs_norm;
  return curve;
}

int dash_of(Coarse coarse) { return coarse == Coarse::none ? 1 : coarse == Coarse::relaxed ? 3 : 2; }

/// A colour for each choice of blocks, dashes for the coarse level.
std::vector<Curve> curves_of(const std::vector<Candidate>& candidates) {
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates)
    if (candidate.options.coarse == Coarse::none) names.push_back(candidate.name);
  std::ranges::sort(names);
  std::vector<Curve> curves;
  for (const Candidate& candidate : candidates) {
    const ColumnSolve* worst = candidate.attempt.worst_column();
    const auto blocks = std::ranges::find(names, candidate.name.substr(0, candidate.name.find(',')));
    const auto color = static_cast<std::size_t>(blocks - names.begin()) + 1;
    if (worst)
      curves.push_back(with_residuals({candidate.name, color, dash_of(candidate.options.coarse)}, worst->report));
  }
  return curves;
}

std::vector<Curve> curves_of(const std::vector<ColumnSolve>& columns) {
  std::vector<Curve> curves;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const std::string title = columns.size() > 1 ? fmt::format("column {}", k + 1) : std::string("residual");
    curves.push_back(with_residuals({title, k % 8 + 1}, columns[k].report));
  }
  return curves;
}

bool has_points(const Curve& curve) { return std::ranges::any_of(curve.residuals, is_drawn); }

/// The last iteration that the picture shows, where curves that came to nothing would press those that converged
/// against the axis; nothing where it shows all.
std::optional<std::size_t> end_of_axis(const std::vector<Curve>& curves, double rtol) {
  constexpr std::size_t most_times_as_long = 3, always = 100;
  std::size_t converged = 0, longest = 0;
  for (const Curve& curve : curves) {
    longest = std::max(longest, curve.residuals.size());
    if (!curve.residuals.empty() && curve.residuals.back() <= rtol)
      converged = std::max(converged, curve.residuals.size());
  }
  const std::size_t end = std::max(always, most_times_as_long * converged);
  return converged > 0 && longest > end ? std::optional(end) : std::nullopt;
}

/// What gnuplot reads. The folder is named, since a name that begins with a bar would be a command.
std::string script(const std::filesystem::path& path, const Outcome& outcome, const std::vector<Curve>& curves,
                   double rtol) {
  std::string text = fmt::format(
      "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) set terminal pngcairo noenhanced size 1100,600; else set terminal "
      "png noenhanced size 1100,600\nset output {}\nset title {}\nset logscale y\nset format y '%.0e'\n"
      "set xlabel 'iteration'\nset ylabel '||r|| / ||b||'\nset grid\n"
      "set key outside right top Left reverse\n",
      quoted(std::filesystem::absolute(path).string()),
      quoted(fmt::format("{}, {}", std::filesystem::path(outcome.matrix).filename().string(),
                         traits(outcome.solver).name)));
  if (const auto end = end_of_axis(curves, rtol)) text += fmt::format("set xrange [0:{}]\n", *end);
  std::string lines;
  for (std::size_t k = 0; k < curves.size(); ++k) {
    text += fmt::format("$residuals{} << end\n", k);
    for (std::size_t i = 0; i < curves[k].residuals.size(); ++i)
      if (is_drawn(curves[k].residuals[i])) text += fmt::format("{} {}\n", i, curves[k].residuals[i]);
    text += "end\n";
    lines += fmt::format("$residuals{} with lines linewidth 2 linetype {} dashtype {} title {}, ", k, curves[k].color,
                         curves[k].dash, quoted(curves[k].title));
  }
  return text + fmt::format("plot {}{} with lines linecolor rgb 'gray40' title 'rtol'\n", lines, rtol);
}

/// Hands `text` to gnuplot, which may end before it has read all of it: an error then, no signal.
void run_gnuplot(const std::string& text) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  if (std::FILE* const gnuplot = popen("gnuplot -d >/dev/null", "w")) {
    std::fwrite(text.data(), 1, text.size(), gnuplot);
    pclose(gnuplot);
  }
  std::signal(SIGPIPE, before);
}

bool is_named_png(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension == ".png";
}

/// Whether the last chunk of a PNG file is there: gnuplot does not tell when the disk is full.
bool is_whole_png(const std::filesystem::path& path) {
  constexpr std::array<char, 8> end{'I', 'E', 'N', 'D', '\xAE', '\x42', '\x60', '\x82'};
  std::array<char, 8> found{};
  std::ifstream file(path, std::ios::binary);
  file.seekg(-static_cast<std::streamoff>(found.size()), std::ios::end);
  return file.read(found.data(), found.size()) && found == end;
}

}  // namespace

void require_plotter(const std::filesystem::path& path) {
  if (std::ranges::any_of(path.string(), is_control))
    throw UsageError(fmt::format("--plot {}: gnuplot takes no name with a control character", path.string()));
  if (!is_named_png(path))
    throw UsageError(fmt::format("--plot {}: the name must end in .png, the only format of pictures", path.string()));
  if (std::system("command -v gnuplot >/dev/null") != 0)
    throw UsageError(
        fmt::format("--plot {}: needs the program gnuplot, which is not in PATH (Debian: gnuplot-nox)", path.string()));
}

void write_plot(const std::filesystem::path& path, const Outcome& outcome, double rtol) {
  auto curves = outcome.candidates.empty() ? curves_of(outcome.attempt.columns) : curves_of(outcome.candidates);
  std::erase_if(curves, [](const Curve& curve) { return !has_points(curve); });
  if (curves.empty())
    return warn(fmt::format("--plot {}: there are no residuals to draw, nothing is written", path.string()));
  const bool is_open = std::ofstream(path, std::ios::binary).is_open();
  if (is_open) run_gnuplot(script(path, outcome, curves, rtol));
  if (!is_open || !is_whole_png(path))
    throw UsageError(fmt::format("--plot: '{}' was not written whole", path.string()));
}

}  // namespace solve
