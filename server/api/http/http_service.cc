#include "server/api/http/http_service.h"

#include <exception>
#include <utility>

#include "server/api/http/attention_routes.h"
#include "server/api/http/completion_routes.h"
#include "server/api/http/model_routes.h"
#include "server/api/http/openai_error.h"
#include "server/api/http/probe_routes.h"
#include "server/api/http/tokenizer_routes.h"
#include "server/request/request_id.h"

namespace affine {

namespace {

constexpr const char* kIdHeader = "x-request-id";

HttpResponse WithId(HttpResponse response, const std::string& id) {
  response.headers.emplace_back(kIdHeader, id);
  return response;
}

ErrorCause CauseOf(int status) {
  switch (status) {
    case 408:
      return ErrorCause::kDeadline;
    case 413:
      return ErrorCause::kTooLarge;
    case 503:
      return ErrorCause::kUnavailable;
    default:
      return ErrorCause::kBadInput;
  }
}

}  // namespace

HttpService::HttpService(const ApiOptions& options, const ServedModels& models, const Clock& clock,
                         ApiObserver& observer, std::function<std::string()> metrics_page)
    : key_(options.api_key), origins_(options.allowed_origins), observer_(observer) {
  AddCompletionRoutes(router_, models, clock, observer);
  AddModelRoutes(router_, models);
  AddAttentionRoutes(router_, models);
  AddTokenizerRoutes(router_, models);
  AddProbeRoutes(router_, models, options.version, std::move(metrics_page));
  AddDescriptionRoute(router_, options.version);
  AddIndexRoute(router_, options.version);
}

std::optional<HttpResponse> HttpService::Refuse(HttpRequest& head) {
  head.id = std::string(head.Header(kIdHeader));
  if (auto error = CheckRequestId(head.id)) {
    head.id = NewRequestId();
    error->param = kIdHeader;
    error->message = std::string(kIdHeader) + ": " + error->message;
    return Refusal(head.id, {*error});
  }
  if (head.id.empty()) head.id = NewRequestId();
  if (auto answer = origins_.AnswerPreflight(head)) return WithId(*std::move(answer), head.id);
  auto found = router_.Find(head);
  if (auto* response = std::get_if<HttpResponse>(&found)) {
    observer_.OnRefused(head.id, {ErrorCause::kNotFound, "no such route or method", ""});
    return WithId(std::move(*response), head.id);
  }
  const HttpRoute& route = *std::get<const HttpRoute*>(found);
  if (!route.guarded || key_.Accepts(head.Header("authorization"))) return std::nullopt;
  return Refusal(head.id, {{ErrorCause::kUnauthenticated,
                            "no valid API key was given; send the header `Authorization: Bearer "
                            "KEY` with the server's key",
                            ""}});
}

HttpAnswer HttpService::Handle(HttpRequest request, HttpResponder& responder) {
  const std::string id = request.id;
  auto found = router_.Find(request);
  if (auto* response = std::get_if<HttpResponse>(&found)) return WithId(std::move(*response), id);
  RouteAnswer answer;
  try {
    answer = std::get<const HttpRoute*>(found)->answer(request, responder);
  } catch (const std::exception& fault) {
    return Refusal(id, {FaultOf(fault)});
  }
  if (auto* work = std::get_if<std::shared_ptr<HttpWork>>(&answer)) return std::move(*work);
  if (auto* refusal = std::get_if<RouteRefusal>(&answer)) return Refusal(id, *refusal);
  return WithId(std::move(std::get<HttpResponse>(answer)), id);
}

HttpResponse HttpService::Malformed(int status, const std::string& message) {
  return Refusal(NewRequestId(), {{CauseOf(status), message, ""}, status});
}

HttpHeaders HttpService::HeadersFor(std::string_view origin) const {
  return origins_.HeadersFor(origin);
}

HttpResponse HttpService::Refusal(const std::string& id, const RouteRefusal& refusal) {
  observer_.OnRefused(id, refusal.error);
  return WithId(refusal.status == 0 ? OpenAiErrorResponse(refusal.error)
                                    : OpenAiErrorResponse(refusal.error, refusal.status),
                id);
}

}  // namespace affine
