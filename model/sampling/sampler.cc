#include "model/sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/sampling/philox.h"

namespace affine {

Sampler::Sampler(const Kernels& kernels, int32_t vocab_size)
    : kernels_(kernels),
      vocab_size_(vocab_size),
      weights_(vocab_size),
      shaper_(vocab_size),
      candidates_(vocab_size) {}

ScoredToken Sampler::Sample(const float* logits, const SamplingParams& params, int64_t position,
                            const TokensSoFar& so_far, std::span<const uint32_t> mask) {
  const int32_t id = Choose(logits, params, position, so_far, mask);
  if (params.top_log_probs < 0) return {.id = id, .top = {}};
  return ScoreWith(logits, id, params.top_log_probs, params.log_prob_ids);
}

int32_t Sampler::Choose(const float* logits, const SamplingParams& params, int64_t position,
                        const TokensSoFar& so_far, std::span<const uint32_t> mask) {
  const float* shaped = shaper_.Shape(logits, params, so_far, mask);
  float max = kernels_.max(shaped, vocab_size_);
  if (std::isinf(max)) {  // all is banned
    shaped = shaper_.ShapeWithoutBans(logits, params, so_far, mask);
    max = kernels_.max(shaped, vocab_size_);
  }
  if (params.temperature < kGreedyBelowTemperature) {
    return static_cast<int32_t>(std::find(shaped, shaped + vocab_size_, max) - shaped);
  }
  return Draw(shaped, max, params, UniformAt(params.seed, position));
}

int32_t Sampler::Draw(const float* logits, float max, const SamplingParams& params, double u) {
  std::copy(logits, logits + vocab_size_, weights_.begin());
  kernels_.exp_sum(weights_.data(), vocab_size_, max, 1.0f / params.temperature);
  const bool top_k_cuts = params.top_k > 0 && params.top_k < vocab_size_;
  if (!top_k_cuts && params.top_p >= 1.0f && params.min_p <= 0.0f && params.typical_p >= 1.0f) {
    return DrawFromAll(u);
  }
  Cut({logits, weights_.data(), max, params.temperature}, params);
  double sum = 0.0;
  for (int32_t id : candidates_.ids()) sum += weights_[id];
  double left = u * sum;
  for (int32_t id : candidates_.ids()) {
    left -= weights_[id];
    if (left < 0.0) return id;
  }
  // Rounding used up the last one's share.
  return *std::ranges::max_element(candidates_.ids(), {}, [&](int32_t id) { return logits[id]; });
}

// Without a cut the order of tokens is free: ascending ids need no sort.
int32_t Sampler::DrawFromAll(double u) const {
  double left = u * std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (int32_t id = 0; id < vocab_size_; ++id) {
    left -= weights_[id];
    if (left < 0.0) return id;
  }
  return static_cast<int32_t>(std::ranges::max_element(weights_) - weights_.begin());
}

void Sampler::Cut(const WeighedRow& row, const SamplingParams& params) {
  candidates_.TakeAll();
  if (params.min_p > 0.0f) candidates_.KeepMinP(row, params.min_p);
  const bool top_k_cuts = params.top_k > 0 && params.top_k < vocab_size_;
  if (top_k_cuts) candidates_.KeepTopK(row, params.top_k);
  if (top_k_cuts || params.top_p < 1.0f) candidates_.KeepTopP(row, params.top_p);
  if (params.typical_p < 1.0f) candidates_.KeepTypical(row, params.typical_p);
}

ScoredToken Sampler::Score(const float* logits, int32_t id, int32_t top_log_probs) {
  return ScoreWith(logits, id, top_log_probs, {});
}

ScoredToken Sampler::ScoreWith(const float* logits, int32_t id, int32_t top_log_probs,
                               std::span<const int32_t> log_prob_ids) {
  const float max = kernels_.max(logits, vocab_size_);
  std::copy(logits, logits + vocab_size_, weights_.begin());
  const float log_sum = std::log(kernels_.exp_sum(weights_.data(), vocab_size_, max, 1.0f));
  const auto log_prob = [&](int32_t i) { return (logits[i] - max) - log_sum; };
  ScoredToken token = {.id = id, .log_prob = log_prob(id), .rank = 1, .top = {}};
  for (int32_t i = 0; i < vocab_size_; ++i) token.rank += logits[i] > logits[id];
  for (const int32_t chosen : log_prob_ids) token.chosen.emplace_back(chosen, log_prob(chosen));
  if (top_log_probs <= 0) return token;
  candidates_.TakeAll();
  candidates_.SortBest(logits, top_log_probs);
  for (int32_t i = 0; i < std::min(top_log_probs, vocab_size_); ++i) {
    token.top.emplace_back(candidates_.ids()[i], log_prob(candidates_.ids()[i]));
  }
  return token;
}

}  // namespace affine
