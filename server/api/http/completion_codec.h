// The body of POST /v1/completions as parameters.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <variant>

#include "server/request/completion_params.h"
#include "server/request/request_error.h"

namespace affine {

/// What the caller wants, and how the answer is to look.
struct CompletionBody {
  CompletionParams params;
  bool chat = false;  // the answer is a message
  bool stream = false;
  bool include_usage = false;     // stream_options.include_usage
  bool continuous_usage = false;  // and continuous_usage_stats: usage so far in every event
  bool return_token_ids = false;  // ids beside the text
};

/// Reads OpenAI's legacy completion body with vLLM's additions. Types are checked here; ranges
/// where gRPC's are too. A field that this server knows of but does not have yet is refused unless
/// it has its neutral value; an unknown field is ignored, as vLLM does.
std::variant<CompletionBody, RequestError> ParseCompletionBody(std::string_view text);

/// The same from a JSON object.
std::variant<CompletionBody, RequestError> ReadCompletionBody(const nlohmann::json& object);

}  // namespace affine
