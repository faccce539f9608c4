#include "server/api/http/attention_routes.h"

#include <utility>

#include "server/api/http/json_text.h"
#include "server/api/http/stability_json.h"

namespace affine {

namespace {

RouteAnswer GetAttention(const HttpRequest& request, const ServedModels& models) {
  auto read = AttentionOf(models, QueryParameter(request, "model"));
  if (auto* error = std::get_if<RequestError>(&read)) return RouteRefusal{std::move(*error)};
  HttpResponse response;
  response.body = JsonText(AttentionJson(std::get<ServedAttention>(read)));
  return response;
}

}  // namespace

void AddAttentionRoutes(HttpRouter& router, const ServedModels& models) {
  router.Add({"GET", "/v1/attention", true, [&models](const HttpRequest& request, HttpResponder&) {
                return GetAttention(request, models);
              }});
}

}  // namespace affine
