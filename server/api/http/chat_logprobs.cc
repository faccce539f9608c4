#include "server/api/http/chat_logprobs.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "server/api/http/token_label.h"

namespace affine {

namespace {

using nlohmann::ordered_json;

constexpr float kLowest = -9999.0f;

ordered_json Entry(const Tokenizer& tokenizer, int32_t id, float log_prob) {
  const std::string_view bytes = tokenizer.TokenBytes(id);
  return {{"token", TokenLabel(tokenizer, id)},
          {"logprob", std::max(log_prob, kLowest)},
          {"bytes", std::vector<uint8_t>(bytes.begin(), bytes.end())}};
}

}  // namespace

ordered_json ChatLogProbs(const Tokenizer& tokenizer, std::span<const ScoredToken> tokens,
                          int64_t top) {
  ordered_json content = ordered_json::array();
  for (const ScoredToken& token : tokens) {
    ordered_json entry = Entry(tokenizer, token.id, token.log_prob);
    ordered_json& alternatives = entry["top_logprobs"] = ordered_json::array();
    const size_t count = std::min<size_t>(token.top.size(), static_cast<size_t>(top));
    for (size_t i = 0; i < count; ++i) {
      alternatives.push_back(Entry(tokenizer, token.top[i].first, token.top[i].second));
    }
    for (const auto& [id, log_prob] : token.chosen) {
      alternatives.push_back(Entry(tokenizer, id, log_prob));
    }
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

}  // namespace affine
