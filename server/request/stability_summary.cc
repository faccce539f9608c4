#include "server/request/stability_summary.h"

#include <algorithm>
#include <cmath>

namespace affine {

namespace {

constexpr double kHighest = 1.0;
constexpr double kLowest = -1.0;

/// The head with the highest (or lowest) `statistic` among those with queries.
template <typename Statistic>
std::optional<WorstHead> WorstOf(std::span<const HeadStability> heads, int32_t num_heads,
                                 double direction, Statistic statistic) {
  std::optional<WorstHead> worst;
  for (size_t i = 0; i < heads.size(); ++i) {
    if (heads[i].queries == 0) continue;
    const double value = statistic(heads[i]);
    if (worst && direction * value <= direction * worst->value) continue;
    worst = {value, static_cast<int32_t>(i / num_heads), static_cast<int32_t>(i % num_heads)};
  }
  return worst;
}

double DriftOf(const HeadStability& head) {
  return std::abs(MeanOf(head, head.alpha) - static_cast<double>(head.alpha_ma));
}

StabilitySummary::Alpha AlphaOf(std::span<const HeadStability> heads, int32_t num_heads,
                                const HeadStability& sum) {
  StabilitySummary::Alpha alpha;
  alpha.mean = MeanOf(sum, sum.alpha);
  alpha.at_zero = MeanOf(sum, static_cast<double>(sum.alpha_at_zero));
  alpha.at_one = MeanOf(sum, static_cast<double>(sum.alpha_at_one));
  alpha.worst_drift = WorstOf(heads, num_heads, kHighest, DriftOf);
  int64_t observed = 0;
  for (const HeadStability& head : heads) {
    if (head.queries == 0) continue;
    ++observed;
    alpha.drift += DriftOf(head);
  }
  if (observed > 0) alpha.drift /= static_cast<double>(observed);
  return alpha;
}

}  // namespace

StabilitySummary Summarize(std::span<const HeadStability> heads, int32_t num_heads, bool affine) {
  StabilitySummary summary;
  HeadStability sum;
  for (const HeadStability& head : heads) {
    sum.Add(head);
    summary.queries = std::max(summary.queries, head.queries + head.non_finite);
  }
  summary.entropy = MeanOf(sum, sum.entropy);
  summary.first_token_mass = MeanOf(sum, sum.first_token_mass);
  summary.non_finite = sum.non_finite;
  summary.worst_entropy = WorstOf(heads, num_heads, kLowest, [](const HeadStability& head) {
    return MeanOf(head, head.entropy);
  });
  summary.worst_first_token_mass =
      WorstOf(heads, num_heads, kHighest,
              [](const HeadStability& head) { return MeanOf(head, head.first_token_mass); });
  summary.largest_score = WorstOf(heads, num_heads, kHighest, [](const HeadStability& head) {
    return static_cast<double>(head.largest_score);
  });
  if (affine) summary.alpha = AlphaOf(heads, num_heads, sum);
  return summary;
}

}  // namespace affine
