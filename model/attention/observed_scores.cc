#include "model/attention/observed_scores.h"

#include <algorithm>
#include <cmath>

namespace affine {

ObservedScores::ObservedScores(int64_t rows, int64_t part_keys)
    : part_keys_(part_keys), rows_(rows), scores_(rows * part_keys) {}

void ObservedScores::Keep(int64_t row, const float* scores, int64_t visible, int64_t begin) {
  Row& kept = rows_[row];
  if (begin == 0) kept = {.first_score = scores[0]};
  std::copy_n(scores, visible, scores_.data() + row * part_keys_);
  kept.visible = visible;
  kept.keys += visible;
}

void ObservedScores::Sum(int64_t row, const Part& part) {
  Row& kept = rows_[row];
  const float* scores = scores_.data() + row * part_keys_;
  const double part_max = part.max, old_max = part.old_max;
  double sum = 0.0, weighted = 0.0;
  for (int64_t j = 0; j < kept.visible; ++j) {
    sum += scores[j];
    weighted += static_cast<double>(part.weights[j]) * (scores[j] - part_max);
  }
  kept.score_sum += sum;
  const double max = std::max(part_max, old_max);
  double total = std::exp(part_max - max) * (weighted + (part_max - max) * part.sum);
  if (kept.keys > kept.visible) {
    total += std::exp(old_max - max) * (kept.weighted_sum + (old_max - max) * part.old_sum);
  }
  kept.weighted_sum = total;
}

ScoreStatistics ObservedScores::Of(int64_t row, float max, float sum) const {
  const Row& kept = rows_[row];
  const double log_sum = std::log(static_cast<double>(sum));
  return {static_cast<float>(log_sum - kept.weighted_sum / sum),
          static_cast<float>(std::exp(static_cast<double>(kept.first_score) - max - log_sum)),
          static_cast<float>(kept.score_sum / static_cast<double>(kept.keys)), max};
}

}  // namespace affine
