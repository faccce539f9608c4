// Log-probabilities in the shape of OpenAI's chats.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include "model/language_model.h"
#include "model/tokenizer.h"

namespace affine {

/// {content: [{token, logprob, bytes, top_logprobs: [{token, logprob, bytes}]}], refusal: null}.
/// `top`: how many alternatives were asked for; ids that the caller chose follow them. Tokens are
/// shown by TokenLabel, `bytes` are their own. Minus infinity is given as -9999.
nlohmann::ordered_json ChatLogProbs(const Tokenizer& tokenizer, std::span<const ScoredToken> tokens,
                                    int64_t top);

}  // namespace affine
