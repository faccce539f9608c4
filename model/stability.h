// How stable a model's attention is: what its heads did over the queries of an observed step.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace affine {

/// How often each weight sum occurs: bin 0 is below -0.05, bin i from 1 to 21 is within 0.05 of
/// (i - 1) / 10, bin 22 is above 2.05 - so that 1, the sum of a softmax, lies inside a bin.
class WeightSumHistogram {
 public:
  static constexpr size_t kBins = 23;
  void Count(double weight_sum) {
    const double place = std::floor(weight_sum * 10.0 + 1.5);
    ++counts_[static_cast<size_t>(std::clamp(place, 0.0, double{kBins - 1}))];
  }
  void Add(const WeightSumHistogram& other) {
    for (size_t i = 0; i < kBins; ++i) counts_[i] += other.counts_[i];
  }
  void Subtract(const WeightSumHistogram& other) {
    for (size_t i = 0; i < kBins; ++i) counts_[i] -= other.counts_[i];
  }
  const std::array<uint32_t, kBins>& counts() const { return counts_; }
  bool operator==(const WeightSumHistogram&) const = default;

 private:
  std::array<uint32_t, kBins> counts_{};
};

/// One head of one layer. Sums over the observed queries, so that steps can be added up; a query
/// whose scores are not finite counts in `non_finite` alone. p is the softmax over a query's
/// visible keys, w = alpha p sigma(lse - s_h) + beta what the key really weighs before the gate
/// (arXiv 2602.23057).
struct HeadStability {
  int64_t queries = 0;
  int64_t non_finite = 0;
  double entropy = 0.0;           // -sum_j p_j log p_j, nats
  double first_token_mass = 0.0;  // p_0
  double mean_score = 0.0;        // mean over the visible keys of q k / sqrt(head_dim)
  double sink_mass = 0.0;         // 1 - sigma(lse - s_h); 0 with the plain softmax
  double weight_sum = 0.0;        // sum_j w_j; 1 with the plain softmax
  double negative_mass = 0.0;     // sum_j max(0, -w_j)
  double alpha = 0.0;             // alpha; 1 without affine scaling
  double alpha_squared = 0.0;
  int64_t alpha_at_zero = 0;  // queries with alpha exactly 0
  int64_t alpha_at_one = 0;   // queries with alpha exactly 1, with affine scaling
  float alpha_ma = 1.0f;      // the mean that training left; drift is |alpha / queries - alpha_ma|
  WeightSumHistogram weight_sums{};
  float largest_score = 0.0f;  // largest q k / sqrt(head_dim) of any query; 0 without queries

  void Add(const HeadStability& other) {
    if (other.queries > 0) {
      largest_score =
          queries > 0 ? std::max(largest_score, other.largest_score) : other.largest_score;
    }
    queries += other.queries;
    non_finite += other.non_finite;
    entropy += other.entropy;
    first_token_mass += other.first_token_mass;
    mean_score += other.mean_score;
    sink_mass += other.sink_mass;
    weight_sum += other.weight_sum;
    negative_mass += other.negative_mass;
    alpha += other.alpha;
    alpha_squared += other.alpha_squared;
    alpha_at_zero += other.alpha_at_zero;
    alpha_at_one += other.alpha_at_one;
    weight_sums.Add(other.weight_sums);
    alpha_ma = other.alpha_ma;
  }
  /// What was added since `before`, an earlier state of this; the largest score is of all.
  HeadStability Since(const HeadStability& before) const {
    HeadStability added = *this;
    added.queries -= before.queries;
    added.non_finite -= before.non_finite;
    added.entropy -= before.entropy;
    added.first_token_mass -= before.first_token_mass;
    added.mean_score -= before.mean_score;
    added.sink_mass -= before.sink_mass;
    added.weight_sum -= before.weight_sum;
    added.negative_mass -= before.negative_mass;
    added.alpha -= before.alpha;
    added.alpha_squared -= before.alpha_squared;
    added.alpha_at_zero -= before.alpha_at_zero;
    added.alpha_at_one -= before.alpha_at_one;
    added.weight_sums.Subtract(before.weight_sums);
    return added;
  }
  bool operator==(const HeadStability&) const = default;
};

}  // namespace affine
