// Sampling parameters of an inference request, from wherever it carries them, as one JSON object.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <variant>

#include "inference/grpc_service.pb.h"
#include "server/request/request_error.h"

namespace affine {

/// The request's parameters with the members of `text`, the JSON object of the tensor
/// sampling_parameters (empty: none), in their place where both have one. A text that is JSON of
/// another kind is taken as that, since callers write numbers as text ("0.5"); but not where text
/// is what a field takes.
std::variant<nlohmann::json, RequestError> SamplingFields(
    const google::protobuf::Map<std::string, inference::InferParameter>& parameters,
    std::string_view text);

}  // namespace affine
