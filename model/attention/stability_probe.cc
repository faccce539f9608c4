#include "model/attention/stability_probe.h"

#include <cmath>

namespace affine {

void StabilityProbe::Observe(const Call& call, PagedCoreCpu& core, HeadStability* stability) const {
  const std::vector<float> negative_mass = NegativeMass(call, core);
  const auto slices = static_cast<int64_t>(call.batch.slices.size());
  for (int64_t slice = 0; slice < slices; ++slice) {
    for (int64_t head = 0; head < shape_.num_heads; ++head) {
      HeadStability query = OneQuery(call, slice, head);
      if (query.queries > 0) query.negative_mass = negative_mass[slice * shape_.num_heads + head];
      stability[head].Add(query);
    }
  }
}

// Only affine scaling can weigh a key negatively; without it there is nothing to look at twice.
std::vector<float> StabilityProbe::NegativeMass(const Call& call, PagedCoreCpu& core) const {
  const int64_t heads = shape_.num_heads;
  std::vector<float> mass(Size(call.batch, shape_), 0.0f);
  if (!spec_.affine) return mass;
  std::vector<PagedCoreCpu::AffineWeight> weights(mass.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto head = static_cast<int64_t>(i) % heads;
    const int64_t row = LastRow(call.batch.slices[i / heads]);
    const HeadWeights w = epilogue_.Weights(call.epilogue, row, head, call.batch.positions[row]);
    weights[i] = {w.alpha * w.scale, w.beta, call.epilogue.log_sum_exp[row * heads + head]};
  }
  core.NegativeMass(call.batch, call.input, call.cache, weights.data(), mass.data());
  return mass;
}

HeadStability StabilityProbe::OneQuery(const Call& call, int64_t slice, int64_t head) const {
  const int64_t row = LastRow(call.batch.slices[slice]), position = call.batch.positions[row];
  const ScoreStatistics& statistics = call.statistics[slice * shape_.num_heads + head];
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
  query.largest_score = statistics.largest_score;
  query.sink_mass = 1.0 - weights.scale;
  query.weight_sum = weight_sum;
  query.alpha = weights.alpha;
  query.alpha_at_zero = weights.alpha == 0.0f ? 1 : 0;
  query.alpha_at_one = spec_.affine && weights.alpha == 1.0f ? 1 : 0;
  return query;
}

}  // namespace affine
