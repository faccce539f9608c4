// What a request changes of the logits before anything is drawn from them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/sampling/logit_mask.h"
#include "model/sampling/tokens_so_far.h"
#include "model/sampling_params.h"

namespace affine {

/// Bias, penalties, allowed ids, a mask, and bans. Nothing is carried over from row to row: what
/// penalties count is counted anew from the tokens, so that it can't differ after a preemption, a
/// prefix hit or guesses that failed. Keeps working memory, made when first needed: one for each
/// thread.
class LogitShaper {
 public:
  explicit LogitShaper(int32_t vocab_size);

  /// `logits` [vocab], finite, if nothing is to be changed, at no cost; else a changed copy, valid
  /// until the next call, in which an id that can't be drawn has -infinity. Others are finite.
  /// `mask`: empty, or [TokenMask::WordsFor(vocab)], the ids that may be drawn this time.
  const float* Shape(const float* logits, const SamplingParams& params, const TokensSoFar& so_far,
                     std::span<const uint32_t> mask = {});

  /// The same without bans, which may leave nothing: then what they were laid on stands.
  const float* ShapeWithoutBans(const float* logits, const SamplingParams& params,
                                const TokensSoFar& so_far, std::span<const uint32_t> mask = {});

 private:
  void AddBias(const SamplingParams& params);
  void Penalize(const SamplingParams& params, const TokensSoFar& so_far);
  void CountTokens(const SamplingParams& params, const TokensSoFar& so_far);
  void Ban(const SamplingParams& params, const TokensSoFar& so_far);

  const int32_t vocab_size_;
  const LogitMask mask_;
  std::vector<float> row_;        // [vocab], the copy
  std::vector<int32_t> counts_;   // [vocab], of each id in the output; -1: in the prompt alone
  std::vector<int32_t> counted_;  // the ids whose count is not 0, each once
};

}  // namespace affine
