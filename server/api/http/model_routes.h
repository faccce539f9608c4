// GET /v1/models and GET /v1/models/{id}.
#pragma once

#include "server/api/http/http_router.h"
#include "server/request/served_models.h"

namespace affine {

/// `models` outlives the router.
void AddModelRoutes(HttpRouter& router, const ServedModels& models);

}  // namespace affine
