#include "server/request/completion_call.h"

#include <utility>

#include "server/request/engine_call.h"
#include "server/request/request_id.h"
#include "server/request/request_validator.h"
#include "server/request/token_queue.h"

namespace affine {
namespace {

RequestError RefusedBy(const ServedModel& model, RequestError error) {
  error.model_name = model.name;
  return error;
}

}  // namespace

std::variant<std::shared_ptr<CompletionCall>, RequestError> StartCompletion(
    CompletionParams params, const ServedModels& models, std::function<void()> on_ready) {
  auto found = models.Find(params.model);
  if (auto* error = std::get_if<RequestError>(&found)) return std::move(*error);
  const ServedModel& model = *std::get<const ServedModel*>(found);
  const RequestValidator validator(model.engine->info(), *model.tokenizer);
  auto checked = validator.Validate(std::move(params), FreshRandomBits());
  if (auto* error = std::get_if<RequestError>(&checked)) return RefusedBy(model, *error);
  auto& validated = std::get<ValidatedRequest>(checked);
  EngineCall::Plan plan = EngineCall::PlanOf(validated);
  auto queue = std::make_shared<TokenQueue>(std::move(on_ready));
  validated.request.sink = queue;
  auto submitted = model.engine->Submit(std::move(validated.request));
  if (auto* error = std::get_if<RequestError>(&submitted)) return RefusedBy(model, *error);
  return std::make_shared<EngineCall>(std::move(plan), model, std::move(queue),
                                      std::get<RequestHandle>(submitted));
}

}  // namespace affine
