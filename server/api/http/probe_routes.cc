#include "server/api/http/probe_routes.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "server/api/http/json_text.h"
#include "server/api/http/openapi_document.h"

namespace affine {

namespace {

using nlohmann::ordered_json;

HttpResponse Page(const ordered_json& body) {
  HttpResponse response;
  response.body = JsonText(body);
  return response;
}

RouteAnswer Ready(const ServedModels& models) {
  ordered_json names = ordered_json::array();
  for (const ServedModel* model : models.List()) names.push_back(model->name);
  if (models.ready()) return Page({{"status", "ready"}, {"models", std::move(names)}});
  auto first = models.Find("");
  const auto* error = std::get_if<RequestError>(&first);
  HttpResponse response = Page({{"status", "not ready"},
                                {"missing", error ? error->message : "a model is still loading"},
                                {"models", std::move(names)}});
  response.status = 503;
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

void AddPage(HttpRouter& router, const char* path, std::function<RouteAnswer()> page) {
  router.Add({"GET", path, false,
              [page = std::move(page)](const HttpRequest&, HttpResponder&) { return page(); }});
}

}  // namespace

void AddProbeRoutes(HttpRouter& router, const ServedModels& models, const std::string& version,
                    std::function<std::string()> metrics_page) {
  for (const char* path : {"/health", "/livez"}) {
    AddPage(router, path, [] { return Page({{"status", "live"}}); });
  }
  for (const char* path : {"/ready", "/readyz"}) {
    AddPage(router, path, [&models] { return Ready(models); });
  }
  AddPage(router, "/version", [version] { return Page({{"version", version}}); });
  AddPage(router, "/metrics", [metrics_page = std::move(metrics_page)] {
    HttpResponse response;
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = metrics_page();
    return response;
  });
}

void AddDescriptionRoute(HttpRouter& router, const std::string& version) {
  ordered_json description = ordered_json::parse(OpenApiDocument());
  description["info"]["version"] = version;
  AddPage(router, "/openapi.json", [text = JsonText(description)] {
    HttpResponse response;
    response.body = text;
    return response;
  });
}

void AddIndexRoute(HttpRouter& router, const std::string& version) {
  ordered_json endpoints = ordered_json::array({"GET /"});
  for (const HttpRoute& route : router.routes())
    endpoints.push_back(route.method + " " + route.path);
  const ordered_json index{{"name", "Affine Serve"},
                           {"version", version},
                           {"http", std::move(endpoints)},
                           {"grpc", "affine.v1.CompletionService on this port; reflection is on"}};
  AddPage(router, "/", [index] { return Page(index); });
}

}  // namespace affine
