// How one sequence's next token is drawn.
#pragma once

#include <cstdint>

namespace affine {

/// Below it the most likely token is taken (lowest id among equals), as vLLM does.
inline constexpr float kGreedyBelowTemperature = 1e-5f;

/// Values are already validated (server/request says the ranges). The draw at absolute position
/// `p` of a sequence depends on (seed, p) and that row's logits alone.
struct SamplingParams {
  float temperature = 1.0f;  // >= 0; see kGreedyBelowTemperature
  int32_t top_k = 0;         // keep the k most likely; 0 keeps all
  float top_p = 1.0f;        // (0, 1]; keep the smallest set whose probability reaches it
  uint64_t seed = 0;
  /// Log-probabilities of sampled tokens: -1 none, 0 the chosen token's, n > 0 also the n best.
  int32_t top_log_probs = -1;
  /// The same for the prompt's tokens.
  int32_t prompt_top_log_probs = -1;
};

/// Most alternatives that can be asked for, beside the chosen token.
inline constexpr int32_t kMaxTopLogProbs = 20;

}  // namespace affine
