// Fields of vLLM's GenerateRequest that change an answer and are not there yet.
#pragma once

#include <optional>

#include "server/request/request_error.h"
#include "vllm/grpc/engine/vllm_engine.pb.h"

namespace affine {

/// kBadInput for the first of them that is given with anything but its neutral value: ignoring it
/// would give an answer that was not asked for.
std::optional<RequestError> RefuseUnsupportedFields(
    const ::vllm::grpc::engine::GenerateRequest& request);

}  // namespace affine
