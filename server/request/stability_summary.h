// What one request's attention did, in a few figures.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/stability.h"
#include "server/request/attention_matrices.h"

namespace affine {

/// A statistic of the head where it is worst; of equals, the first.
struct WorstHead {
  double value = 0.0;
  int32_t layer = 0;
  int32_t head = 0;
  bool operator==(const WorstHead&) const = default;
};

/// Fields carry the names and meanings of affine.v1.StabilitySummary. Means are over all queries of
/// all heads, 0 where there were none; a worst head is absent then.
struct StabilitySummary {
  struct Alpha {
    double mean = 0.0;
    double at_zero = 0.0;  // shares of queries
    double at_one = 0.0;
    double drift = 0.0;  // mean over the heads that had queries
    std::optional<WorstHead> worst_drift;
  };
  int64_t queries = 0;  // positions, non-finite ones included
  double entropy = 0.0;
  std::optional<WorstHead> worst_entropy;  // lowest
  double first_token_mass = 0.0;
  std::optional<WorstHead> worst_first_token_mass;
  std::optional<WorstHead> largest_score;
  std::optional<Alpha> alpha;  // with affine scaling
  int64_t non_finite = 0;
  std::optional<AttentionMatrices> heads;  // left to the caller, who knows whether it is wanted
};

/// `heads`: [layers, num_heads], what one request's positions add up to. `affine`: the model scales
/// its weights.
StabilitySummary Summarize(std::span<const HeadStability> heads, int32_t num_heads, bool affine);

}  // namespace affine
