#include "server/api/http/completion_routes.h"

#include <utility>

#include "server/api/http/completion_codec.h"
#include "server/api/http/completion_work.h"

namespace affine {

namespace {

RouteAnswer Complete(const HttpRequest& request, const ServedModels& models, const Clock& clock,
                     ApiObserver& observer, HttpResponder& responder) {
  auto parsed = ParseCompletionBody(request.body);
  if (auto* error = std::get_if<RequestError>(&parsed)) return RouteRefusal{std::move(*error)};
  CompletionBody& body = std::get<CompletionBody>(parsed);
  if (body.params.request_id.empty()) body.params.request_id = request.id;
  body.params.arrival = request.arrival;
  return CompletionWork::Begin(std::move(body), models, clock, observer, responder);
}

RouteAnswer Chat(const HttpRequest&, HttpResponder&) {
  return RouteRefusal{{ErrorCause::kNotFound,
                       "/v1/chat/completions is not there yet; apply the model's chat template and "
                       "send the text to /v1/completions",
                       ""},
                      501};
}

}  // namespace

void AddCompletionRoutes(HttpRouter& router, const ServedModels& models, const Clock& clock,
                         ApiObserver& observer) {
  router.Add({"POST", "/v1/completions", true,
              [&models, &clock, &observer](const HttpRequest& request, HttpResponder& responder) {
                return Complete(request, models, clock, observer, responder);
              }});
  router.Add({"POST", "/v1/chat/completions", true, Chat});
}

}  // namespace affine
