// POST /tokenize and POST /detokenize, in vLLM's shapes.
#pragma once

#include "server/api/http/http_router.h"
#include "server/request/served_models.h"

namespace affine {

/// `models` outlives the router.
void AddTokenizerRoutes(HttpRouter& router, const ServedModels& models);

}  // namespace affine
