// What machines ask of a server: is it alive, is it ready, how is it doing, which one is it.
#pragma once

#include <functional>
#include <string>

#include "server/api/http/http_router.h"
#include "server/request/served_models.h"

namespace affine {

/// /health, /livez, /ready, /readyz, /metrics and /version, none of them guarded. `models` outlives
/// the router.
void AddProbeRoutes(HttpRouter& router, const ServedModels& models, const std::string& version,
                    std::function<std::string()> metrics_page);

/// GET /openapi.json: what every other route takes and answers.
void AddDescriptionRoute(HttpRouter& router, const std::string& version);

/// GET /: lists the routes that the router has by now.
void AddIndexRoute(HttpRouter& router, const std::string& version);

}  // namespace affine
