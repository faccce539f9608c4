// POST /v1/completions, and the chat endpoint that is still to come.
#pragma once

#include "server/api/http/http_router.h"
#include "server/request/served_models.h"

namespace affine {

/// `models` outlives the router.
void AddCompletionRoutes(HttpRouter& router, const ServedModels& models);

}  // namespace affine
