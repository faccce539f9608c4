#include "server/api/http/legacy_logprobs.h"

#include <algorithm>
#include <string>
#include <utility>

namespace affine {

using nlohmann::ordered_json;

namespace {

constexpr float kLowest = -9999.0f;

ordered_json Shown(float log_prob) { return std::max(log_prob, kLowest); }

}  // namespace

LegacyLogProbs::LegacyLogProbs(const Tokenizer& tokenizer, bool skip_special_tokens, int64_t top)
    : tokenizer_(tokenizer), top_(top), offset_(tokenizer, skip_special_tokens) {}

void LegacyLogProbs::AddUnscored(int32_t id) {
  tokens_.push_back(TokenLabel(tokenizer_, id));
  log_probs_.push_back(nullptr);
  tops_.push_back(nullptr);
  offsets_.push_back(offset_.Take(id));
}

void LegacyLogProbs::Add(const ScoredToken& token) {
  const std::string label = TokenLabel(tokenizer_, token.id);
  tokens_.push_back(label);
  log_probs_.push_back(Shown(token.log_prob));
  offsets_.push_back(offset_.Take(token.id));
  if (top_ == 0 && token.chosen.empty()) return tops_.push_back(nullptr);
  ordered_json top = ordered_json::object();
  const size_t count = std::min<size_t>(token.top.size(), static_cast<size_t>(top_));
  for (size_t i = 0; i < count; ++i) {
    // Of two ids with the same text the more likely one is shown.
    top.emplace(TokenLabel(tokenizer_, token.top[i].first), Shown(token.top[i].second));
  }
  top.emplace(label, Shown(token.log_prob));  // the token itself is always there
  for (const auto& [id, log_prob] : token.chosen) {
    top.emplace(TokenLabel(tokenizer_, id), Shown(log_prob));
  }
  tops_.push_back(std::move(top));
}

ordered_json LegacyLogProbs::Take() {
  ordered_json result;
  result["tokens"] = std::exchange(tokens_, ordered_json::array());
  result["token_logprobs"] = std::exchange(log_probs_, ordered_json::array());
  result["top_logprobs"] = std::exchange(tops_, ordered_json::array());
  result["text_offset"] = std::exchange(offsets_, ordered_json::array());
  return result;
}

ordered_json PromptLogProbs(const Tokenizer& tokenizer, std::span<const ScoredToken> scored) {
  ordered_json positions = ordered_json::array({nullptr});
  for (const ScoredToken& token : scored) {
    ordered_json position = ordered_json::object();
    const auto add = [&](int32_t id, float log_prob, int64_t rank) {
      position.emplace(std::to_string(id),
                       ordered_json{{"logprob", Shown(log_prob)},
                                    {"rank", rank},
                                    {"decoded_token", TokenLabel(tokenizer, id)}});
    };
    add(token.id, token.log_prob, token.rank);
    for (size_t i = 0; i < token.top.size(); ++i) {
      add(token.top[i].first, token.top[i].second, static_cast<int64_t>(i) + 1);
    }
    positions.push_back(std::move(position));
  }
  return positions;
}

}  // namespace affine
