// ModelInferRequest to the request room's parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inference/grpc_service.pb.h"
#include "server/api/grpc/oip/tensor_table.h"
#include "server/request/completion_params.h"
#include "server/request/request_error.h"

namespace affine {

inline constexpr char kModelVersion[] = "1";  // every model's one version

/// How an answer is to look.
struct InferForm {
  std::string model_name;  // as the caller wrote it
  std::string id;
  std::string prepended;  // comes before the text
  std::vector<Output> outputs;
  bool stream = false;
  bool raw = true;  // outputs as bytes, not as `contents`
};

/// None if `version` is one that models have: "1", or empty for that.
std::optional<RequestError> CheckVersion(const std::string& version);

/// Fills in `form` and `params`; the form's model and id, and `request_id`, also where the rest is
/// wrong. kBadInput names the tensor or parameter and the remedy; ranges are checked later, as
/// those of all front ends.
std::optional<RequestError> ReadInferRequest(const inference::ModelInferRequest& request,
                                             InferForm& form, CompletionParams& params);

}  // namespace affine
