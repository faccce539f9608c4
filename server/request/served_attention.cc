#include "server/request/served_attention.h"

#include <utility>

namespace affine {

std::variant<ServedAttention, RequestError> AttentionOf(const ServedModels& models,
                                                        std::string_view name) {
  auto found = models.Find(name);
  if (auto* error = std::get_if<RequestError>(&found)) return std::move(*error);
  const ServedModel& model = *std::get<const ServedModel*>(found);
  if (model.stability == nullptr) {
    return RequestError{
        .cause = ErrorCause::kNotFound,
        .message = "the attention of `" + model.name +
                   "` is not observed: --stability_sample_every is 0; start the server with 1 or "
                   "more",
        .param = {},
        .model_name = model.name};
  }
  const StabilitySnapshot snapshot = model.stability->Snapshot();
  const bool affine = model.engine->info().attention.affine.has_value();
  return ServedAttention{model.name, snapshot.steps,
                         MatricesOf(snapshot.sums, snapshot.heads, affine)};
}

}  // namespace affine
