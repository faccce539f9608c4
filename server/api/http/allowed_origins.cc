#include "server/api/http/allowed_origins.h"

#include <algorithm>
#include <utility>

#include "model/quoted.h"
#include "server/api/http/openai_error.h"

namespace affine {

AllowedOrigins::AllowedOrigins(std::vector<std::string> origins)
    : origins_(std::move(origins)), all_(std::ranges::count(origins_, "*") > 0) {}

bool AllowedOrigins::Allows(std::string_view origin) const {
  return all_ || std::ranges::find(origins_, origin) != origins_.end();
}

HttpHeaders AllowedOrigins::HeadersFor(std::string_view origin) const {
  if (origins_.empty()) return {};
  HttpHeaders headers;
  // Caches between here and the browser must not give one page's answer to another.
  if (!all_) headers.emplace_back("Vary", "Origin");
  if (origin.empty() || !Allows(origin)) return headers;
  headers.emplace_back("Access-Control-Allow-Origin", all_ ? "*" : std::string(origin));
  headers.emplace_back("Access-Control-Expose-Headers", "x-request-id, retry-after");
  return headers;
}

std::optional<HttpResponse> AllowedOrigins::AnswerPreflight(const HttpRequest& request) const {
  const std::string_view origin = request.Header("origin");
  if (origins_.empty() || request.method != "OPTIONS" || origin.empty() ||
      request.Header("access-control-request-method").empty()) {
    return std::nullopt;
  }
  if (!Allows(origin)) {
    return OpenAiErrorResponse(
        {ErrorCause::kBadInput,
         "pages of " + Quoted(origin) + " may not call; --allowed_origins names those that may",
         "origin"});
  }
  HttpResponse response{.status = 204, .content_type = ""};
  response.headers.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, POST");
  const std::string_view wanted = request.Header("access-control-request-headers");
  if (!wanted.empty()) {
    response.headers.emplace_back("Access-Control-Allow-Headers", std::string(wanted));
  }
  response.headers.emplace_back("Access-Control-Max-Age", "600");
  return response;
}

}  // namespace affine
