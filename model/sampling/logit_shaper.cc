#include "model/sampling/logit_shaper.h"

#include <algorithm>
#include <limits>

namespace affine {
namespace {

constexpr float kRuledOut = -std::numeric_limits<float>::infinity();
constexpr int32_t kInPromptAlone = -1;

/// Large logits and penalties together may leave float32's range.
float Finite(float logit) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return std::clamp(logit, -kMost, kMost);
}

/// The sequence would end with `word` if its last id came next. Words reach into the output alone.
bool Completes(const std::vector<int32_t>& word, const TokensSoFar& so_far) {
  const auto prefix = static_cast<int32_t>(word.size()) - 1;
  if (prefix > so_far.num_outputs()) return false;
  for (int32_t i = 0; i < prefix; ++i) {
    if (so_far[so_far.size() - prefix + i] != word[i]) return false;
  }
  return true;
}

}  // namespace

LogitShaper::LogitShaper(int32_t vocab_size) : vocab_size_(vocab_size), mask_(vocab_size) {}

const float* LogitShaper::Shape(const float* logits, const SamplingParams& params,
                                const TokensSoFar& so_far, std::span<const uint32_t> mask) {
  const float* shaped = ShapeWithoutBans(logits, params, so_far, mask);
  if (!params.bans()) return shaped;
  if (shaped == logits) row_.assign(logits, logits + vocab_size_);
  Ban(params, so_far);
  return row_.data();
}

const float* LogitShaper::ShapeWithoutBans(const float* logits, const SamplingParams& params,
                                           const TokensSoFar& so_far,
                                           std::span<const uint32_t> mask) {
  const bool masks = !params.allowed.empty() || !mask.empty();
  if (params.logit_bias.empty() && !params.penalizes() && !masks) return logits;
  row_.assign(logits, logits + vocab_size_);
  AddBias(params);
  if (params.penalizes()) Penalize(params, so_far);
  if (!params.allowed.empty()) mask_.Apply(params.allowed.words(), row_.data());
  if (!mask.empty()) mask_.Apply(mask, row_.data());
  return row_.data();
}

void LogitShaper::AddBias(const SamplingParams& params) {
  for (const auto& [id, bias] : params.logit_bias) row_[id] = Finite(row_[id] + bias);
}

void LogitShaper::Penalize(const SamplingParams& params, const TokensSoFar& so_far) {
  CountTokens(params, so_far);
  const float repetition = params.repetition_penalty;
  for (const int32_t id : counted_) {
    const int32_t count = std::max(counts_[id], 0);
    float logit = row_[id];
    logit = logit > 0.0f ? logit / repetition : logit * repetition;
    logit = Finite(logit) - params.frequency_penalty * static_cast<float>(count);
    if (count > 0) logit -= params.presence_penalty;
    row_[id] = Finite(logit);
    counts_[id] = 0;
  }
  counted_.clear();
}

void LogitShaper::CountTokens(const SamplingParams& params, const TokensSoFar& so_far) {
  counts_.resize(vocab_size_);
  for (int32_t i = so_far.prompt_length; i < so_far.size(); ++i) {
    if (counts_[so_far[i]]++ == 0) counted_.push_back(so_far[i]);
  }
  if (params.repetition_penalty == 1.0f) return;
  for (int32_t i = 0; i < so_far.prompt_length; ++i) {
    if (counts_[so_far[i]] != 0) continue;
    counts_[so_far[i]] = kInPromptAlone;
    counted_.push_back(so_far[i]);
  }
}

void LogitShaper::Ban(const SamplingParams& params, const TokensSoFar& so_far) {
  for (const std::vector<int32_t>& word : params.bad_words) {
    if (Completes(word, so_far)) row_[word.back()] = kRuledOut;
  }
  if (so_far.num_outputs() >= params.min_tokens) return;
  for (const int32_t id : params.held_back_ids) row_[id] = kRuledOut;
}

}  // namespace affine
