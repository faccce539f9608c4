// Log-probabilities in the shapes of OpenAI's legacy completions and of vLLM.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include "model/language_model.h"
#include "model/tokenizer.h"
#include "server/api/http/token_label.h"

namespace affine {

/// Ids that a caller chose stand among the alternatives, after the best ones.
/// Collects {tokens, token_logprobs, top_logprobs, text_offset}, four arrays of one length. A
/// log-probability of minus infinity is given as -9999, which JSON can carry.
class LegacyLogProbs {
 public:
  /// `top`: how many alternatives were asked for; 0 leaves top_logprobs null for each token.
  LegacyLogProbs(const Tokenizer& tokenizer, bool skip_special_tokens, int64_t top);
  /// A token that nothing precedes: its log-probability is null.
  void AddUnscored(int32_t id);
  void Add(const ScoredToken& token);
  bool empty() const { return tokens_.empty(); }
  /// What was added since the last call. Offsets go on counting.
  nlohmann::ordered_json Take();

 private:
  const Tokenizer& tokenizer_;
  const int64_t top_;
  TextOffset offset_;
  nlohmann::ordered_json tokens_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json log_probs_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json tops_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json offsets_ = nlohmann::ordered_json::array();
};

/// vLLM's `prompt_logprobs`: null for the first token, then for each an object from id to
/// {logprob, rank, decoded_token}, the prompt's own token among them.
nlohmann::ordered_json PromptLogProbs(const Tokenizer& tokenizer,
                                      std::span<const ScoredToken> scored);

}  // namespace affine
