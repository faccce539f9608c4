// How one sequence's next token is drawn.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/token_mask.h"

namespace affine {

/// Below it the most likely token is taken (lowest id among equals), as vLLM does.
inline constexpr float kGreedyBelowTemperature = 1e-5f;

/// Values are already validated (server/request says the ranges). The draw at absolute position
/// `p` of a sequence depends on (seed, p), that row's logits and, with reads_tokens(), the tokens
/// before it. What each does, and in which order, stands in proto/affine/v1/completion.proto.
struct SamplingParams {
  float temperature = 1.0f;  // >= 0; see kGreedyBelowTemperature
  int32_t top_k = 0;         // keep the k most likely; 0 keeps all
  float top_p = 1.0f;        // (0, 1]; keep the smallest set whose probability reaches it
  uint64_t seed = 0;
  /// Log-probabilities of sampled tokens: -1 none, 0 the chosen token's, n > 0 also the n best.
  int32_t top_log_probs = -1;
  /// The same for the prompt's tokens.
  int32_t prompt_top_log_probs = -1;
  /// Ids whose log-probabilities are told with each sampled token, if top_log_probs >= 0.
  std::vector<int32_t> log_prob_ids = {};

  float min_p = 0.0f;      // [0, 1]; keep what has this share of the most likely one's probability
  float typical_p = 1.0f;  // (0, 1]; keep the most typical tokens whose probability reaches it
  float repetition_penalty = 1.0f;  // > 0; of tokens in prompt or output
  float frequency_penalty = 0.0f;   // for each time that a token is in the output
  float presence_penalty = 0.0f;    // of tokens in the output
  std::vector<std::pair<int32_t, float>> logit_bias = {};  // added, each id once
  TokenMask allowed = {};  // empty(): all ids; else at least one is in it
  /// Sequences of at least one id: the last id of one that the output would end with is banned.
  std::vector<std::vector<int32_t>> bad_words = {};
  int32_t min_tokens = 0;                   // until the output has so many,
  std::vector<int32_t> held_back_ids = {};  // these are banned

  bool penalizes() const {
    return repetition_penalty != 1.0f || frequency_penalty != 0.0f || presence_penalty != 0.0f;
  }
  /// Ids may be banned, depending on the tokens so far.
  bool bans() const { return !bad_words.empty() || min_tokens > 0; }
  /// What is drawn depends on the tokens before it by more than the logits.
  bool reads_tokens() const { return penalizes() || bans(); }
};

/// Most alternatives that can be asked for, beside the chosen token.
inline constexpr int32_t kMaxTopLogProbs = 20;

}  // namespace affine
