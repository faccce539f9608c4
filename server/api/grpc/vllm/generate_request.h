// GenerateRequest to the request room's parameters.
#pragma once

#include <optional>

#include "server/request/completion_params.h"
#include "server/request/request_error.h"
#include "vllm/grpc/engine/vllm_engine.pb.h"

namespace affine {

/// Fills in `params`; `request_id` also where the rest is wrong. kBadInput names what is missing or
/// not supported; ranges are checked later, as those of all front ends.
std::optional<RequestError> ReadGenerateRequest(
    const ::vllm::grpc::engine::GenerateRequest& request, CompletionParams& params);

}  // namespace affine
