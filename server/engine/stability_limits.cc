#include "server/engine/stability_limits.h"

#include <cmath>

namespace affine {
namespace {

double MeanEntropy(std::span<const HeadStability> layer) {
  double sum = 0.0, queries = 0.0;
  for (const HeadStability& head : layer) {
    sum += head.entropy;
    queries += static_cast<double>(head.queries);
  }
  return sum / queries;  // NaN without queries: below no limit
}

}  // namespace

std::string_view NameOf(StabilityLimit limit) {
  switch (limit) {
    case StabilityLimit::kLargestScore:
      return "largest_score";
    case StabilityLimit::kEntropy:
      return "entropy";
    case StabilityLimit::kAlphaDrift:
      return "alpha_drift";
    case StabilityLimit::kNonFinite:
      return "non_finite";
  }
  return "non_finite";
}

std::optional<LimitBreach> FindBreach(std::span<const HeadStability> heads, int32_t num_heads,
                                      const StabilityLimits& limits, JudgedLimits judged) {
  const auto layers = static_cast<int32_t>(heads.size()) / num_heads;
  for (int32_t layer = 0; layer < layers; ++layer) {
    const auto row = heads.subspan(static_cast<size_t>(layer) * num_heads, num_heads);
    for (int32_t h = 0; h < num_heads; ++h) {
      const HeadStability& head = row[h];
      if (head.queries == 0) continue;
      if (judged.scores && limits.largest_score && head.largest_score > *limits.largest_score) {
        return LimitBreach{StabilityLimit::kLargestScore, layer, h, head.largest_score,
                           *limits.largest_score};
      }
      const double drift = std::abs(head.alpha / static_cast<double>(head.queries) - head.alpha_ma);
      if (judged.drift && limits.alpha_drift && head.queries >= StabilityLimits::kDriftQueries &&
          drift > *limits.alpha_drift) {
        return LimitBreach{StabilityLimit::kAlphaDrift, layer, h, drift, *limits.alpha_drift};
      }
    }
    if (!judged.entropy || !limits.entropy) continue;
    const double entropy = MeanEntropy(row);
    if (entropy < *limits.entropy) {
      return LimitBreach{StabilityLimit::kEntropy, layer, -1, entropy, *limits.entropy};
    }
  }
  return std::nullopt;
}

}  // namespace affine
