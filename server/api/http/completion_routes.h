// POST /v1/completions and /v1/chat/completions.
#pragma once

#include "server/api/api_server.h"
#include "server/api/http/http_router.h"
#include "server/request/served_models.h"

namespace affine {

/// References outlive the router.
void AddCompletionRoutes(HttpRouter& router, const ServedModels& models, const Clock& clock,
                         ApiObserver& observer);

}  // namespace affine
