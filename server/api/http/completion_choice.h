// One answer as a choice in OpenAI's shapes, whole or piece by piece.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/api/http/completion_codec.h"
#include "server/api/http/legacy_logprobs.h"
#include "server/request/completion_call.h"

namespace affine {

/// Of the body, what decides how a choice looks.
struct ChoiceShape {
  bool chat = false;  // a message, and a stream's deltas of it
  bool return_token_ids = false;
  bool prompt_logprobs = false;
  bool logprobs = false;
  bool echo = false;
  int64_t top = 0;
  bool skip_special_tokens = true;
  bool stability_inside = false;  // of several answers each has its own
};

/// One thread at a time.
class CompletionChoice {
 public:
  /// Answer `index` of `call`, which outlives the choice.
  CompletionChoice(const ChoiceShape& shape, const CompletionCall& call, int32_t index);
  /// Takes the next piece of the answer.
  void Add(CompletionChunk chunk);
  /// There is something to show.
  bool HasNews() const;
  /// What came since the last call, as a part of a stream or as the whole answer.
  nlohmann::ordered_json TakePiece();
  nlohmann::ordered_json TakeWhole();
  /// A chat's stream begins with a piece that says who speaks.
  bool OwesRole() const { return shape_.chat && !taken_ && !role_taken_; }
  nlohmann::ordered_json TakeRole();
  /// Of this answer, so far.
  nlohmann::ordered_json UsageSoFar() const;
  const std::optional<CompletionEnd>& end() const { return end_; }

 private:
  nlohmann::ordered_json TakeLogProbs();
  nlohmann::ordered_json TakeText();
  void AddRest(nlohmann::ordered_json& choice);

  const ChoiceShape shape_;
  const CompletionCall& call_;
  const int32_t index_;
  bool started_ = false;  // a piece has come
  bool taken_ = false;    // the first piece was taken
  bool role_taken_ = false;
  bool end_taken_ = false;
  int32_t output_tokens_ = 0;
  std::string text_;
  std::vector<int32_t> token_ids_;
  std::vector<ScoredToken> prompt_logprobs_;
  LegacyLogProbs logprobs_;
  std::vector<ScoredToken> chat_logprobs_;
  std::optional<CompletionEnd> end_;
};

}  // namespace affine
