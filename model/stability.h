// How stable a model's attention is: what its heads did over the queries of an observed step.
#pragma once

#include <algorithm>
#include <cstdint>

namespace affine {

/// One head of one layer. Sums over the observed queries, so that steps can be added up; a query
/// whose scores are not finite counts in `non_finite` alone. p is the softmax over a query's
/// visible keys, w = alpha p sigma(lse - s_h) + beta what the key really weighs before the gate
/// (arXiv 2602.23057).
struct HeadStability {
  int64_t queries = 0;
  int64_t non_finite = 0;
  double entropy = 0.0;           // -sum_j p_j log p_j, nats
  double first_token_mass = 0.0;  // p_0
  double sink_mass = 0.0;         // 1 - sigma(lse - s_h); 0 with the plain softmax
  double weight_sum = 0.0;        // sum_j w_j; 1 with the plain softmax
  double negative_mass = 0.0;     // sum_j max(0, -w_j)
  double alpha = 0.0;             // alpha; 1 without affine scaling
  int64_t alpha_at_zero = 0;      // queries with alpha exactly 0
  int64_t alpha_at_one = 0;       // queries with alpha exactly 1, with affine scaling
  float alpha_ma = 1.0f;       // the mean that training left; drift is |alpha / queries - alpha_ma|
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
    sink_mass += other.sink_mass;
    weight_sum += other.weight_sum;
    negative_mass += other.negative_mass;
    alpha += other.alpha;
    alpha_at_zero += other.alpha_at_zero;
    alpha_at_one += other.alpha_at_one;
    alpha_ma = other.alpha_ma;
  }
  bool operator==(const HeadStability&) const = default;
};

}  // namespace affine
