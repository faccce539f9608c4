#include "server/telemetry/edge_telemetry.h"

namespace affine {
namespace {

constexpr char kRefused[] = "affine_requests_refused_total";
constexpr char kRefusedHelp[] = "Calls answered with an error before an engine had them.";

}  // namespace

EdgeTelemetry::EdgeTelemetry(prometheus::Registry& registry, ServerLog& log,
                             const std::vector<ModelTelemetry*>& models)
    : log_(log) {
  for (ModelTelemetry* model : models) {
    const std::string& name = model->name();
    models_.emplace(name,
                    Model{model->serving(), CauseCounters(registry, name, kRefused, kRefusedHelp)});
  }
  if (models.size() > 1) of_no_model_.emplace(registry, "", kRefused, kRefusedHelp);
}

void EdgeTelemetry::OnRefused(const std::string& request_id, const RequestError& error) {
  const auto model = models_.find(error.model_name);
  if (model != models_.end()) {
    model->second.refused.Increment(error.cause);
  } else {
    (of_no_model_ ? *of_no_model_ : models_.begin()->second.refused).Increment(error.cause);
  }
  log_.Write(request_id, error);
}

void EdgeTelemetry::OnFirstToken(const std::string& model_name, Clock::Duration since_arrival) {
  const auto model = models_.find(model_name);
  if (model != models_.end()) model->second.serving.CountFirstToken(since_arrival);
}

}  // namespace affine
