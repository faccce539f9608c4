#include "server/telemetry/telemetry.h"

#include "server/telemetry/info_metrics.h"

namespace affine {

Telemetry::Telemetry(ServerLog& log, const std::string& model_name, const std::string& version,
                     bool vllm_aliases)
    : model_name_(model_name),
      metrics_(registry_, model_name),
      request_log_(log, model_name),
      observer_({&metrics_, &request_log_}, {&metrics_, &request_log_}),
      log_metrics_(log),
      page_({&registry_, &log_metrics_, &process_metrics_}, vllm_aliases, [this] {
        metrics_.Refresh();
        if (AttentionMetrics* attention = attention_shown_.load()) attention->Refresh();
      }) {
  AddBuildInfo(registry_, version);
}

void Telemetry::ModelReady(const CompletionEngine& engine, bool prefix_caching) {
  AddModelInfo(registry_, model_name_, engine.info(), prefix_caching);
  metrics_.WatchEngine(&engine);
  attention_ = std::make_unique<AttentionMetrics>(registry_, model_name_, engine.info());
  observer_.Listen(*attention_);
  attention_shown_.store(attention_.get());
}

}  // namespace affine
