// Whether a request can ever be served by this model and cache.
#pragma once

#include <optional>

#include "model/model_info.h"
#include "server/request/request.h"
#include "server/request/request_error.h"

namespace affine {

/// kBadInput, naming field, value and limit, if even alone the request could not be finished.
/// Thread-safe.
std::optional<RequestError> WhyNeverFits(const Request& request, const ModelInfo& info);

}  // namespace affine
