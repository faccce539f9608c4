// A request's answers in OpenAI's shapes, whole or as chunks of a stream.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/api/http/completion_choice.h"
#include "server/api/http/completion_codec.h"
#include "server/request/completion_call.h"

namespace affine {

/// One thread at a time.
class CompletionWriter {
 public:
  /// `call` outlives the writer.
  CompletionWriter(const CompletionBody& body, const CompletionCall& call, int64_t created);
  /// Takes the next piece of an answer.
  void Add(CompletionChunk chunk);
  /// What came since the last call as server-sent events, one for each answer with news; empty if
  /// nothing did. With the end of all answers also the usage, if asked for, or the error, and
  /// "data: [DONE]".
  std::string TakeEvents();
  /// The whole answer; after the end of all.
  std::string Whole();

 private:
  nlohmann::ordered_json Frame() const;
  std::string Event(nlohmann::ordered_json choice, const CompletionChoice* piece_of) const;
  /// A single answer's, with its end, if it was asked for.
  void AddStability(nlohmann::ordered_json& frame) const;

  const CompletionCall& call_;
  const bool chat_;
  const bool stream_;
  const bool include_usage_;
  const bool continuous_usage_;
  const int64_t created_;
  std::vector<CompletionChoice> choices_;
  std::vector<int32_t> touched_;  // choices that pieces came for, in order
  std::optional<CompletionUsage> total_;
  std::optional<RequestError> error_;
};

/// `json`, one line, as a server-sent event.
std::string ServerSentEvent(const std::string& json);

}  // namespace affine
