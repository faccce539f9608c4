#include "server/request/attention_matrices.h"

#include <algorithm>
#include <cmath>

namespace affine {

namespace {

constexpr size_t kBins = WeightSumHistogram::kBins;

void AppendAlpha(const HeadStability& head, AttentionMatrices& out) {
  const double mean = MeanOf(head, head.alpha);
  const double variance = MeanOf(head, head.alpha_squared) - mean * mean;
  // Nothing is known of a head that was never seen, its alpha_ma neither.
  const bool seen = head.queries > 0 || head.non_finite > 0;
  out.alpha.push_back(mean);
  out.alpha_deviation.push_back(std::sqrt(std::max(variance, 0.0)));
  out.alpha_at_zero.push_back(MeanOf(head, static_cast<double>(head.alpha_at_zero)));
  out.alpha_at_one.push_back(MeanOf(head, static_cast<double>(head.alpha_at_one)));
  out.alpha_ma.push_back(seen ? static_cast<double>(head.alpha_ma) : 0.0);
}

void Append(const HeadStability& head, AttentionMatrices& out) {
  out.queries.push_back(head.queries);
  out.non_finite.push_back(head.non_finite);
  out.entropy.push_back(MeanOf(head, head.entropy));
  out.first_token_mass.push_back(MeanOf(head, head.first_token_mass));
  out.mean_score.push_back(MeanOf(head, head.mean_score));
  out.largest_score.push_back(static_cast<double>(head.largest_score));
  out.sink_mass.push_back(MeanOf(head, head.sink_mass));
  out.weight_sum.push_back(MeanOf(head, head.weight_sum));
  out.negative_mass.push_back(MeanOf(head, head.negative_mass));
}

}  // namespace

AttentionMatrices MatricesOf(std::span<const HeadStability> heads, int32_t num_heads, bool affine) {
  AttentionMatrices matrices;
  matrices.num_heads = num_heads;
  matrices.num_layers = num_heads > 0 ? static_cast<int32_t>(heads.size() / num_heads) : 0;
  matrices.weight_sum_counts.resize(matrices.num_layers * kBins);
  for (size_t i = 0; i < heads.size(); ++i) {
    Append(heads[i], matrices);
    if (affine) AppendAlpha(heads[i], matrices);
    int64_t* row = matrices.weight_sum_counts.data() + i / num_heads * kBins;
    for (size_t bin = 0; bin < kBins; ++bin) row[bin] += heads[i].weight_sums.counts()[bin];
  }
  return matrices;
}

std::vector<double> WeightSumEdges() {
  std::vector<double> edges;
  // Of hundredths, so that each edge is the double that its decimal is read as.
  for (size_t i = 0; i + 1 < kBins; ++i) edges.push_back((10.0 * static_cast<double>(i) - 5) / 100);
  return edges;
}

}  // namespace affine
