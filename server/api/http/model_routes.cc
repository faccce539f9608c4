#include "server/api/http/model_routes.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "server/api/http/json_text.h"

namespace affine {

namespace {

using nlohmann::ordered_json;

ordered_json Describe(const ServedModel& model) {
  return {{"id", model.name},
          {"object", "model"},
          {"created", model.created_unix_seconds},
          {"owned_by", "affine_serve"},
          {"root", model.name},
          {"parent", nullptr},
          {"max_model_len", model.engine->info().max_model_len},
          {"dtype", model.engine->info().dtype},
          {"weights", model.engine->info().weights}};
}

RouteAnswer ListModels(const ServedModels& models) {
  ordered_json data = ordered_json::array();
  for (const ServedModel* model : models.List()) data.push_back(Describe(*model));
  HttpResponse response;
  response.body = JsonText({{"object", "list"}, {"data", std::move(data)}});
  return response;
}

RouteAnswer GetModel(const HttpRequest& request, const ServedModels& models) {
  constexpr std::string_view kPrefix = "/v1/models/";
  auto found = models.Find(PercentDecoded(request.Path().substr(kPrefix.size())));
  if (auto* error = std::get_if<RequestError>(&found)) return RouteRefusal{std::move(*error)};
  HttpResponse response;
  response.body = JsonText(Describe(*std::get<const ServedModel*>(found)));
  return response;
}

}  // namespace

void AddModelRoutes(HttpRouter& router, const ServedModels& models) {
  router.Add({"GET", "/v1/models", true,
              [&models](const HttpRequest&, HttpResponder&) { return ListModels(models); }});
  router.Add({"GET", "/v1/models/*", true, [&models](const HttpRequest& request, HttpResponder&) {
                return GetModel(request, models);
              }});
}

}  // namespace affine
