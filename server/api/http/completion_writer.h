// A completion's answer in OpenAI's legacy shape, whole or as chunks of a stream.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "server/api/http/completion_codec.h"
#include "server/api/http/legacy_logprobs.h"
#include "server/request/completion_call.h"

namespace affine {

/// One thread at a time.
class CompletionWriter {
 public:
  /// `call` outlives the writer.
  CompletionWriter(const CompletionBody& body, const CompletionCall& call, int64_t created);
  /// Takes the next piece of the answer.
  void Add(CompletionChunk chunk);
  /// What came since the last call as a server-sent event, empty if nothing did. With the end of
  /// the answer also the usage, if asked for, or the error, and "data: [DONE]".
  std::string TakeEvents();
  /// The whole answer; after its end.
  std::string Whole();

 private:
  nlohmann::ordered_json Frame() const;
  nlohmann::ordered_json TakeChoice();
  /// With the answer's end, if it was asked for.
  void AddStability(nlohmann::ordered_json& frame) const;

  const CompletionCall& call_;
  const bool include_usage_;
  const bool return_token_ids_;
  const bool wants_prompt_logprobs_;
  const bool wants_logprobs_;
  const bool echo_;
  const int64_t created_;
  bool started_ = false;      // a chunk has come
  bool first_taken_ = false;  // a choice was taken
  std::string text_;
  std::vector<int32_t> token_ids_;
  std::vector<ScoredToken> prompt_logprobs_;
  LegacyLogProbs logprobs_;
  std::optional<CompletionEnd> end_;
};

/// `json`, one line, as a server-sent event.
std::string ServerSentEvent(const std::string& json);

}  // namespace affine
