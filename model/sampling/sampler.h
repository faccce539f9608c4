// From one row of logits to a token and its log-probabilities.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/language_model.h"
#include "model/runtime/kernels.h"
#include "model/sampling/candidates.h"
#include "model/sampling/logit_shaper.h"
#include "model/sampling/tokens_so_far.h"
#include "model/sampling_params.h"

namespace affine {

/// One for each thread: it keeps working memory. Every result is a function of the row, the
/// parameters, the position and the tokens before it; nothing is carried over from row to row.
class Sampler {
 public:
  Sampler(const Kernels& kernels, int32_t vocab_size);

  /// Draws the token at absolute `position`: LogitShaper, temperature, the cuts min-p, top-k, top-p
  /// and typical-p as Candidates has them, then the inverse distribution function at
  /// UniformAt(seed, position). It takes tokens in descending order of logit, ties by ascending id,
  /// where top-k or top-p cuts; by ascending id where neither does, which spares a sort of the
  /// vocabulary. So one seed may draw another token under top_p = 1 than under a top_p just below
  /// it; the distribution is the same. `logits` [vocab] must be finite. `so_far` is looked at with
  /// params.reads_tokens(); of `mask`, if not empty, an id is drawn. Log-probabilities as
  /// params.top_log_probs asks, of `logits` as they are.
  ScoredToken Sample(const float* logits, const SamplingParams& params, int64_t position,
                     const TokensSoFar& so_far = {}, std::span<const uint32_t> mask = {});

  /// Log-probability, rank and, if `top_log_probs` > 0, the best alternatives of `id`. The sum of
  /// exponentials goes over 16 float32 lanes.
  ScoredToken Score(const float* logits, int32_t id, int32_t top_log_probs);

  /// False if any of `logits` [vocab] is NaN or infinite.
  bool AllFinite(const float* logits) const { return kernels_.all_finite(logits, vocab_size_); }

 private:
  int32_t Choose(const float* logits, const SamplingParams& params, int64_t position,
                 const TokensSoFar& so_far, std::span<const uint32_t> mask);
  int32_t Draw(const float* logits, float max, const SamplingParams& params, double u);
  int32_t DrawFromAll(double u) const;
  void Cut(const WeighedRow& row, const SamplingParams& params);
  ScoredToken ScoreWith(const float* logits, int32_t id, int32_t top_log_probs,
                        std::span<const int32_t> log_prob_ids);

  const Kernels& kernels_;
  int32_t vocab_size_;
  std::vector<float> weights_;  // [vocab] exponentials
  LogitShaper shaper_;
  Candidates candidates_;
};

}  // namespace affine
