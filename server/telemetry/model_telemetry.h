// One served model's metrics and request log.
#pragma once

#include <prometheus/registry.h>

#include <atomic>
#include <memory>
#include <string>

#include "server/request/completion_engine.h"
#include "server/request/stability_source.h"
#include "server/telemetry/attention_metrics.h"
#include "server/telemetry/observer_fan_out.h"
#include "server/telemetry/request_log.h"
#include "server/telemetry/server_log.h"
#include "server/telemetry/serving_metrics.h"

namespace affine {

/// Thread-safe. Outlives the engine that it listens to.
class ModelTelemetry {
 public:
  /// References outlive this.
  ModelTelemetry(prometheus::Registry& registry, ServerLog& log, const std::string& model_name);
  const std::string& name() const { return model_name_; }
  /// For the model's engine.
  EngineObserver& observer() { return observer_; }
  ServingMetrics& serving() { return serving_; }
  /// Once the model is loaded and before its engine runs: adds its info and
  /// attention series, and reads the engine's load at each scrape. `engine`
  /// outlives the last Refresh. Returns the latest stability of its attention,
  /// which lives as long as this.
  const StabilitySource& ModelReady(const CompletionEngine& engine, bool prefix_caching);
  /// Brings the gauges up to date. Called before each scrape, also while the
  /// model loads.
  void Refresh();

 private:
  const std::string model_name_;
  prometheus::Registry& registry_;
  ServingMetrics serving_;
  std::unique_ptr<AttentionMetrics> attention_;
  std::atomic<AttentionMetrics*> attention_shown_{nullptr};
  RequestLog request_log_;
  ObserverFanOut observer_;
};

}  // namespace affine
