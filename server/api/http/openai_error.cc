#include "server/api/http/openai_error.h"

#include <nlohmann/json.hpp>

#include "server/api/errors/error_table.h"
#include "server/api/http/json_text.h"

namespace affine {

std::string OpenAiErrorBody(const RequestError& error) {
  const ErrorCodes codes = CodesOf(error.cause);
  nlohmann::ordered_json body;
  body["message"] = error.message;
  body["type"] = codes.type;
  body["param"] = nullptr;
  if (!error.param.empty()) body["param"] = error.param;
  body["code"] = codes.code;
  return JsonText({{"error", std::move(body)}});
}

HttpResponse OpenAiErrorResponse(const RequestError& error) {
  return OpenAiErrorResponse(error, CodesOf(error.cause).http_status);
}

HttpResponse OpenAiErrorResponse(const RequestError& error, int status) {
  HttpResponse response;
  response.status = status;
  response.body = OpenAiErrorBody(error);
  if (const int seconds = RetryAfterSeconds(error); seconds > 0) {
    response.headers.emplace_back("Retry-After", std::to_string(seconds));
  }
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace affine
