// The values of a request's input tensors.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "inference/grpc_service.pb.h"
#include "server/request/request_error.h"

namespace affine {

/// By name, of InputTensors(): the text of a BYTES tensor, or a BOOL.
using InputValues = std::map<std::string_view, std::variant<std::string_view, bool>>;

/// Reads every input, from `contents` or from raw_input_contents. Texts are views into `request`.
/// kBadInput names the tensor and what is wrong: unknown, twice, missing, of another datatype, of
/// more or fewer values than one, cut short, in shared memory.
std::variant<InputValues, RequestError> ReadInputs(const inference::ModelInferRequest& request);

}  // namespace affine
