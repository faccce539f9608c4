#include "server/scheduler/step_cost.h"

#include <algorithm>

namespace affine {
namespace {

constexpr double kRate = 1.0 / 128.0;  // of the newest step, among all
// A step that took more than so many times the mean was held up by something else.
constexpr double kMostOverMean = 4.0;
constexpr int64_t kStepsBeforeClipping = 8;
// Rows squared: the variance at which measurement and assumption weigh the same.
constexpr double kAssumedWeight = 0.25;
constexpr double kLeastOfAssumed = 1e-3;  // of a row's assumed cost, so that none is free

}  // namespace

void StepCost::Note(int32_t rows, double seconds) {
  if (!(seconds > 0.0)) return;
  if (steps_ >= kStepsBeforeClipping) seconds = std::min(seconds, kMostOverMean * mean_seconds_);
  ++steps_;
  const double rate = std::max(kRate, 1.0 / static_cast<double>(steps_));
  const double more_rows = rows - mean_rows_, more_seconds = seconds - mean_seconds_;
  mean_rows_ += rate * more_rows;
  mean_seconds_ += rate * more_seconds;
  variance_ = (1.0 - rate) * (variance_ + rate * more_rows * more_rows);
  covariance_ = (1.0 - rate) * (covariance_ + rate * more_rows * more_seconds);
}

double StepCost::fixed_rows() const {
  if (steps_ == 0) return kAssumedRows;
  const double assumed = mean_seconds_ / (kAssumedRows + mean_rows_);
  const double fitted = (covariance_ + kAssumedWeight * assumed) / (variance_ + kAssumedWeight);
  const double each = std::max(fitted, kLeastOfAssumed * assumed);
  return std::max(0.0, mean_seconds_ / each - mean_rows_);
}

}  // namespace affine
