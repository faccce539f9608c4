// The body of POST /v1/chat/completions as parameters.
#pragma once

#include <string_view>
#include <variant>

#include "server/api/http/completion_codec.h"
#include "server/api/http/json_fields.h"
#include "server/request/request_error.h"

namespace affine {

/// Reads OpenAI's chat body with vLLM's additions, under the rules of ParseCompletionBody.
std::variant<CompletionBody, RequestError> ParseChatBody(std::string_view text);

/// `messages` and what says how they become a prompt.
ChatPrompt ReadChat(JsonFields& fields);

}  // namespace affine
