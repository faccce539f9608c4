// All of one served model's telemetry, wired together.
#pragma once

#include <prometheus/registry.h>

#include <atomic>
#include <memory>
#include <string>

#include "model/model_info.h"
#include "server/telemetry/attention_metrics.h"
#include "server/telemetry/log_metrics.h"
#include "server/telemetry/metrics_page.h"
#include "server/telemetry/observer_fan_out.h"
#include "server/telemetry/process_metrics.h"
#include "server/telemetry/request_log.h"
#include "server/telemetry/server_log.h"
#include "server/telemetry/serving_metrics.h"

namespace affine {

/// Thread-safe. Outlives the engine and the API server that it listens to.
class Telemetry {
 public:
  /// `log` outlives this.
  Telemetry(ServerLog& log, const std::string& model_name, const std::string& version,
            bool vllm_aliases);
  /// Metrics and request log together.
  ObserverFanOut& observer() { return observer_; }
  /// Once the model is loaded and before the engine runs: adds its info and attention series, and
  /// reads the engine's load at each scrape.
  /// `engine` outlives the last call of RenderMetrics.
  void ModelReady(const CompletionEngine& engine, bool prefix_caching);
  std::string RenderMetrics() const { return page_.Render(); }

 private:
  const std::string model_name_;
  prometheus::Registry registry_;
  ServingMetrics metrics_;
  std::unique_ptr<AttentionMetrics> attention_;
  std::atomic<AttentionMetrics*> attention_shown_{nullptr};  // read by scrapes, also while loading
  RequestLog request_log_;
  ObserverFanOut observer_;
  LogMetrics log_metrics_;
  ProcessMetrics process_metrics_;
  MetricsPage page_;
};

}  // namespace affine
