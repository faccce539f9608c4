// The routes behind every connection, with what holds for all of them: ids, the key, errors.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "server/api/api_server.h"
#include "server/api/http/allowed_origins.h"
#include "server/api/http/bearer_key.h"
#include "server/api/http/http_handler.h"
#include "server/api/http/http_router.h"

namespace affine {

/// Thread-safe.
class HttpService final : public HttpHandler {
 public:
  /// References outlive the service.
  HttpService(const ApiOptions& options, const ServedModels& models, const Clock& clock,
              ApiObserver& observer, std::function<std::string()> metrics_page);
  std::optional<HttpResponse> Refuse(HttpRequest& head) override;
  HttpAnswer Handle(HttpRequest request, HttpResponder& responder) override;
  HttpResponse Malformed(int status, const std::string& message) override;
  HttpHeaders HeadersFor(std::string_view origin) const override;

 private:
  HttpResponse Refusal(const std::string& id, const RouteRefusal& refusal);

  const BearerKey key_;
  const AllowedOrigins origins_;
  ApiObserver& observer_;
  HttpRouter router_;
};

}  // namespace affine
