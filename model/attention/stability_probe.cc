#include "model/attention/stability_probe.h"

#include <cmath>

namespace affine {
namespace {

/// The slice's first observed row, among the step's rows.
int64_t FirstRow(const AttentionSlice& slice) {
  return slice.first_row + slice.rows - slice.observed_rows;
}

}  // namespace

void StabilityProbe::Observe(const Call& call, PagedCoreCpu& core, WorkerTeam& team) const {
  const std::vector<float> negative_mass = NegativeMass(call, core);
  const int64_t heads = shape_.num_heads;
  team.ParallelFor(static_cast<int64_t>(call.batch.slices.size()) * heads, [&](int64_t item, int) {
    const AttentionSlice& slice = call.batch.slices[item / heads];
    const int64_t head = item % heads;
    for (int64_t i = 0; i < slice.observed_rows; ++i) {
      const size_t observed = (slice.first_observed + i) * heads + head;
      HeadStability query = OneQuery(call, FirstRow(slice) + i, head, observed);
      if (query.queries > 0) query.negative_mass = negative_mass[observed];
      slice.stability[call.layer * heads + head].Add(query);
    }
  });
}

// Only affine scaling can weigh a key negatively; without it there is nothing to look at twice.
std::vector<float> StabilityProbe::NegativeMass(const Call& call, PagedCoreCpu& core) const {
  const int64_t heads = shape_.num_heads;
  std::vector<float> mass(call.statistics.size(), 0.0f);
  if (!spec_.affine) return mass;
  std::vector<PagedCoreCpu::AffineWeight> weights(mass.size());
  for (const AttentionSlice& slice : call.batch.slices) {
    for (int64_t i = 0; i < slice.observed_rows * heads; ++i) {
      const int64_t row = FirstRow(slice) + i / heads, head = i % heads;
      const HeadWeights w = epilogue_.Weights(call.epilogue, row, head, call.batch.positions[row]);
      weights[slice.first_observed * heads + i] = {w.alpha * w.scale, w.beta,
                                                   call.epilogue.log_sum_exp[row * heads + head]};
    }
  }
  core.NegativeMass(call.batch, call.input, call.cache, weights.data(), mass.data());
  return mass;
}

HeadStability StabilityProbe::OneQuery(const Call& call, int64_t row, int64_t head,
                                       size_t observed) const {
  const int64_t position = call.batch.positions[row];
  const ScoreStatistics& statistics = call.statistics[observed];
  const HeadWeights weights = epilogue_.Weights(call.epilogue, row, head, position);
  const float weight_sum =
      weights.alpha * weights.scale + weights.beta * static_cast<float>(position + 1);
  HeadStability query;
  query.alpha_ma = epilogue_.alpha_ma(head);
  if (!std::isfinite(statistics.entropy) || !std::isfinite(weight_sum)) {
    query.non_finite = 1;
    return query;
  }
  query.queries = 1;
  query.entropy = statistics.entropy;
  query.first_token_mass = statistics.first_token_mass;
  query.mean_score = statistics.mean_score;
  query.largest_score = statistics.largest_score;
  query.sink_mass = 1.0 - weights.scale;
  query.weight_sum = weight_sum;
  query.weight_sums.Count(weight_sum);
  query.alpha = weights.alpha;
  query.alpha_squared = static_cast<double>(weights.alpha) * weights.alpha;
  query.alpha_at_zero = weights.alpha == 0.0f ? 1 : 0;
  query.alpha_at_one = spec_.affine && weights.alpha == 1.0f ? 1 : 0;
  return query;
}

}  // namespace affine
