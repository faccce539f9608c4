#include "server/api/http/completion_routes.h"

#include <string_view>
#include <utility>
#include <variant>

#include "server/api/http/chat_codec.h"
#include "server/api/http/completion_codec.h"
#include "server/api/http/completion_work.h"

namespace affine {

namespace {

using Parser = std::variant<CompletionBody, RequestError> (*)(std::string_view text);

RouteAnswer Complete(Parser parse, const HttpRequest& request, const ServedModels& models,
                     const Clock& clock, ApiObserver& observer, HttpResponder& responder) {
  auto parsed = parse(request.body);
  if (auto* error = std::get_if<RequestError>(&parsed)) return RouteRefusal{std::move(*error)};
  CompletionBody& body = std::get<CompletionBody>(parsed);
  if (body.params.request_id.empty()) body.params.request_id = request.id;
  body.params.arrival = request.arrival;
  return CompletionWork::Begin(std::move(body), models, clock, observer, responder);
}

}  // namespace

void AddCompletionRoutes(HttpRouter& router, const ServedModels& models, const Clock& clock,
                         ApiObserver& observer) {
  const auto add = [&](const char* path, Parser parse) {
    router.Add(
        {"POST", path, true,
         [parse, &models, &clock, &observer](const HttpRequest& request, HttpResponder& responder) {
           return Complete(parse, request, models, clock, observer, responder);
         }});
  };
  add("/v1/completions", ParseCompletionBody);
  add("/v1/chat/completions", ParseChatBody);
}

}  // namespace affine
