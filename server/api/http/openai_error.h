// Errors in the shape that OpenAI's clients read.
#pragma once

#include <string>

#include "server/api/http/http_message.h"
#include "server/request/request_error.h"

namespace affine {

/// {"error": {"message", "type", "param", "code"}}, one line. `param` is null where none is at
/// fault.
std::string OpenAiErrorBody(const RequestError& error);

/// The whole answer. 429 and 503 carry Retry-After, see RetryAfterSeconds.
HttpResponse OpenAiErrorResponse(const RequestError& error);

/// The same under another status, for what HTTP tells apart and the causes do not (405, 408, 501).
HttpResponse OpenAiErrorResponse(const RequestError& error, int status);

}  // namespace affine
