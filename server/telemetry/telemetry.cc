#include "server/telemetry/telemetry.h"

#include "server/telemetry/info_metrics.h"

namespace affine {

std::vector<ModelTelemetry*> Telemetry::Pointers(const Models& models) {
  std::vector<ModelTelemetry*> pointers;
  for (const auto& model : models) pointers.push_back(model.get());
  return pointers;
}

Telemetry::Models Telemetry::MakeModels(prometheus::Registry& registry, ServerLog& log,
                                        const std::vector<std::string>& names) {
  Models models;
  for (const std::string& name : names) {
    models.push_back(std::make_unique<ModelTelemetry>(registry, log, name));
  }
  return models;
}

Telemetry::Telemetry(ServerLog& log, const std::vector<std::string>& model_names,
                     const std::string& version, bool vllm_aliases)
    : models_(MakeModels(registry_, log, model_names)),
      edge_(registry_, log, Pointers(models_)),
      log_metrics_(log),
      page_({&registry_, &log_metrics_, &process_metrics_}, vllm_aliases, [this] {
        for (const auto& model : models_) model->Refresh();
      }) {
  AddBuildInfo(registry_, version);
}

}  // namespace affine
