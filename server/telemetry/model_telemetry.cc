#include "server/telemetry/model_telemetry.h"

#include "server/telemetry/info_metrics.h"

namespace affine {

ModelTelemetry::ModelTelemetry(prometheus::Registry& registry, ServerLog& log,
                               const std::string& model_name)
    : model_name_(model_name),
      registry_(registry),
      serving_(registry, model_name),
      request_log_(log, model_name),
      observer_({&serving_, &request_log_}) {}

const StabilitySource& ModelTelemetry::ModelReady(const CompletionEngine& engine,
                                                  bool prefix_caching) {
  AddModelInfo(registry_, model_name_, engine.info(), prefix_caching);
  serving_.WatchEngine(&engine);
  attention_ = std::make_unique<AttentionMetrics>(registry_, model_name_, engine.info());
  observer_.Listen(*attention_);
  attention_shown_.store(attention_.get());
  return *attention_;
}

void ModelTelemetry::Refresh() {
  serving_.Refresh();
  if (AttentionMetrics* attention = attention_shown_.load()) attention->Refresh();
}

}  // namespace affine
