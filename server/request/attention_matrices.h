// Statistics of the attention by layer and head, as every front end shows them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/stability.h"

namespace affine {

/// `sum`, of all of `head`'s queries, for one of them; 0 where there were none.
inline double MeanOf(const HeadStability& head, double sum) {
  return head.queries > 0 ? sum / static_cast<double>(head.queries) : 0.0;
}

/// Fields carry the names and meanings of affine.v1.AttentionHeads: [layers, heads], row by row,
/// but `weight_sum_counts` [layers, WeightSumHistogram::kBins].
struct AttentionMatrices {
  int32_t num_layers = 0;
  int32_t num_heads = 0;
  std::vector<int64_t> queries;
  std::vector<int64_t> non_finite;
  std::vector<double> entropy;
  std::vector<double> first_token_mass;
  std::vector<double> mean_score;
  std::vector<double> largest_score;
  std::vector<double> sink_mass;
  std::vector<double> weight_sum;
  std::vector<double> negative_mass;
  // Empty without affine scaling.
  std::vector<double> alpha;
  std::vector<double> alpha_deviation;
  std::vector<double> alpha_at_zero;
  std::vector<double> alpha_at_one;
  std::vector<double> alpha_ma;
  std::vector<int64_t> weight_sum_counts;
};

/// `heads`: [layers, num_heads]. `affine`: the model scales its weights.
AttentionMatrices MatricesOf(std::span<const HeadStability> heads, int32_t num_heads, bool affine);

/// [kBins - 1]: where one bin of weight_sum_counts ends and the next begins.
std::vector<double> WeightSumEdges();

}  // namespace affine
