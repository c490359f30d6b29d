#include "progress_estimate.hpp"

#include "slope.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace solve {

namespace {

constexpr std::size_t most_samples = 256;
constexpr std::size_t fewest_samples = 8;

}  // namespace

void ProgressEstimate::add(const blockjacobi::SolveProgress& progress, double seconds) {
  if (!(progress.residual > 0.0) || !std::isfinite(progress.residual)) return;
  log_target_ = std::log(progress.target);
  last_ = Sample{static_cast<double>(progress.iteration), std::log(progress.residual), seconds};
  if (seen_++ % stride_ != 0) return;
  samples_.push_back(*last_);
  if (samples_.size() < most_samples) return;
  for (std::size_t k = 0; 2 * k < samples_.size(); ++k) samples_[k] = samples_[2 * k];
  samples_.resize(samples_.size() / 2);
  stride_ *= 2;
}

double ProgressEstimate::share_done() const {
  if (!last_ || !std::isfinite(log_target_)) return 0.0;
  const double way = samples_.front().log_residual - log_target_;
  return way > 0.0 ? std::clamp((samples_.front().log_residual - last_->log_residual) / way, 0.0, 1.0) : 1.0;
}

std::optional<double> ProgressEstimate::seconds_left() const {
  if (samples_.size() < fewest_samples || !std::isfinite(log_target_)) return std::nullopt;
  const auto first = std::find_if(samples_.begin(), samples_.end(), [this](const Sample& sample) {
    return sample.iteration >= 0.5 * (samples_.front().iteration + last_->iteration);
  });
  std::vector<Point> points;
  std::for_each(first, samples_.end(), [&](const Sample& sample) {
    points.push_back({sample.iteration, sample.log_residual});
  });
  const double rate = slope(points);
  if (!(rate < 0.0) || !(last_->iteration > first->iteration)) return std::nullopt;
  const double iterations = std::max(0.0, last_->log_residual - log_target_) / -rate;
  return iterations * (last_->seconds - first->seconds) / (last_->iteration - first->iteration);
}

}  // namespace solve
