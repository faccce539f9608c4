// From one row of logits to a token and its log-probabilities.
#pragma once

#include <cstdint>
#include <vector>

#include "model/language_model.h"
#include "model/runtime/kernels.h"
#include "model/sampling_params.h"

namespace affine {

/// One for each thread: it keeps working memory. Every result is a function of the row, the
/// parameters and the position; nothing is carried over from row to row.
class Sampler {
 public:
  Sampler(const Kernels& kernels, int32_t vocab_size);

  /// Draws the token at absolute `position`: temperature, then top-k (ties with the k-th stay),
  /// then top-p (smallest set of most likely tokens whose probability reaches it), then the inverse
  /// distribution function at UniformAt(seed, position). It takes tokens in descending order of
  /// logit, ties by ascending id, where top-k or top-p cuts; by ascending id where neither does,
  /// which spares a sort of the vocabulary. So one seed may draw another token under top_p = 1 than
  /// under a top_p just below it; the distribution is the same. `logits` [vocab] must be finite.
  /// Log-probabilities as params.top_log_probs asks.
  ScoredToken Sample(const float* logits, const SamplingParams& params, int64_t position);

  /// Log-probability, rank and, if `top_log_probs` > 0, the best alternatives of `id`. The sum of
  /// exponentials goes over 16 float32 lanes.
  ScoredToken Score(const float* logits, int32_t id, int32_t top_log_probs);

  /// False if any of `logits` [vocab] is NaN or infinite.
  bool AllFinite(const float* logits) const { return kernels_.all_finite(logits, vocab_size_); }

 private:
  int32_t Greedy(const float* logits) const;
  int32_t Draw(const float* logits, const SamplingParams& params, int64_t position);
  int32_t DrawFromAll(const float* logits, double u);
  void Nucleus(const float* logits, const SamplingParams& params);
  void SortBest(const float* logits, size_t count);

  const Kernels& kernels_;
  int32_t vocab_size_;
  std::vector<float> weights_;       // [vocab] exponentials
  std::vector<int32_t> candidates_;  // ids
};

}  // namespace affine
