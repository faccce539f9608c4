#include "server/scheduler/step_time_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace affine {
namespace {

constexpr double kFirstVariance = 4.0;  // nothing is known: a factor of e^2 is no surprise
constexpr double kNoise = 0.04;         // of one step: a fifth of its time
// Costs drift with clocks and neighbours, those together that make up a step; at this rate steps of
// one kind come to be corrected by a tenth to a fifth of their surprise.
constexpr double kDrift = 0.003;
constexpr double kMostSurprise = 3.0;  // standard deviations; beyond it a step counts as an outlier
constexpr double kLeastCost = 1e-15, kMostCost = 1e6;  // seconds

int64_t KeysOf(int64_t start, int64_t count) { return count * start + count * (count + 1) / 2; }

}  // namespace

void StepWork::AddDecode(int32_t start, int32_t count) {
  decode_tokens += count;
  decode_keys += KeysOf(start, count);
}

void StepWork::AddPrefill(int32_t start, int32_t count) {
  prefill_tokens += count;
  prefill_keys += KeysOf(start, count);
}

StepTimeModel::StepTimeModel() : costs_{2e-2, 2e-3, 1e-6, 1e-3, 1e-6} {
  for (int i = 0; i < kNumParts; ++i) covariance_[i][i] = kFirstVariance;
}

StepTimeModel::Parts StepTimeModel::AmountsOf(const StepWork& work) {
  return {1.0, static_cast<double>(work.decode_tokens), static_cast<double>(work.decode_keys),
          static_cast<double>(work.prefill_tokens), static_cast<double>(work.prefill_keys)};
}

double StepTimeModel::Seconds(const StepWork& work) const {
  const Parts amounts = AmountsOf(work);
  double seconds = 0.0;
  for (int i = 0; i < kNumParts; ++i) seconds += costs_[i] * amounts[i];
  return seconds;
}

// A Kalman filter on the logarithms of the costs: the logarithm of a step's time changes with that
// of a cost by the cost's share in it.
void StepTimeModel::Learn(const StepWork& work, double seconds) {
  if (!(seconds > 0.0) || !std::isfinite(seconds)) return;
  ++learned_;
  const Parts amounts = AmountsOf(work);
  const double expected = Seconds(work);
  Parts shares;
  for (int i = 0; i < kNumParts; ++i) shares[i] = costs_[i] * amounts[i] / expected;
  Parts with_step;  // covariance of each cost's logarithm with that of the step's time
  double variance = kNoise;
  for (int i = 0; i < kNumParts; ++i) {
    with_step[i] = std::inner_product(shares.begin(), shares.end(), covariance_[i].begin(), 0.0);
    variance += shares[i] * with_step[i];
  }
  const double most = kMostSurprise * std::sqrt(variance);
  const double surprise = std::clamp(std::log(seconds / expected), -most, most);
  for (int i = 0; i < kNumParts; ++i) {
    const double change = with_step[i] / variance * surprise;
    costs_[i] = std::clamp(costs_[i] * std::exp(change), kLeastCost, kMostCost);
    for (int j = 0; j < kNumParts; ++j) {
      covariance_[i][j] += kDrift * shares[i] * shares[j] - with_step[i] * with_step[j] / variance;
    }
  }
}

double StepTimeModel::PrefillSeconds(int32_t start, int32_t count) const {
  return costs_[kPrefillToken] * count +
         costs_[kPrefillKey] * static_cast<double>(KeysOf(start, count));
}

// Solves PrefillSeconds(start, n) = n a + n^2 b = seconds for n.
int32_t StepTimeModel::PrefillWithin(double seconds, int32_t start) const {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  if (!(seconds > 0.0)) return 0;
  if (std::isinf(seconds)) return kMost;
  const double b = costs_[kPrefillKey] / 2.0;
  const double a = costs_[kPrefillToken] + costs_[kPrefillKey] * (start + 0.5);
  const double tokens = 2.0 * seconds / (a + std::sqrt(a * a + 4.0 * b * seconds));
  return tokens < kMost ? static_cast<int32_t>(tokens) : kMost;
}

double StepTimeModel::FixedDecodeTokens(const StepWork& work) const {
  const double keys = static_cast<double>(work.decode_keys) / work.decode_tokens;
  return costs_[kStep] / (costs_[kDecodeToken] + keys * costs_[kDecodeKey]);
}

}  // namespace affine
