// What a small model's attention did, in figures that are easy to add up.
#pragma once

#include <utility>
#include <vector>

#include "model/stability.h"
#include "server/request/stability_source.h"

namespace affine {

/// [2 layers, 2 heads] over 4 positions. Layer 1 met scores that were not finite: head 0 has none
/// else, head 1 two of each.
inline std::vector<HeadStability> ObservedHeads() {
  std::vector<HeadStability> heads(4);
  heads[0] = {.queries = 4,
              .entropy = 8,
              .first_token_mass = 1,
              .mean_score = 2,
              .sink_mass = 1,
              .weight_sum = 5,
              .negative_mass = 0.5,
              .alpha = 2,
              .alpha_squared = 1.5,
              .alpha_at_zero = 1,
              .alpha_at_one = 2,
              .alpha_ma = 0.25f,
              .largest_score = 3.5f};
  heads[1] = {.queries = 4,
              .entropy = 2,
              .first_token_mass = 3,
              .mean_score = -2,
              .weight_sum = 4,
              .alpha = 3,
              .alpha_squared = 2.25,
              .alpha_at_one = 1,
              .alpha_ma = 0.5f,
              .largest_score = 7};
  heads[2] = {.non_finite = 4, .alpha_ma = 0.75f};
  heads[3] = {.queries = 2,
              .non_finite = 2,
              .entropy = 1,
              .first_token_mass = 1,
              .weight_sum = 1,
              .alpha_at_zero = 2,
              .alpha_ma = 0.5f,
              .largest_score = -1};
  for (int i = 0; i < 4; ++i) {
    heads[0].weight_sums.Count(1.25);
    heads[1].weight_sums.Count(1.0);
  }
  heads[3].weight_sums.Count(-1);
  heads[3].weight_sums.Count(2);
  return heads;
}

/// Answers with what it was given.
class FixedStabilitySource final : public StabilitySource {
 public:
  explicit FixedStabilitySource(StabilitySnapshot snapshot) : snapshot_(std::move(snapshot)) {}
  StabilitySnapshot Snapshot() const override { return snapshot_; }

 private:
  const StabilitySnapshot snapshot_;
};

}  // namespace affine
