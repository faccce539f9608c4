// GET /v1/attention: how stable a model's attention is, over the latest observed steps.
#pragma once

#include "server/api/http/http_router.h"
#include "server/request/served_models.h"

namespace affine {

/// `models` outlives the router.
void AddAttentionRoutes(HttpRouter& router, const ServedModels& models);

}  // namespace affine
